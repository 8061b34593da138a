/* tests/flow/time/test_sleep.c - sleeping: never early, in order, under any other load.
 *
 * test: procs=1,2,4
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/sched.h"

#include "os/inject.h"

#include <errno.h>
#include <pthread.h>

static void sleep_checked(int64_t ns)
{
        int64_t at = weft_now() + ns;

        CHECK_EQ(weft_sleep(ns), 0);
        CHECK(weft_now() >= at);
}

/* ---- Lengths --------------------------------------------------------------------------------- */

GO_TEST(sleep_is_never_early)
{
        for (int64_t ns = 1; ns <= WEFT_MS(20); ns *= 3)
                sleep_checked(ns);
        CHECK_EQ(weft_sleep(0), 0);
        CHECK_EQ(weft_sleep(-1), 0);
        CHECK_EQ(weft_sleep(INT64_MIN), 0);
}

/* ---- Enormous sleeps ------------------------------------------------------------------------- */

static w_atomic_u32 n_woken;

static void sleep_for_ever(void *arg)
{
        (void)weft_sleep(*(int64_t *)arg);
        w_add_rlx(&n_woken, 1);
}

static void main_enormous(void *arg)
{
        static int64_t lengths[] = { WEFT_FOREVER, WEFT_FOREVER - 1, WEFT_FOREVER / 2,
                                     WEFT_SEC(1000000) };
        int64_t        id = 0;

        (void)arg;
        for (size_t i = 0; i < W_ARRAY_LEN(lengths); i++)
                id = sched_go(sleep_for_ever, &lengths[i]);
        sched_await_parked(id);
        for (int i = 0; i < 5; i++)
                sleep_checked(WEFT_MS(2));      /* other goroutines are not delayed */
        CHECK_EQ(w_load_rlx(&n_woken), 0);
}

TEST(enormous_sleeps_do_not_end_and_delay_no_other)
{
        w_store_rlx(&n_woken, 0);
        sched_run(main_enormous, NULL);
        CHECK_EQ(w_load_rlx(&n_woken), 0);
}

/* ---- Order ----------------------------------------------------------------------------------- */

enum { N_SLOTS = 13 };

static w_atomic_u32 n_awake, n_done;
static int64_t      slots_from;
static int          order[N_SLOTS];

static void sleep_slot(void *arg)
{
        int slot = *(int *)arg;

        sleep_checked(slots_from + WEFT_MS(2) * slot - weft_now());
        order[w_add_acqrel(&n_awake, 1)] = slot;
        w_add_acqrel(&n_done, 1);
}

/* Or over already. */
static void await_asleep(int64_t id)
{
        while (sched_state_of(id) == G_RUNNABLE)
                weft_yield();
}

/* Scrambled, with duplicates. The only P is busy until all are due, so that only the heap decides
 * the order. False: the first was due before the last had gone to sleep. */
static bool sleep_in_slots(int64_t lead)
{
        static int slots[N_SLOTS] = { 5, 3, 6, 6, 6, 1, 1, 2, 7, 9, 4, 8, 0 };

        w_store_rlx(&n_awake, 0);
        w_store_rlx(&n_done, 0);
        slots_from = weft_now() + lead;
        for (int i = 0; i < N_SLOTS; i++)
                await_asleep(sched_go(sleep_slot, &slots[i]));
        bool in_time = weft_now() < slots_from;

        while (weft_now() <= slots_from + WEFT_MS(20))
                ;
        while (w_load_acq(&n_done) < N_SLOTS)
                weft_yield();
        return in_time;
}

/* A sleeper that the kernel delayed between two reads of the clock may come one position later. */
static int n_inversions(void)
{
        int n = 0;

        for (int64_t lead = WEFT_MS(20); !sleep_in_slots(lead); lead *= 4)
                ;
        for (int i = 1; i < N_SLOTS; i++)
                n += order[i] < order[i - 1];
        return n;
}

static void main_order(void *arg)
{
        int n = n_inversions();

        (void)arg;
        for (int i = 0; i < 5 && n > 1; i++)
                n = n_inversions();
        CHECK_MSG(n <= 1, "%d of %d woke before sleepers with less time", n, N_SLOTS);
}

TEST(sleepers_wake_in_the_order_of_their_times)
{
        weft_config cfg = { .procs = 1, .preempt = WEFT_PREEMPT_OFF };

        CHECK_EQ(sched_run_left(&cfg, main_order, NULL), 0);
}

/* ---- Many ------------------------------------------------------------------------------------ */

static void sleep_random(void *arg)
{
        uint64_t rand = (uintptr_t)arg * 977 + 1;

        for (int i = 0; i < 5; i++)
                sleep_checked((int64_t)w_rand_below(&rand, 20) * WEFT_US(500) + 1);
        w_add_acqrel(&n_done, 1);
}

static void main_many(void *arg)
{
        uint32_t n = sched_scale(5000);

        (void)arg;
        for (uint32_t i = 0; i < n; i++)
                (void)sched_go(sleep_random, (void *)(uintptr_t)i);
        while (w_load_acq(&n_done) < n)
                CHECK_EQ(weft_sleep(WEFT_MS(5)), 0);
}

TEST(thousands_sleep_at_the_same_time)
{
        w_store_rlx(&n_done, 0);
        sched_run(main_many, NULL);
}

/* ---- While others are busy ------------------------------------------------------------------- */

static w_atomic_u32 stop_flag, both_known;

static void yield_on(void *arg)
{
        (void)arg;
        while (!w_load_rlx(&stop_flag))
                weft_yield();
}

/* Two partners hand over to each other directly, for ever: only the tick reaches g0. */
static void partner(void *arg)
{
        int64_t *other = arg;

        while (!w_load_acq(&both_known))
                weft_yield();
        while (!w_load_rlx(&stop_flag)) {
                (void)weft_unpark(*other);
                (void)weft_park();
        }
        (void)weft_unpark(*other);
}

static void sleep_some(void *arg)
{
        (void)arg;
        for (int i = 0; i < 5; i++)
                sleep_checked(WEFT_MS(1));
        w_store_rlx(&stop_flag, 1);
}

static void main_busy(void *arg)
{
        static int64_t ids[2];
        int64_t        id;

        (void)arg;
        for (int i = 0; i < 2; i++)
                ids[i] = sched_go(partner, &ids[1 - i]);
        w_store_rel(&both_known, 1);
        for (int i = 0; i < 4; i++)
                (void)sched_go(yield_on, NULL);
        id = sched_go(sleep_some, NULL);
        sched_join(id);
        for (int i = 0; i < 2; i++)
                sched_join(ids[i]);
}

TEST(sleepers_wake_among_goroutines_that_never_rest)
{
        w_store_rlx(&stop_flag, 0);
        w_store_rlx(&both_known, 0);
        sched_run(main_busy, NULL);
}

static void main_alone(void *arg)
{
        (void)arg;
        int64_t id = sched_go(sleep_some, NULL);

        while (!w_load_rlx(&stop_flag))
                weft_yield();
        sched_join(id);
}

TEST(a_sleeper_wakes_while_one_goroutine_yields_alone)
{
        w_store_rlx(&stop_flag, 0);
        sched_run(main_alone, NULL);
}

/* The P of this goroutine never checks its timers; another P must. */
static void main_computing(void *arg)
{
        (void)arg;
        int64_t id = sched_go(sleep_some, NULL);

        while (sched_state_of(id) != G_WAITING && !w_load_rlx(&stop_flag))
                weft_yield();
        while (!w_load_rlx(&stop_flag))
                w_os_yield();
        sched_join(id);
}

TEST(a_sleeper_wakes_while_another_computes)
{
        if (sched_procs() == 1)
                test_skip("no other P can check the timers of a P that computes");
        w_store_rlx(&stop_flag, 0);
        sched_run(main_computing, NULL);
}

/* ---- Stopping the world ---------------------------------------------------------------------- */

GO_TEST(sleepers_survive_a_world_that_stops_again_and_again)
{
        w_store_rlx(&n_done, 0);
        for (uint32_t i = 0; i < 50; i++)
                (void)sched_go(sleep_random, (void *)(uintptr_t)i);
        while (w_load_acq(&n_done) < 50) {
                CHECK_EQ(weft_check(), 0);
                CHECK_EQ(weft_sleep(0), 0);
        }
}

/* ---- Scopes ---------------------------------------------------------------------------------- */

GO_TEST(a_scope_cuts_a_sleep_short)
{
        weft_scope s;

        CHECK_EQ(weft_scope_open(&s, WEFT_FOREVER), 0);
        sleep_checked(WEFT_MS(1));
        CHECK_EQ(weft_scope_close(&s), 0);
        int64_t from = weft_now();

        CHECK_EQ(weft_scope_open(&s, WEFT_MS(5)), 0);
        CHECK_EQ(weft_sleep(WEFT_FOREVER), -ETIMEDOUT);
        CHECK(weft_now() - from >= WEFT_MS(5));
        CHECK_EQ(weft_sleep(1), -ETIMEDOUT);
        CHECK_EQ(weft_sleep(0), -ETIMEDOUT);
        CHECK_EQ(weft_sleep(-1), -ETIMEDOUT);
        weft_shield_begin();
        sleep_checked(WEFT_US(100));
        weft_shield_end();
        CHECK_EQ(weft_scope_close(&s), 0);
        sleep_checked(WEFT_US(100));
}

static void cancel_soon(void *scope)
{
        CHECK_EQ(weft_sleep(WEFT_MS(2)), 0);
        weft_scope_cancel(scope);
}

GO_TEST(a_cancellation_ends_a_sleep)
{
        weft_scope s;

        CHECK_EQ(weft_scope_open(&s, WEFT_FOREVER), 0);
        int64_t id = sched_go(cancel_soon, &s);

        CHECK_EQ(weft_sleep(WEFT_SEC(3600)), -ECANCELED);
        CHECK_EQ(weft_sleep(0), -ECANCELED);
        CHECK_EQ(weft_scope_close(&s), 0);
        sched_join(id);
}

/* ---- Foreign threads ------------------------------------------------------------------------- */

static void *foreign_sleep(void *arg)
{
        (void)arg;
        for (int i = 0; i < 3; i++)
                sleep_checked(WEFT_MS(1));
        CHECK_EQ(weft_sleep(-1), 0);
        w_store_rel(&stop_flag, 1);
        return NULL;
}

static void main_foreign(void *arg)
{
        pthread_t thread;

        (void)arg;
        CHECK_EQ(pthread_create(&thread, NULL, foreign_sleep, NULL), 0);
        while (!w_load_acq(&stop_flag))
                CHECK_EQ(weft_sleep(WEFT_MS(1)), 0);
        CHECK_EQ(pthread_join(thread, NULL), 0);
}

TEST(a_foreign_thread_sleeps_too)
{
        w_store_rlx(&stop_flag, 0);
        sched_run(main_foreign, NULL);
}

TEST(without_a_runtime_there_is_no_sleep_but_a_clock)
{
        CHECK_EQ(weft_sleep(1), -ESHUTDOWN);
        int64_t now = weft_now();

        CHECK(now > 0 && weft_now() >= now);
}

/* ---- Idle threads ---------------------------------------------------------------------------- */

static void main_idle_end(void *arg)
{
        (void)arg;
        for (int i = 0; i < 5; i++)
                sleep_checked(WEFT_MS(6));
}

TEST(the_timekeeper_does_not_end_for_want_of_work)
{
        weft_config cfg = { .idle_ms = 1 };

        CHECK_EQ(sched_run_left(&cfg, main_idle_end, NULL), 0);
}

/* ---- No memory ------------------------------------------------------------------------------- */

#if defined(W_DEBUG)

/* The heap of a P gets its memory with its first timer. */
GO_TEST(without_memory_a_sleep_is_not_early_either)
{
        weft_scope s;

        w_inject_from(W_CALL_MMAP, 1, ENOMEM);
        sleep_checked(WEFT_MS(2));
        CHECK_EQ(weft_scope_open(&s, WEFT_FOREVER), 0);
        sleep_checked(WEFT_MS(2));
        CHECK_EQ(weft_scope_close(&s), 0);
        CHECK(w_inject_hits() > 0);
        w_inject_off();
        sleep_checked(WEFT_MS(2));
}

/* No thread beyond the first two: the timekeeper must work. */
GO_TEST(without_available_threads_sleepers_wake)
{
        w_inject_from(W_CALL_THREAD, 1, EAGAIN);
        w_store_rlx(&n_done, 0);
        for (uint32_t i = 0; i < 20; i++)
                (void)sched_go(sleep_random, (void *)(uintptr_t)i);
        while (w_load_acq(&n_done) < 20)
                sleep_checked(WEFT_MS(1));
        w_inject_off();
}

#else

TEST(without_memory_a_sleep_is_not_early_either)
{
        test_skip("release builds have no fault injection");
}

TEST(without_available_threads_sleepers_wake)
{
        test_skip("release builds have no fault injection");
}

#endif
