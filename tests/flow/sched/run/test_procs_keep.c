/* tests/flow/sched/run/test_procs_keep.c - the queue and the timers of a P that is removed are not
 * lost.
 *
 * test: procs=1,2,4
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/sync.h"

static void set_procs(int n)
{
        int old = weft_procs(n);

        CHECK_MSG(old >= 1, "weft_procs(%d) returned %d", n, old);
}

/* ---- The queue of a P that goes -------------------------------------------------------------- */

enum { N_QUEUED = 5 };

static w_atomic_u32 is_ready, go_on, n_ran;
static int          order[N_QUEUED];

static void note_order(void *arg)
{
        order[w_add_acqrel(&n_ran, 1)] = *(int *)arg;
}

/* On the other P, which is taken from it while it computes. */
static void queue_some(void *arg)
{
        static int numbers[N_QUEUED] = { 0, 1, 2, 3, 4 };

        (void)arg;
        for (int i = 0; i < N_QUEUED; i++)
                (void)sched_go(note_order, &numbers[i]);
        w_store_rel(&is_ready, 1);
        while (!w_load_acq(&go_on))
                w_cpu_pause();
}

static void main_order(void *arg)
{
        (void)arg;
        int64_t id = sched_go(queue_some, NULL);

        while (!w_load_acq(&is_ready))
                w_cpu_pause();
        CHECK_EQ(weft_procs(1), 2);
        sched_await(&n_ran, N_QUEUED);
        w_store_rel(&go_on, 1);
        sched_join(id);
        static const int expected[N_QUEUED] = { 4, 0, 1, 2, 3 };        /* `next`, then the ring */

        for (int i = 0; i < N_QUEUED; i++)
                CHECK_EQ(order[i], expected[i]);
}

TEST(procs_fewer_queue_of_a_p_keeps_its_order)
{
        weft_config cfg = { .procs = 2, .preempt = WEFT_PREEMPT_OFF };

        test_set_dump(sched_dump);
        if (getenv("WEFT_DEBUG"))
                test_skip("WEFT_DEBUG may ask for another order");
        CHECK_EQ(sched_run_left(&cfg, main_order, NULL), 0);
}

/* ---- Timers ---------------------------------------------------------------------------------- */

enum { N_SLEEPERS = 200, N_TIMERS = 100 };

static w_atomic_u32 n_woken, n_fired;

static void sleeper(void *arg)
{
        CHECK_EQ(weft_sleep(WEFT_US((int64_t)(intptr_t)arg * 100)), 0);
        w_add_acqrel(&n_woken, 1);
}

static void fired(void *arg)
{
        (void)arg;
        w_add_acqrel(&n_fired, 1);
}

static void churn(void *arg)
{
        (void)arg;
        for (int i = 0; i < 40; i++) {
                set_procs(1 + (i * 7) % 5);
                CHECK_EQ(weft_sleep(WEFT_US(200)), 0);
        }
        set_procs(1);
}

/* Set, postponed and stopped while their heaps come and go. */
static void use_timers(weft_timer **timers, bool *counts)
{
        for (int i = 0; i < N_TIMERS; i++) {
                timers[i] = weft_timer_new(i % 2 ? WEFT_MS(1) : WEFT_SEC(1000), fired, NULL);
                CHECK(timers[i]);
                weft_yield();
        }
        for (int round = 0; round < 20; round++) {
                for (int i = 0; i < N_TIMERS; i += 2)
                        CHECK_EQ(weft_timer_reset(timers[i], WEFT_SEC(1000 - round)), 1);
                weft_yield();
        }
        for (int i = 0; i < N_TIMERS; i += 2) {
                counts[i] = i % 4 == 0;
                CHECK_EQ(counts[i] ? weft_timer_reset(timers[i], WEFT_US(100))
                                   : weft_timer_stop(timers[i]), 1);
        }
}

GO_TEST(procs_changes_keep_every_timer)
{
        weft_timer *timers[N_TIMERS];
        bool        counts[N_TIMERS] = { false };
        int64_t     ids[N_SLEEPERS], changer = sched_go(churn, NULL);
        weft_chan  *tick = weft_tick(WEFT_US(300));

        CHECK(tick);
        for (int i = 0; i < N_SLEEPERS; i++)
                ids[i] = sched_go(sleeper, (void *)(intptr_t)(i % 60));
        use_timers(timers, counts);
        for (int i = 0; i < N_SLEEPERS; i++)
                sched_join(ids[i]);
        CHECK_EQ(w_load_acq(&n_woken), N_SLEEPERS);
        sched_join(changer);
        for (int i = 0; i < 20; i++)
                CHECK_EQ(weft_chan_recv(tick, NULL), 0);
        weft_chan_unref(tick);
        sched_await(&n_fired, N_TIMERS / 2 + N_TIMERS / 4);
        CHECK_EQ(w_load_acq(&n_fired), N_TIMERS / 2 + N_TIMERS / 4);
        for (int i = 0; i < N_TIMERS; i++)
                weft_timer_free(timers[i]);
        CHECK_EQ(weft_check(), 0);
}

/* ---- No memory ------------------------------------------------------------------------------- */

#if defined(W_DEBUG)

#include "os/inject.h"

static void far_sleeper(void *arg)
{
        (void)arg;
        CHECK_EQ(weft_sleep(WEFT_MS(20)), 0);
}

/* Each of the calls for memory that a change makes is refused once: everything is as it was
 * before. */
static void try_each(int from, int to)
{
        for (uint32_t k = 1;; k++) {
                set_procs(from);
                w_inject_once(W_CALL_MMAP, k, ENOMEM);
                int  rc = weft_procs(to);
                bool hit = w_inject_hits() > 0;

                w_inject_off();
                CHECK(rc == -ENOMEM || rc == from);
                CHECK_EQ(weft_procs(0), rc < 0 ? from : to);
                CHECK_EQ(weft_check(), 0);
                if (!hit)
                        return;
        }
}

GO_TEST(procs_without_memory_changes_nothing)
{
        enum { N = 600 };
        int64_t ids[N];

        try_each(2, 300);       /* more stacks must be reserved than one mapping holds */
        set_procs(4);
        for (int i = 0; i < N; i++)
                ids[i] = sched_go(far_sleeper, NULL);
        weft_yield();
        try_each(4, 1);         /* a heap must grow */
        for (int i = 0; i < N; i++)
                sched_join(ids[i]);
        CHECK_EQ(weft_check(), 0);
}

#else

TEST(procs_without_memory_changes_nothing)
{
        test_skip("release builds have no fault injection");
}

#endif
