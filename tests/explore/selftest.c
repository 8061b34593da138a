/* tests/explore/selftest.c - failures that the engine must find, and their harmless twins in which
 * it must find nothing: races, lost wakes, endless loops, release sequences, claimed reads.
 *
 * SPDX-License-Identifier: MIT
 */
#include "scenarios.h"

#include "base/atomic.h"
#include "base/fatal.h"
#include "os/os.h"

#include <errno.h>      /* ETIMEDOUT */

static w_atomic_u32 flag, slot, word;
static int          data, got;

static void zero(void)
{
        flag.raw = slot.raw = word.raw = 0;
        data = got = 0;
}

static int outcome(void) { return got; }

/* ---- Ordinary memory handed over ------------------------------------------------------------- */

static void send_rlx(void)   { w_plain_store(&data, 1); w_store_rlx(&flag, 1); }
static void send_rel(void)   { w_plain_store(&data, 1); w_store_rel(&flag, 1); }
static void send_late(void)  { w_store_rel(&flag, 1); w_plain_store(&data, 1); }
static void send_fence(void) { w_plain_store(&data, 1); w_fence_full(); w_store_rlx(&flag, 1); }
static void fence_only(void) { w_plain_store(&data, 1); w_fence_full(); }

static void recv_acq(void)
{
        if (w_load_acq(&flag))
                got = w_plain_load(&data);
}

static void recv_rlx(void)
{
        if (w_load_rlx(&flag))
                got = w_plain_load(&data);
}

static void recv_fence(void)
{
        if (!w_load_rlx(&flag))
                return;
        w_fence_full();
        got = w_plain_load(&data);
}

static void recv_fence_only(void) { w_fence_full(); got = w_plain_load(&data); }
static void touch_atomically(void) { w_store_rlx(&word, 1); }
static void touch_plainly(void)    { got = (int)w_plain_load(&word.raw); }

/* ---- Release sequences ----------------------------------------------------------------------- */

static void add_rlx(void)  { (void)w_add_rlx(&flag, 1); }
static void over_rlx(void)
{
        if (w_load_rlx(&flag) == 1)
                w_store_rlx(&flag, 2);
}

static void recv_second(void)
{
        if (w_load_acq(&flag) == 2)
                got = w_plain_load(&data);
}

/* ---- Copy, then claim: the owner overwrites what was claimed --------------------------------- */

static void copy_claim(bool released)
{
        uint32_t seen = 0;

        (void)w_load_rlx(&slot);
        if (released ? w_cas_rel(&flag, &seen, 1) : w_cas_rlx(&flag, &seen, 1))
                w_explore_claimed(&slot);
}

static void copy_claim_rel(void) { copy_claim(true); }
static void copy_claim_rlx(void) { copy_claim(false); }

static void reuse_acq(void)
{
        if (w_load_acq(&flag))
                w_store_rlx(&slot, 5);
}

static void reuse_rlx(void)
{
        if (w_load_rlx(&flag))
                w_store_rlx(&slot, 5);
}

/* ---- Sleeping -------------------------------------------------------------------------------- */

static void sleep_once(void) { (void)w_os_futex_wait(&word, 0, W_FOREVER); }
static void wake_early(void) { (void)w_os_futex_wake(&word, 1); w_store_rlx(&word, 1); }
static void wake_late(void)  { w_store_rlx(&word, 1); (void)w_os_futex_wake(&word, 1); }

static void sleep_timed(void)
{
        int64_t at = w_os_now() + 10;

        got = w_os_futex_wait(&word, 0, at) == -ETIMEDOUT ? 1 : 0;
        EXPLORE_CHECK(!got || w_os_now() >= at);
}

static void spin(void)
{
        while (!w_load_rlx(&flag))
                ;
}

static void spin_yield(void)
{
        while (!w_load_rlx(&flag))
                w_os_yield();
}

static void set_flag(void) { w_store_rlx(&flag, 1); }
static void die(void)
{
        if (w_load_rlx(&flag))
                w_fatal("the flag is %d", 1);
}

const struct explore_scenario selftest_scenarios[] = {
        { "self-race", "ordinary data after a relaxed flag is a race",
          { { "send", send_rlx }, { "recv", recv_acq } }, zero, outcome,
          .must_fail = W_EXPLORE_RACE },
        { "self-race-recv", "ordinary data after a relaxed load is a race",
          { { "send", send_rel }, { "recv", recv_rlx } }, zero, outcome,
          .must_fail = W_EXPLORE_RACE },
        { "self-race-late", "a release does not cover what is written after it",
          { { "send", send_late }, { "recv", recv_acq } }, zero, outcome,
          .must_fail = W_EXPLORE_RACE },
        { "self-race-none", "release and acquire hand ordinary data over",
          { { "send", send_rel }, { "recv", recv_acq } }, zero, outcome,
          .allowed = SEEN(0) | SEEN(1), .required = SEEN(0) | SEEN(1) },
        { "self-race-fences", "fences around relaxed accesses hand it over too",
          { { "send", send_fence }, { "recv", recv_fence } }, zero, outcome,
          .allowed = SEEN(0) | SEEN(1), .required = SEEN(0) | SEEN(1) },
        { "self-race-fence-only", "two fences and no word between them hand nothing over",
          { { "send", fence_only }, { "recv", recv_fence_only } }, zero, outcome,
          .must_fail = W_EXPLORE_RACE },
        { "self-race-mixed", "an atomic write and an ordinary read of one object race",
          { { "write", touch_atomically }, { "read", touch_plainly } }, zero, outcome,
          .must_fail = W_EXPLORE_RACE },

        { "self-release-sequence", "a relaxed read-modify-write hands a release on",
          { { "send", send_rel }, { "add", add_rlx }, { "recv", recv_second } }, zero, outcome,
          .allowed = SEEN(0) | SEEN(1), .required = SEEN(0) | SEEN(1) },
        { "self-release-broken", "a relaxed store by another thread does not",
          { { "send", send_rel }, { "over", over_rlx }, { "recv", recv_second } }, zero, outcome,
          .must_fail = W_EXPLORE_RACE },

        { "self-claim", "a claimed read is ordered before its overwriting",
          { { "thief", copy_claim_rel }, { "owner", reuse_acq } }, .setup = zero },
        { "self-claim-rlx-cas", "claimed by a relaxed CAS it is not",
          { { "thief", copy_claim_rlx }, { "owner", reuse_acq } }, zero,
          .must_fail = W_EXPLORE_RACE },
        { "self-claim-rlx-load", "nor if the owner loads relaxed",
          { { "thief", copy_claim_rel }, { "owner", reuse_rlx } }, zero,
          .must_fail = W_EXPLORE_RACE },

        { "self-sleep", "store, then wake: no sleeper sleeps on",
          { { "sleep", sleep_once }, { "wake", wake_late } }, .setup = zero },
        { "self-sleep-lost", "wake, then store: one does",
          { { "sleep", sleep_once }, { "wake", wake_early } }, zero,
          .must_fail = W_EXPLORE_DEADLOCK },
        { "self-sleep-timed", "a sleep with a deadline ends either way",
          { { "sleep", sleep_timed }, { "wake", wake_late } }, zero, outcome,
          .allowed = SEEN(0) | SEEN(1), .required = SEEN(0) | SEEN(1) },

        { "self-steps", "an endless loop is found",
          { { "spin", spin } }, zero, .must_fail = W_EXPLORE_STEPS },
        { "self-yield", "a loop that yields ends when the other has acted",
          { { "spin", spin_yield }, { "set", set_flag } }, .setup = zero },
        { "self-assertion", "what calls w_fatal is found",
          { { "die", die }, { "set", set_flag } }, zero, .must_fail = W_EXPLORE_ASSERTION },
        { .name = NULL },
};
