/* The cost of a wait does not depend on the length of the queue: twice as many waiters take less
 * than three times as long, to queue, to be served, and to leave from the middle.
 *
 * CPU time is compared, the best of several attempts, so that other load does not matter.
 * TEST_LONG goes up to 100,000 waiters. There are always more than fit into a P's own run queue:
 * the step from there to the global queue costs, and with random pauses in between it costs a lot.
 *
 * test: procs=1,2,4
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/sync.h"

#include <time.h>

enum { ATTEMPTS = 8 };

static weft_mutex   mutex = WEFT_MUTEX_INIT;
static weft_cond    cond = WEFT_COND_INIT;
static weft_sem     sem = WEFT_SEM_INIT(0);
static weft_wg      left = WEFT_WG_INIT;
static weft_scope   scope;
static weft_scope  *scopes;             /* one for each waiter */
static weft_chan   *served, *never;
static w_atomic_u32 n_arrived, n_scopes;
static uint32_t     n_waiting;          /* plain: under the mutex */

static int64_t cpu_now(void)
{
        struct timespec t;

        CHECK_EQ(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t), 0);
        return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void start(uint32_t n, void (*fn)(void *))
{
        w_store_rlx(&n_arrived, 0);
        weft_wg_add(&left, (int)n);
        for (uint32_t i = 0; i < n; i++)
                sched_go(fn, NULL);
        sched_await(&n_arrived, n);
}

static void wait_for_all(void)
{
        CHECK_EQ(weft_wg_wait(&left), 0);
}

/* ---- What is done n times -------------------------------------------------------------------- */

static void lock_once(void *arg)
{
        (void)arg;
        w_add_acqrel(&n_arrived, 1);
        weft_mutex_lock(&mutex);
        weft_mutex_unlock(&mutex);
        weft_wg_done(&left);
}

static void use_mutex(uint32_t n)
{
        weft_mutex_lock(&mutex);
        start(n, lock_once);
        weft_mutex_unlock(&mutex);
        wait_for_all();
}

static void wait_once(void *arg)
{
        (void)arg;
        weft_mutex_lock(&mutex);
        n_waiting++;
        w_add_acqrel(&n_arrived, 1);
        CHECK_EQ(weft_cond_wait(&cond, &mutex), 0);
        weft_mutex_unlock(&mutex);
        weft_wg_done(&left);
}

static void start_cond(uint32_t n)
{
        start(n, wait_once);
        weft_mutex_lock(&mutex);        /* the last one is in the queue, too */
        weft_mutex_unlock(&mutex);
}

static void use_signal(uint32_t n)
{
        start_cond(n);
        for (uint32_t i = 0; i < n; i++)
                weft_cond_signal(&cond);
        wait_for_all();
}

static void use_broadcast(uint32_t n)
{
        start_cond(n);
        weft_cond_broadcast(&cond);
        wait_for_all();
}

static void acquire_once(void *arg)
{
        (void)arg;
        w_add_acqrel(&n_arrived, 1);
        CHECK_EQ(weft_sem_acquire(&sem), 0);
        weft_wg_done(&left);
}

static void use_sem(uint32_t n)
{
        start(n, acquire_once);
        for (uint32_t i = 0; i < n; i++)
                weft_sem_release(&sem);
        wait_for_all();
}

static int acquire_cancelled(void *arg)
{
        (void)arg;
        w_add_acqrel(&n_arrived, 1);
        CHECK_EQ(weft_sem_acquire(&sem), -ECANCELED);
        return 0;
}

static void use_cancel(uint32_t n)
{
        w_store_rlx(&n_arrived, 0);
        CHECK_EQ(weft_scope_open(&scope, WEFT_FOREVER), 0);
        for (uint32_t i = 0; i < n; i++)
                CHECK(weft_scope_go(&scope, acquire_cancelled, NULL) > 0);
        sched_await(&n_arrived, n);
        weft_scope_cancel(&scope);
        CHECK_EQ(weft_scope_close(&scope), 0);
        CHECK_EQ(weft_sem_try_acquire(&sem), -EAGAIN);
}

/* Every waiter is in two queues, and leaves both when it is served in one. */
static int select_both(void)
{
        int       value;
        weft_case cs[] = { WEFT_RECV(never, &value), WEFT_RECV(served, &value) };

        w_add_acqrel(&n_arrived, 1);
        return weft_select(cs, 2);
}

static void select_once(void *arg)
{
        (void)arg;
        CHECK_EQ(select_both(), 1);
        weft_wg_done(&left);
}

static void use_select(uint32_t n)
{
        start(n, select_once);
        for (uint32_t i = 0; i < n; i++)
                CHECK_EQ(weft_chan_send(served, &(int){ 1 }), 0);
        wait_for_all();
}

static void select_cancelled(void *arg)
{
        weft_scope *own = &scopes[w_add_acqrel(&n_scopes, 1)];

        (void)arg;
        CHECK_EQ(weft_scope_open(own, WEFT_FOREVER), 0);
        CHECK_EQ(select_both(), -ECANCELED);
        CHECK_EQ(weft_scope_close(own), 0);
        weft_wg_done(&left);
}

/* They leave in an order that jumps through the queues. */
static void use_select_cancel(uint32_t n)
{
        enum { STEP = 7919 };           /* a prime: every waiter is reached */

        scopes = calloc(n, sizeof(*scopes));
        CHECK(scopes);
        w_store_rlx(&n_scopes, 0);
        start(n, select_cancelled);
        for (uint64_t i = 0; i < n; i++)
                weft_scope_cancel(&scopes[i * STEP % n]);
        wait_for_all();
        free(scopes);
}

/* ---- How long -------------------------------------------------------------------------------- */

static int64_t cost(void (*use)(uint32_t), uint32_t n)
{
        int64_t began = cpu_now();

        use(n);
        return cpu_now() - began;
}

static void compare(void *arg)
{
        void   (*use)(uint32_t) = *(void (**)(uint32_t))arg;
        uint32_t n = getenv("TEST_LONG") ? 50000 : sched_scale(2000) + 2 * W_RUNQ_CAP;
        int64_t  once = 0, twice = 0;

        served = weft_chan_new(sizeof(int), 0);
        never = weft_chan_new(sizeof(int), 0);
        CHECK(served && never);
        use(2 * n);                     /* afterwards stacks and records are allocated */
        for (int i = 0; i < ATTEMPTS; i++) {
                once = cost(use, n);
                twice = cost(use, 2 * n);
                if (twice < 3 * once) {
                        printf("%u waiters: %lld us, twice as many: %lld us\n", n,
                               (long long)once / 1000, (long long)twice / 1000);
                        return;
                }
        }
        test_fail(__FILE__, __LINE__, "%u waiters: %lld ns, twice as many: %lld ns", n,
                  (long long)once, (long long)twice);
}

static void check(void (*use)(uint32_t))
{
        sched_run(compare, &use);
}

TEST(a_queue_for_a_mutex)
{
        check(use_mutex);
}

TEST(a_queue_for_signals)
{
        check(use_signal);
}

TEST(a_queue_for_a_broadcast)
{
        check(use_broadcast);
}

TEST(a_queue_for_permits)
{
        check(use_sem);
}

TEST(a_queue_that_every_waiter_leaves)
{
        check(use_cancel);
}

TEST(a_queue_for_select)
{
        check(use_select);
}

TEST(two_queues_that_every_waiter_leaves)
{
        check(use_select_cancel);
}
