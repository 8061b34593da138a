/* Cond: FIFO signals, broadcast, no spurious wake-ups, the mutex is held again in every case.
 *
 * test: procs=1,2,4
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/sync.h"

enum { N = 10 };

static weft_mutex mutex = WEFT_MUTEX_INIT;
static weft_cond  cond = WEFT_COND_INIT;
static uint32_t   n_woken, n_waiting;   /* plain: under the mutex */
static uintptr_t  order[N];

static void wait_once(void *arg)
{
        weft_mutex_lock(&mutex);
        n_waiting++;
        CHECK_EQ(weft_cond_wait(&cond, &mutex), 0);
        CHECK_EQ(weft_mutex_try_lock(&mutex), -EBUSY);
        n_waiting--;
        order[n_woken++] = (uintptr_t)arg;
        weft_mutex_unlock(&mutex);
}

static uint32_t woken_now(void)
{
        weft_mutex_lock(&mutex);
        uint32_t n = n_woken;

        weft_mutex_unlock(&mutex);
        return n;
}

/* A goroutine that has counted itself and released the mutex is in the wait queue. */
static int64_t go_waiting(uintptr_t arg)
{
        uint32_t before, now;

        weft_mutex_lock(&mutex);
        now = before = n_waiting;
        weft_mutex_unlock(&mutex);
        int64_t id = sched_go(wait_once, (void *)arg);

        while (now == before) {
                weft_yield();
                weft_mutex_lock(&mutex);
                now = n_waiting;
                weft_mutex_unlock(&mutex);
        }
        return id;
}

static void await_woken(uint32_t n)
{
        while (woken_now() < n)
                weft_yield();
}

static void start_waiters(int64_t ids[N])
{
        for (uintptr_t i = 0; i < N; i++)
                ids[i] = go_waiting(i);
}

GO_TEST(each_signal_wakes_the_longest_waiter)
{
        int64_t ids[N];

        weft_cond_signal(&cond);        /* no waiter: the signal is lost */
        weft_cond_broadcast(&cond);
        start_waiters(ids);
        for (uint32_t i = 0; i < N; i++) {
                CHECK_EQ(woken_now(), i);
                weft_cond_signal(&cond);
                await_woken(i + 1);
                for (int k = 0; k < 20; k++)
                        weft_yield();
                CHECK_EQ(woken_now(), i + 1);
        }
        for (uintptr_t i = 0; i < N; i++)
                CHECK_EQ(order[i], i);
        weft_cond_signal(&cond);
}

GO_TEST(a_broadcast_wakes_all)
{
        int64_t ids[N];

        start_waiters(ids);
        weft_cond_broadcast(&cond);
        for (int i = 0; i < N; i++)
                sched_join(ids[i]);
        CHECK_EQ(woken_now(), N);
}

/* ---- Producers and consumers ----------------------------------------------------------------- */

static uint32_t n_items, n_taken, n_to_take;
static weft_cond not_full = WEFT_COND_INIT;

static void consumer(void *arg)
{
        (void)arg;
        weft_mutex_lock(&mutex);
        while (n_taken < n_to_take) {
                if (n_items == 0) {
                        CHECK_EQ(weft_cond_wait(&cond, &mutex), 0);
                        continue;
                }
                n_items--;
                if (++n_taken == n_to_take)
                        weft_cond_broadcast(&cond);
                weft_cond_signal(&not_full);
        }
        weft_mutex_unlock(&mutex);
}

static void producer(void *arg)
{
        for (uintptr_t i = 0; i < (uintptr_t)arg; i++) {
                weft_mutex_lock(&mutex);
                while (n_items == 3)
                        CHECK_EQ(weft_cond_wait(&not_full, &mutex), 0);
                n_items++;
                weft_cond_signal(&cond);
                weft_mutex_unlock(&mutex);
        }
}

GO_TEST(goroutines_and_threads_share_a_bounded_buffer)
{
        uint32_t           each = sched_scale(2000) + 1;
        int64_t            ids[6];
        struct sync_thread threads[2];

        n_to_take = 4 * each;
        for (int i = 0; i < 6; i++)
                ids[i] = i < 3 ? sched_go(producer, (void *)(uintptr_t)each)
                               : sched_go(consumer, NULL);
        sync_thread_start(&threads[0], producer, (void *)(uintptr_t)each);
        sync_thread_start(&threads[1], consumer, NULL);
        for (int i = 0; i < 6; i++)
                sched_join(ids[i]);
        for (int i = 0; i < 2; i++)
                sync_thread_join(&threads[i]);
        CHECK_EQ(n_taken, n_to_take);
        CHECK_EQ(n_items, 0);
}

/* ---- Cancellation ---------------------------------------------------------------------------- */

static int wait_call(void *arg)
{
        (void)arg;
        weft_mutex_lock(&mutex);
        int rc = weft_cond_wait(&cond, &mutex);

        CHECK_EQ(weft_mutex_try_lock(&mutex), -EBUSY);
        weft_mutex_unlock(&mutex);
        return rc;
}

GO_TEST(a_scope_ends_the_wait_and_the_mutex_is_held)
{
        int64_t ids[N];

        CHECK_EQ(sync_call_cancelled(wait_call, NULL), -ECANCELED);
        CHECK_EQ(sync_call_timed(wait_call, NULL, 0), -ETIMEDOUT);
        CHECK_EQ(sync_call_timed(wait_call, NULL, WEFT_MS(1)), -ETIMEDOUT);
        CHECK_EQ(weft_mutex_try_lock(&mutex), 0);
        weft_mutex_unlock(&mutex);
        start_waiters(ids);             /* and the queue is intact */
        weft_cond_broadcast(&cond);
        for (int i = 0; i < N; i++)
                sched_join(ids[i]);
}

/* A signal for a waiter that is being cancelled, with another waiter after it in the queue. */
static w_atomic_u32 n_signalled, n_left;

static int race_cancel(void *scope)
{
        weft_yield();
        weft_scope_cancel(scope);
        return 0;
}

static void racer(void *arg)
{
        weft_scope scope;

        (void)arg;
        CHECK_EQ(weft_scope_open(&scope, WEFT_FOREVER), 0);
        weft_mutex_lock(&mutex);
        CHECK(weft_scope_go(&scope, race_cancel, &scope) > 0);
        int rc = weft_cond_wait(&cond, &mutex);

        CHECK(rc == 0 || rc == -ECANCELED);
        weft_mutex_unlock(&mutex);
        if (rc == 0)
                w_add_rlx(&n_signalled, 1);
        CHECK_EQ(weft_scope_close(&scope), 0);
        w_sub_rlx(&n_left, 1);
}

/* The signal goes to the racer or to the waiter after it, which waits for ever if it is lost. */
static void race_once(void)
{
        n_woken = 0;
        w_store_rlx(&n_left, 1);
        w_store_rlx(&n_signalled, 0);
        sched_go(racer, NULL);
        weft_yield();
        int64_t sure = go_waiting(0);

        weft_cond_signal(&cond);
        while (w_load_rlx(&n_left))
                weft_yield();
        if (w_load_rlx(&n_signalled)) {
                CHECK_EQ(woken_now(), 0);
                weft_cond_signal(&cond);
        }
        sched_join(sure);
}

GO_TEST(a_signal_is_never_lost_to_a_cancellation)
{
        for (uint32_t n = sched_scale(2000) + 1; n > 0; n--)
                race_once();
}

/* ---- Without a run --------------------------------------------------------------------------- */

TEST(without_a_runtime_there_is_nothing_to_wait_for)
{
        CHECK_EQ(wait_call(NULL), -ESHUTDOWN);
        weft_cond_signal(&cond);
        weft_cond_broadcast(&cond);
        CHECK_EQ(weft_mutex_try_lock(&mutex), 0);
}

TEST(the_end_of_the_run_ends_a_thread_s_wait)
{
        CHECK_EQ(sync_call_across_the_end(wait_call, NULL), -ESHUTDOWN);
        CHECK_EQ(weft_mutex_try_lock(&mutex), 0);
}
