/* tests/flow/sched/run/test_foreign_threads.c - many foreign threads, and their stacks.
 *
 * test: procs=1,2,4
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/background.h"

#include <string.h>
#include <ucontext.h>

/* ---- A hundred at once ----------------------------------------------------------------------- */

enum { N_THREADS = 100, FRAME = 2048, DEEP = 64 };

static w_atomic_u32 n_there, n_deep;

/* On the thread's own stack, and with the stack that weft needs below that. */
static int recurse(int n)
{
        volatile char frame[FRAME];

        memset((char *)frame, n, sizeof(frame));
        if (n > 0)
                return recurse(n - 1) + frame[FRAME / 2];
        CHECK_EQ(weft_check(), 0);
        CHECK_EQ(weft_join(weft_go(background_count, NULL)), 0);
        w_add_acqrel(&n_deep, 1);
        return frame[FRAME / 2];
}

static void come_and_go(void *n)
{
        w_add_acqrel(&n_there, 1);
        while (w_load_acq(&n_there) < *(uint32_t *)n)
                w_os_yield();
        CHECK_EQ(weft_check(), 0);
        CHECK_EQ(weft_join(weft_go(background_count, NULL)), 0);
        CHECK_EQ(recurse(DEEP), DEEP * (DEEP + 1) / 2);
}

TEST(a_hundred_threads_stop_the_world_and_start_goroutines)
{
        struct sync_thread threads[N_THREADS];
        uint32_t           n = sched_scale(N_THREADS);

        background_start();
        for (uint32_t i = 0; i < n; i++)
                sync_thread_start(&threads[i], come_and_go, &n);
        for (uint32_t i = 0; i < n; i++)
                sync_thread_join(&threads[i]);
        CHECK_EQ(w_load_acq(&background_n_ran), 2 * n);
        CHECK_EQ(w_load_acq(&n_deep), n);
        CHECK_EQ(weft_count(), 0);
        CHECK_EQ(weft_check(), 0);
        background_stop();
}

/* ---- A second stack -------------------------------------------------------------------------- */

enum { SECOND_STACK = 256 << 10, N_SWAPS = 20 };

static ucontext_t here, there;
static weft_mutex mutex = WEFT_MUTEX_INIT;

static void lock_for_a_while(void *arg)
{
        weft_mutex_lock(&mutex);
        CHECK_EQ(weft_sleep(WEFT_US(200)), 0);
        weft_mutex_unlock(&mutex);
        background_count(arg);
}

/* Waits, stops the world, and holds a lock from one stack to the other. */
static void on_second_stack(void)
{
        for (;;) {
                int64_t id = weft_go(lock_for_a_while, NULL);

                CHECK(id > 0);
                CHECK_EQ(weft_sleep(WEFT_US(50)), 0);
                CHECK_EQ(weft_check(), 0);
                CHECK_EQ(weft_join(id), 0);
                weft_mutex_lock(&mutex);
                CHECK_EQ(swapcontext(&there, &here), 0);
        }
}

static void swap_stacks(void *arg)
{
        char *stack = malloc(SECOND_STACK);

        (void)arg;
        CHECK(stack && getcontext(&there) == 0);
        there.uc_stack.ss_sp = stack;
        there.uc_stack.ss_size = SECOND_STACK;
        makecontext(&there, on_second_stack, 0);
        for (int i = 0; i < N_SWAPS; i++) {
                CHECK_EQ(swapcontext(&here, &there), 0);
                CHECK_EQ(weft_mutex_try_lock(&mutex), -EBUSY);
                weft_mutex_unlock(&mutex);
                CHECK_EQ(weft_join(weft_go(lock_for_a_while, NULL)), 0);
        }
        free(stack);
}

TEST(a_thread_may_call_from_a_second_stack)
{
        struct sync_thread thread;

#if defined(W_TSAN)
        test_skip("it does not know of stacks that swapcontext goes to");
#endif
        background_start();
        for (int i = 0; i < 2; i++) {
                sync_thread_start(&thread, swap_stacks, NULL);
                sync_thread_join(&thread);
        }
        CHECK_EQ(w_load_acq(&background_n_ran), 2 * 2 * N_SWAPS);
        background_stop();
}
