/* tests/unit/test_wake.c - the wake word: which claimer wins, and what a claim means.
 *
 * SPDX-License-Identifier: MIT
 */
#include "harness/test.h"

#include "os/os.h"
#include "wait/wake.h"

static struct waiter w;                 /* of a thread: asleep on its note */

static void begin(uint32_t word)
{
        w = (struct waiter){ .gp = NULL };
        w_store_rlx(&w.word, word);
        w_note_clear(&w.note);
}

TEST(a_sleeper_is_won_once)
{
        begin(W_VERDICT_PARKED);
        CHECK_EQ(w_wake_claim(&w, W_VERDICT_CANCELED), W_CLAIM_WON);
        CHECK_EQ(w_wake_claim(&w, W_VERDICT_TIMEOUT), W_CLAIM_LOST);
        CHECK_EQ(w_wake_claim(&w, W_VERDICT_CANCELED), W_CLAIM_LOST);
        CHECK_EQ(w_load_acq(&w.word), W_VERDICT_CANCELED);
}

TEST(a_waiter_that_does_not_sleep_yet_is_claimed_early_and_once)
{
        begin(W_VERDICT_ARMING);
        CHECK_EQ(w_wake_claim(&w, W_VERDICT_OTHER + 5), W_CLAIM_EARLY);
        CHECK_EQ(w_wake_claim(&w, W_VERDICT_TIMEOUT), W_CLAIM_LOST);
        CHECK_EQ(w_load_acq(&w.word), W_VERDICT_OTHER + 5);
}

TEST(a_sole_waiter_is_won_without_a_check)
{
        begin(W_VERDICT_ARMING);
        w.sole = true;
        CHECK_EQ(w_wake_claim(&w, W_VERDICT_OTHER), W_CLAIM_WON);
        CHECK_EQ(w_load_acq(&w.word), W_VERDICT_OTHER);
        begin(W_VERDICT_ARMING);
        w.sole = true;
        CHECK_EQ(w_wake_claim_quick(&w, W_VERDICT_OTHER + 1), W_CLAIM_WON);
        CHECK_EQ(w_load_acq(&w.word), W_VERDICT_OTHER + 1);
}

TEST(the_quick_claim_is_the_same_where_there_is_a_race)
{
        begin(W_VERDICT_PARKED);
        CHECK_EQ(w_wake_claim_quick(&w, W_VERDICT_OTHER), W_CLAIM_WON);
        CHECK_EQ(w_wake_claim_quick(&w, W_VERDICT_OTHER), W_CLAIM_LOST);
        begin(W_VERDICT_ARMING);
        CHECK_EQ(w_wake_claim_quick(&w, W_VERDICT_OTHER), W_CLAIM_EARLY);
}

TEST(wake_wakes_a_sleeper_only)
{
        begin(W_VERDICT_PARKED);
        CHECK(w_wake(&w, W_VERDICT_SHUTDOWN));
        CHECK(w_note_sleep_until(&w.note, w_os_now()));
        CHECK(!w_wake(&w, W_VERDICT_SHUTDOWN));         /* a second wake of the note is fatal */
        begin(W_VERDICT_ARMING);
        CHECK(w_wake(&w, W_VERDICT_TIMEOUT));
        CHECK(!w_note_sleep_until(&w.note, w_os_now()));
}

/* ---- Two threads ----------------------------------------------------------------------------- */

enum { ROUNDS = 300, STACK = 64 << 10 };

static w_atomic_u32 round_of[2];        /* how far each party is */
static uint32_t     n_won[2];

static void meet(int me, uint32_t round)
{
        w_store_rel(&round_of[me], round);
        while (w_load_acq(&round_of[!me]) < round)
                w_os_yield();
}

static void claim_each_round(int me)
{
        for (uint32_t i = 1; i <= ROUNDS; i++) {
                if (me == 0)
                        begin(i % 2 ? W_VERDICT_PARKED : W_VERDICT_ARMING);
                meet(me, 2 * i - 1);
                n_won[me] += w_wake_claim(&w, W_VERDICT_OTHER + (uint32_t)me) != W_CLAIM_LOST;
                meet(me, 2 * i);
        }
}

static void second(void *arg)
{
        (void)arg;
        claim_each_round(1);
}

TEST(of_two_claimers_one_wins)
{
        struct w_os_thread thread;

        CHECK_EQ(w_os_thread_start(&thread, "second", STACK, second, NULL), 0);
        claim_each_round(0);
        w_os_thread_join(&thread);
        CHECK_EQ(n_won[0] + n_won[1], ROUNDS);
}
