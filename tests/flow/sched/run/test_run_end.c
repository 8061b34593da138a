/* tests/flow/sched/run/test_run_end.c - the end of a run under goroutines and threads that continue
 * to call weft.
 *
 * test: procs=1,2,4
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/sched.h"

#include <errno.h>
#include <pthread.h>

enum { RUNS = 15, N_LOOPS = 6, N_THREADS = 4 };

/* ---- Goroutines that work and sleep for ever ------------------------------------------------- */

static w_atomic_u32 n_looping;

static void work_and_sleep(void *arg)
{
        (void)arg;
        w_add_rlx(&n_looping, 1);
        for (;;) {
                int64_t until = weft_now() + WEFT_US(100);

                while (weft_now() < until)
                        ;
                (void)weft_sleep(WEFT_US(1));
        }
}

static void main_leaves_loops(void *arg)
{
        (void)arg;
        for (int i = 0; i < N_LOOPS; i++)
                (void)sched_go(work_and_sleep, NULL);
        CHECK_EQ(weft_sleep(WEFT_MS(2)), 0);
}

/* A sleep that refuses, instead of never returning, would keep its thread from ending. */
TEST(background_loops_that_sleep_do_not_outlive_the_run)
{
        for (int i = 0; i < RUNS; i++)
                sched_run(main_leaves_loops, NULL);
        CHECK(w_load_acq(&n_looping) > 0);
}

/* ---- Threads that call until the run is over ------------------------------------------------- */

struct poll {
        pthread_t    thread;
        weft_chan   *c;
        w_atomic_u32 stop;
};

static void *poll_channel(void *arg)
{
        struct poll *p = arg;

        while (!w_load_acq(&p->stop)) {
                int rc = weft_chan_try_send(p->c, NULL);

                CHECK(rc == 0 || rc == -EAGAIN || rc == -ESHUTDOWN);
                rc = weft_chan_try_recv(p->c, NULL);
                CHECK(rc == 0 || rc == -EAGAIN || rc == -ESHUTDOWN);
                CHECK(weft_chan_len(p->c) <= 4);
                CHECK(weft_chan_cap(p->c) == 4 || weft_chan_cap(p->c) == 0);
                CHECK(weft_chan_ref(p->c) == p->c);
                weft_chan_unref(p->c);
        }
        return NULL;
}

static struct poll polls[N_THREADS];

static void main_polled(void *arg)
{
        weft_chan *c = weft_chan_new(0, 4);

        (void)arg;
        CHECK(c);
        for (int i = 0; i < N_THREADS; i++) {
                polls[i].c = c;
                w_store_rlx(&polls[i].stop, 0);
                CHECK_EQ(pthread_create(&polls[i].thread, NULL, poll_channel, &polls[i]), 0);
        }
        CHECK_EQ(weft_sleep(WEFT_MS(1)), 0);
}

TEST(threads_that_poll_a_channel_see_the_run_end)
{
        for (int i = 0; i < RUNS; i++) {
                sched_run(main_polled, NULL);
                for (int k = 0; k < N_THREADS; k++)
                        w_store_rel(&polls[k].stop, 1);
                for (int k = 0; k < N_THREADS; k++)
                        CHECK_EQ(pthread_join(polls[k].thread, NULL), 0);
        }
}

/* ---- Without a run --------------------------------------------------------------------------- */

TEST(what_may_wait_is_refused_without_a_run)
{
        weft_sem sem;
        weft_wg  wg = WEFT_WG_INIT;

        weft_sem_init(&sem, 1);
        CHECK_EQ(weft_sem_acquire(&sem), -ESHUTDOWN);
        CHECK_EQ(weft_sem_try_acquire(&sem), 0);
        CHECK_EQ(weft_wg_wait(&wg), -ESHUTDOWN);
        CHECK_EQ(weft_sleep(WEFT_US(1)), -ESHUTDOWN);
        CHECK_EQ(weft_join(1), -ESHUTDOWN);
        CHECK(!weft_chan_new(4, 4));
        CHECK_EQ(weft_chan_len(NULL), 0);
}
