/* tests/flow/sched/thread/test_main_thread.c - the thread that called weft_run is dedicated to
 * goroutine 1.
 *
 * test: procs=1,2,4
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/sched.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int          m0_tid;
static w_atomic_u32 n_done;

/* ---- A goroutine that blocks for ever does not delay the end --------------------------------- */

static int          empty[2];
static w_atomic_u32 blocked;

static void read_for_ever(void *arg)
{
        char byte;

        (void)arg;
        w_store_rel(&blocked, 1);
        CHECK_EQ(test_read(empty[0], &byte, 1), -1);
}

static void main_leaves_reader(void *arg)
{
        (void)arg;
        sched_go(read_for_ever, NULL);
        while (!w_load_acq(&blocked))
                CHECK_EQ(weft_sleep(WEFT_MS(1)), 0);
}

static void run_beside_reader(void *arg)
{
        weft_config cfg = { .procs = 1, .shutdown_ms = 20 };

        (void)arg;
        CHECK_EQ(pipe(empty), 0);
        CHECK_EQ(sched_run_left(&cfg, main_leaves_reader, NULL), 1);
        kill(getpid(), SIGTERM);        /* at exit tools would report the thread */
        pause();
}

TEST(the_run_ends_although_a_goroutine_reads_for_ever)
{
        char err[16384];
        int  status = test_run_child(run_beside_reader, NULL, err, sizeof(err));

        CHECK_MSG(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM, "wait status %#x\n%s",
                  (unsigned)status, err);
        CHECK_MSG(strstr(err, "weft: 1 thread did not return to weft within 20 ms and is left "
                              "behind\n"),
                  "said: %s", err);
}

/* ---- No other goroutine runs there ----------------------------------------------------------- */

static void not_on_m0(void *arg)
{
        (void)arg;
        for (int i = 0; i < 3; i++) {
                CHECK(w_os_tid() != m0_tid);
                weft_yield();
        }
        w_add_acqrel(&n_done, 1);
}

/* The child runs first, and goroutine 1 continues after it, on any thread. */
static void main_spawns_child_first(void *arg)
{
        weft_attr attr = { .flags = WEFT_CHILD_FIRST };

        (void)arg;
        m0_tid = w_os_tid();
        w_store_rel(&n_done, 0);
        CHECK(weft_go_with(&attr, not_on_m0, NULL) > 0);
        CHECK(sched_procs() > 1 || w_load_acq(&n_done) == 0);   /* it has yielded */
        while (w_load_acq(&n_done) < 1)
                weft_yield();
}

TEST(a_child_that_runs_first_runs_elsewhere) { sched_run(main_spawns_child_first, NULL); }

static void main_does_all(void *arg)
{
        int64_t ids[20];

        (void)arg;
        m0_tid = w_os_tid();
        for (int i = 0; i < 20; i++)
                ids[i] = sched_go(not_on_m0, NULL);
        CHECK_EQ(w_os_tid(), m0_tid);   /* has not left it yet */
        for (int i = 0; i < 20; i++)
                CHECK_EQ(weft_join(ids[i]), 0);
        CHECK_EQ(weft_sleep(WEFT_US(100)), 0);
        CHECK(w_os_tid() != m0_tid);
        CHECK_EQ(weft_check(), 0);
}

TEST(no_other_goroutine_runs_on_the_calling_thread)
{
        for (int i = 0; i < 10; i++) {
                int tid = w_os_tid();

                sched_run(main_does_all, NULL);
                CHECK_EQ(w_os_tid(), tid);
        }
}

/* ---- Without other threads it runs every goroutine ------------------------------------------- */

/* Two threads in all: one is in a region, so the other goroutines run where goroutine 1 began. */
static void in_region(void *arg)
{
        (void)arg;
        weft_block_begin();
        while (w_load_acq(&n_done) < 10)
                w_os_sleep_until(w_os_now() + 200000);
        weft_block_end();
}

static void finish(void *arg)
{
        (void)arg;
        weft_yield();
        w_add_acqrel(&n_done, 1);
}

static void main_in_need(void *arg)
{
        int64_t ids[11];

        (void)arg;
        w_store_rel(&n_done, 0);
        ids[10] = sched_go(in_region, NULL);
        for (int i = 0; i < 10; i++)
                ids[i] = sched_go(finish, NULL);
        for (int i = 0; i < 11; i++)
                CHECK_EQ(weft_join(ids[i]), 0);
        CHECK_EQ(weft_sleep(WEFT_MS(1)), 0);
        CHECK_EQ(weft_check(), 0);
}

TEST(with_two_threads_in_all_both_are_used)
{
        weft_config cfg = { .procs = 1, .max_threads = 2 };

        for (int i = 0; i < 3; i++)
                CHECK_EQ(sched_run_left(&cfg, main_in_need, NULL), 0);
}

/* ---- How many threads there are -------------------------------------------------------------- */

static void main_counts(void *arg)
{
        weft_stats_t st = { .size = sizeof(st) };

        CHECK_EQ(weft_stats(&st), 0);
        CHECK_EQ(st.threads, 2);
        for (int i = 0; i < 50; i++)
                CHECK_EQ(weft_sleep(WEFT_US(50)), 0);
        CHECK_EQ(weft_stats(&st), 0);
        *(bool *)arg = st.threads == 2 && st.threads_idle == 1;
}

/* The thread that slept from the start is enough. If it gets no CPU, on a busy machine, the monitor
 * may start another thread, but not every time. */
TEST(one_p_needs_one_more_thread)
{
        weft_config cfg = { .procs = 1 };
        bool        enough = false;

        for (int i = 0; i < 20 && !enough; i++)
                CHECK_EQ(sched_run_left(&cfg, main_counts, &enough), 0);
        CHECK(enough);
}
