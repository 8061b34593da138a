/* tests/explore/wake.c - PROTOCOL wake: one waiter that goes to sleep, two claimers at any time.
 *
 * The waiter does what the commit of a park does to the word; it sleeps on its note, as a foreign
 * thread.
 *
 * SPDX-License-Identifier: MIT
 */
#include "scenarios.h"

#include "os/os.h"
#include "wait/wake.h"

static struct waiter w;
static int           frame, before[2], after;
static enum claim    claims[2];
static uint32_t      verdict;

static void setup(void)
{
        w = (struct waiter){ .gp = NULL };
        w_store_rlx(&w.word, W_VERDICT_ARMING);
        w_note_clear(&w.note);
        frame = before[0] = before[1] = after = 0;
        claims[0] = claims[1] = W_CLAIM_LOST;
        verdict = W_VERDICT_ARMING;
}

static bool park_word(void)
{
        uint32_t arming = W_VERDICT_ARMING;

        w_plain_store(&frame, 1);
        return w_cas_rel(&w.word, &arming, W_VERDICT_PARKED);
}

/* The waiter sees what the winner did before its claim, and once woken what it did after. */
static void read_wake_word(bool slept)
{
        verdict = w_load_acq(&w.word);
        EXPLORE_CHECK(verdict >= W_VERDICT_OTHER);
        EXPLORE_CHECK(w_plain_load(&before[verdict - W_VERDICT_OTHER]) == 1);
        if (slept)
                EXPLORE_CHECK(w_plain_load(&after) == (int)verdict);
}

static void waiter(void)
{
        bool parked = park_word();

        if (parked)
                w_note_sleep(&w.note);
        read_wake_word(parked);
}

/* Gives up after a while: it then acts as a claimer itself. */
static void waiter_timed(void)
{
        bool parked = park_word();

        if (parked && !w_note_sleep_until(&w.note, w_os_now() + 10)) {
                if (w_wake_claim(&w, W_VERDICT_TIMEOUT) != W_CLAIM_LOST) {
                        verdict = W_VERDICT_TIMEOUT;
                        return;
                }
                w_note_sleep(&w.note);
        }
        read_wake_word(parked);
}

static void claim(unsigned which)
{
        uint32_t mine = W_VERDICT_OTHER + which;

        w_plain_store(&before[which], 1);
        claims[which] = w_wake_claim(&w, mine);
        if (claims[which] != W_CLAIM_WON)
                return;
        EXPLORE_CHECK(w_plain_load(&frame) == 1);
        w_plain_store(&after, (int)mine);
        w_wake_up(&w);
}

static void claim_0(void) { claim(0); }
static void claim_1(void) { claim(1); }

/* 0, 1: won by that claimer; 2, 3: won early by claimer 0, 1; 4: given up; 9: not one winner. */
static int result(void)
{
        if (verdict == W_VERDICT_TIMEOUT)
                return claims[0] == W_CLAIM_LOST && claims[1] == W_CLAIM_LOST ? 4 : 9;
        unsigned winner = verdict - W_VERDICT_OTHER;

        if (claims[winner] == W_CLAIM_LOST || claims[!winner] != W_CLAIM_LOST)
                return 9;
        return (int)winner + (claims[winner] == W_CLAIM_EARLY ? 2 : 0);
}

#define EITHER (SEEN(0) | SEEN(1) | SEEN(2) | SEEN(3))

const struct explore_scenario wake_scenarios[] = {
        { "wake", "a waiter that goes to sleep, two claimers, one winner",
          { { "waiter", waiter }, { "first", claim_0 }, { "second", claim_1 } }, setup, result,
          .allowed = EITHER, .required = EITHER, .bound = ANY },
        { "wake-deadline", "the same, and the waiter may give up",
          { { "waiter", waiter_timed }, { "first", claim_0 }, { "second", claim_1 } }, setup,
          result, .allowed = EITHER | SEEN(4), .required = EITHER | SEEN(4), .bound = 4 },
        { .name = NULL },
};
