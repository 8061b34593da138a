/* tests/flow/scope/test_scope_foreign_end.c - scopes of foreign threads, and the end of the run.
 *
 * test: procs=1,2,4
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/foreign.h"
#include "sched/run/run.h"

#include <string.h>

/* ---- Children that the run drops ------------------------------------------------------------- */

static struct {
        struct sync_thread thread;
        weft_scope         outer, inner;
        weft_sem           proceed;        /* by the test: proceed */
        w_atomic_u32       n_ready;
        w_atomic_u32       n_runs;      /* runs that have ended */
        int                child_wrote;
} at;

static int park_within(void *arg)
{
        weft_scope s;

        (void)arg;
        scope_open(&s, WEFT_FOREVER);
        w_add_rel(&at.n_ready, 1);
        (void)weft_park();
        test_fail(__FILE__, __LINE__, "a goroutine that its run has dropped went on");
}

static int park(void *arg)
{
        (void)arg;
        w_add_rel(&at.n_ready, 1);
        (void)weft_park();
        test_fail(__FILE__, __LINE__, "a goroutine that its run has dropped went on");
}

static void open_with_children(void)
{
        scope_open(&at.outer, SCOPE_LONG_TIME);
        scope_go(&at.outer, park, NULL);
        scope_open(&at.inner, WEFT_FOREVER);
        scope_go(&at.inner, park, NULL);
        scope_go(&at.inner, park_within, NULL);
}

static void main_until_ready(void *arg)
{
        (void)arg;
        sched_await(&at.n_ready, 3);
        w_os_sleep_until(w_os_now() + 1000000);
}

static void close_at_the_end(void *arg)
{
        (void)arg;
        while (!w_run_is_on())
                w_os_yield();
        open_with_children();
        scope_close(&at.inner, -ESHUTDOWN);
        scope_close(&at.outer, -ESHUTDOWN);
        CHECK_EQ(weft_scope_open(&at.outer, 1), -ESHUTDOWN);
        CHECK_EQ(weft_scope_close(&at.outer), -ESHUTDOWN);
        CHECK_EQ(weft_cancelled(), -ESHUTDOWN);
}

TEST(the_end_of_the_run_ends_a_close)
{
        for (int i = 0; i < 10; i++) {
                w_store_rlx(&at.n_ready, 0);
                sync_thread_start(&at.thread, close_at_the_end, NULL);
                sched_run(main_until_ready, NULL);
                sync_thread_join(&at.thread);
        }
}

/* ---- Left open from one run to the next ------------------------------------------------------ */

static int never(void *arg)
{
        (void)arg;
        test_fail(__FILE__, __LINE__, "a child of a scope after the end of its run");
}

static void await_runs(uint32_t n)
{
        while (w_load_acq(&at.n_runs) < n)
                w_os_yield();
}

static void keep_open(void *arg)
{
        (void)arg;
        while (!w_run_is_on())
                w_os_yield();
        open_with_children();
        CHECK_EQ(weft_sleep(SCOPE_LONG_TIME), -ESHUTDOWN);
        CHECK_EQ(weft_scope_go(&at.inner, never, NULL), -ESHUTDOWN);
        await_runs(1);
        weft_scope_cancel(&at.outer);                   /* harmless without a run */
        CHECK_EQ(weft_scope_status(&at.outer), -ESHUTDOWN);
        w_add_rel(&at.n_ready, 1);
        while (!w_run_is_on())
                w_os_yield();
        CHECK_EQ(weft_cancelled(), -ECANCELED);         /* the end of the run has cancelled it */
        CHECK_EQ(weft_sleep(SCOPE_LONG_TIME), -ECANCELED);
        CHECK_EQ(weft_scope_status(&at.inner), -ECANCELED);
        CHECK_EQ(weft_scope_go(&at.inner, never, NULL), -ECANCELED);
        weft_shield_begin();
        CHECK_EQ(weft_sleep(WEFT_US(10)), 0);
        weft_shield_end();
        scope_close(&at.inner, -ESHUTDOWN);
        CHECK_EQ(weft_cancelled(), -ECANCELED);
        scope_close(&at.outer, -ESHUTDOWN);
        CHECK_EQ(weft_cancelled(), 0);
        scope_open(&at.outer, WEFT_FOREVER);            /* of this run: all as usual */
        CHECK_EQ(weft_sleep(WEFT_US(10)), 0);
        scope_close(&at.outer, 0);
        weft_sem_release(&at.proceed);
}

static void main_second_run(void *arg)
{
        (void)arg;
        CHECK_EQ(weft_sem_acquire(&at.proceed), 0);
}

TEST(a_scope_left_open_is_cancelled_and_can_be_closed_in_the_next_run)
{
        sync_thread_start(&at.thread, keep_open, NULL);
        sched_run(main_until_ready, NULL);
        w_add_rel(&at.n_runs, 1);
        while (w_load_acq(&at.n_ready) < 4)
                w_os_yield();
        sched_run(main_second_run, NULL);
        sync_thread_join(&at.thread);
}

static void close_without_run(void *arg)
{
        (void)arg;
        while (!w_run_is_on())
                w_os_yield();
        scope_open(&at.outer, WEFT_FOREVER);
        scope_open(&at.inner, 0);
        w_add_rel(&at.n_ready, 3);
        await_runs(1);
        scope_close(&at.inner, 0);              /* no child was dropped */
        scope_close(&at.outer, 0);
}

TEST(a_scope_can_be_closed_without_a_run)
{
        sync_thread_start(&at.thread, close_without_run, NULL);
        sched_run(main_until_ready, NULL);
        w_add_rel(&at.n_runs, 1);
        sync_thread_join(&at.thread);
}

/* ---- Children that still run ----------------------------------------------------------------- */

/* In user code while the run ends, and then at the child's own end. */
static int compute(void *arg)
{
        (void)arg;
        w_add_rel(&at.n_ready, 3);
        scope_compute_until(w_os_now() + WEFT_MS(5));
        at.child_wrote = 1;             /* memory of the opener */
        return 5;
}

static void close_over_running(void *arg)
{
        (void)arg;
        while (!w_run_is_on())
                w_os_yield();
        at.child_wrote = 0;
        scope_open(&at.outer, WEFT_FOREVER);
        scope_go(&at.outer, compute, NULL);
        int rc = weft_scope_close(&at.outer);

        CHECK(rc == 5 || rc == -ESHUTDOWN);     /* the child ended, or was stopped before */
        CHECK_EQ(at.child_wrote, 1);            /* but it never runs on */
        memset(&at.outer, 0x5a, sizeof(at.outer));
}

TEST(close_does_not_return_while_a_child_runs)
{
        for (int i = 0; i < 5; i++) {
                w_store_rlx(&at.n_ready, 0);
                sync_thread_start(&at.thread, close_over_running, NULL);
                sched_run(main_until_ready, NULL);
                sync_thread_join(&at.thread);
        }
}

/* ---- Threads that continue to open scopes while runs come and go ----------------------------- */

enum { N_THREADS = 3, N_RUNS = 20 };

static w_atomic_u32 all_over;

static int yield_once(void *arg)
{
        (void)arg;
        weft_yield();
        return 0;
}

static void open_and_close(void *arg)
{
        uint32_t n = 0;

        (void)arg;
        for (; !w_load_acq(&all_over); n++) {
                weft_scope s, below;
                int        rc = weft_scope_open(&s, n % 3 ? WEFT_US(20) : WEFT_FOREVER);

                CHECK(rc == 0 || rc == -ESHUTDOWN);
                if (rc < 0)
                        continue;
                (void)!weft_scope_go(&s, yield_once, NULL);
                if (weft_scope_open(&below, SCOPE_LONG_TIME) == 0) {
                        (void)!weft_scope_go(&below, yield_once, NULL);
                        (void)weft_sleep(WEFT_US(5));
                        rc = weft_scope_close(&below);
                        CHECK(rc == 0 || rc == -ESHUTDOWN);
                }
                rc = weft_scope_close(&s);
                CHECK(rc == 0 || rc == -ESHUTDOWN);
                memset(&s, 0x5a, sizeof(s));
        }
}

static void main_short(void *arg)
{
        (void)arg;
        CHECK_EQ(weft_sleep(WEFT_US(500)), 0);
}

TEST(runs_come_and_go_under_threads_with_scopes)
{
        struct sync_thread threads[N_THREADS];

        for (int i = 0; i < N_THREADS; i++)
                sync_thread_start(&threads[i], open_and_close, NULL);
        for (int i = 0; i < N_RUNS; i++)
                sched_run(main_short, NULL);
        w_store_rel(&all_over, 1);
        for (int i = 0; i < N_THREADS; i++)
                sync_thread_join(&threads[i]);
}
