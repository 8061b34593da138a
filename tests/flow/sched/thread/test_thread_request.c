/* tests/flow/sched/thread/test_thread_request.c - no thread inherits from a thread that may have
 * been changed.
 *
 * test: procs=1,2,4
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/sched.h"

#include <pthread.h>
#include <sys/prctl.h>

static w_atomic_u32 n_done;

enum { SLACK = 77777 };                 /* a thread inherits the timer slack of its creator */

static bool has_slack(void)
{
        return prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0) == SLACK;
}

static void check_slack(void *arg)
{
        (void)arg;
        CHECK(!has_slack());
        weft_yield();
        weft_block_begin();
        CHECK(!has_slack());
        w_os_sleep_until(w_os_now() + 2000000);         /* so that threads are needed */
        weft_block_end();
        CHECK(!has_slack());
        w_add_acqrel(&n_done, 1);
}

static void taint(void *arg)
{
        (void)arg;
        weft_thread_lock();
        CHECK_EQ(prctl(PR_SET_TIMERSLACK, SLACK, 0, 0, 0), 0);
        for (int i = 0; i < 10; i++) {
                sched_go(check_slack, NULL);
                CHECK_EQ(weft_sleep(WEFT_US(500)), 0);
                CHECK(has_slack());
        }
}

static void main_taints(void *arg)
{
        sched_join(sched_go(taint, arg));
        sched_await(&n_done, 10);
}

TEST(no_thread_inherits_from_a_locked_thread)
{
        sched_run(main_taints, NULL);
        w_store_rel(&n_done, 0);
        sched_run(taint, NULL);         /* goroutine 1 returns locked */
        CHECK_EQ(prctl(PR_SET_TIMERSLACK, 0, 0, 0, 0), 0);
}

static void *spawn_from_afar(void *arg)
{
        CHECK_EQ(prctl(PR_SET_TIMERSLACK, SLACK, 0, 0, 0), 0);
        for (int i = 0; i < 10; i++) {
                CHECK(weft_go(check_slack, arg) > 0);
                w_os_sleep_until(w_os_now() + 500000);
        }
        return NULL;
}

static void main_beside_thread(void *arg)
{
        pthread_t thread;

        CHECK_EQ(pthread_create(&thread, NULL, spawn_from_afar, arg), 0);
        while (w_load_acq(&n_done) < 10)
                CHECK_EQ(weft_sleep(WEFT_US(200)), 0);
        CHECK_EQ(pthread_join(thread, NULL), 0);
}

TEST(no_thread_inherits_from_a_foreign_thread) { sched_run(main_beside_thread, NULL); }
