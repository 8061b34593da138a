/* tests/flow/sched/thread/test_lockthread_end.c - goroutines that end locked to their threads,
 * which end too.
 *
 * test: procs=1,2,4
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/sched.h"

#include <pthread.h>
#include <sys/stat.h>

static w_atomic_u32 n_done, stop;

/* ---- A thread that ends ---------------------------------------------------------------------- */

static pthread_key_t key;
static w_atomic_u32  n_destroyed;

static void destroy(void *value)
{
        (void)value;
        w_add_acqrel(&n_destroyed, 1);
}

/* Not on m0: the caller is not goroutine 1. */
static void end_locked(void *arg)
{
        weft_thread_lock();
        weft_thread_lock();
        CHECK_EQ(pthread_setspecific(key, &key), 0);
        weft_yield();
        *(int *)arg = w_os_tid();
        weft_thread_unlock();
        if (w_os_tid() % 2)
                weft_exit();
}

static bool exists(int tid)
{
        char        path[64];
        struct stat st;

        (void)snprintf(path, sizeof(path), "/proc/self/task/%d", tid);
        return stat(path, &st) == 0;
}

static void main_outlives(void *arg)
{
        (void)arg;
        for (uint32_t i = 1; i <= 10; i++) {
                int tid = 0;

                sched_join(sched_go(end_locked, &tid));
                while (exists(tid))
                        CHECK_EQ(weft_sleep(WEFT_MS(1)), 0);
                CHECK_EQ(w_load_acq(&n_destroyed), i);
                CHECK_EQ(weft_check(), 0);
        }
}

TEST(a_goroutine_that_ends_locked_takes_its_thread_with_it)
{
        CHECK_EQ(pthread_key_create(&key, destroy), 0);
        sched_run(main_outlives, NULL);
}

/* The end of a thread waits for a destructor, which only other goroutines can release. They need
 * one thread more than there are. */
static w_atomic_u32 released;

static void destroy_late(void *value)
{
        (void)value;
        while (!w_load_acq(&released))
                w_os_sleep_until(w_os_now() + 100000);
}

static void end_slowly(void *arg)
{
        (void)arg;
        weft_thread_lock();
        CHECK_EQ(pthread_setspecific(key, &key), 0);
}

static void block(void *arg)
{
        (void)arg;
        weft_block_begin();
        while (!w_load_acq(&stop))
                w_os_sleep_until(w_os_now() + 100000);
        weft_block_end();
        w_add_acqrel(&n_done, 1);
}

static void main_beside_slow_end(void *arg)
{
        sched_join(sched_go(end_slowly, arg));
        for (int i = 0; i < 6; i++)
                sched_go(block, arg);
        for (int i = 0; i < 20; i++)
                CHECK_EQ(weft_sleep(WEFT_US(200)), 0);
        w_store_rel(&stop, 1);
        sched_await(&n_done, 6);
        w_store_rel(&released, 1);
}

TEST(no_goroutine_waits_for_the_destructors_of_a_thread)
{
        CHECK_EQ(pthread_key_create(&key, destroy_late), 0);
        sched_run(main_beside_slow_end, NULL);
}

/* ---- Many ------------------------------------------------------------------------------------ */

enum { AT_ONCE = 20 };

/* Gives libc much to free at the end of the thread. */
static void work_and_end_locked(void *arg)
{
        char        *blocks[50];
        w_atomic_u64 sum = W_ATOMIC_INIT(0);

        (void)arg;
        weft_thread_lock();
        for (size_t i = 0; i < W_ARRAY_LEN(blocks); i++) {
                blocks[i] = calloc(1, (size_t)16 << i % 10);
                CHECK(blocks[i]);
                for (int k = 0; k < 1000; k++)
                        w_add_acqrel(&sum, 1);
                if (i % 20 == 0)
                        weft_yield();
        }
        for (size_t i = 0; i < W_ARRAY_LEN(blocks); i++)
                free(blocks[i]);
        w_add_acqrel(&n_done, 1);
}

static void main_many(void *arg)
{
        uint32_t n_rounds = 1 + (getenv("TEST_LONG") ? 1000 : sched_scale(100)) / AT_ONCE;
        int64_t  ids[AT_ONCE];

        (void)arg;
        for (uint32_t i = 0; i < n_rounds; i++) {
                for (int k = 0; k < AT_ONCE; k++)
                        ids[k] = sched_go(work_and_end_locked, NULL);
                for (int k = 0; k < AT_ONCE; k++)
                        sched_join(ids[k]);
        }
        CHECK_EQ(w_load_acq(&n_done), n_rounds * AT_ONCE);
        CHECK_EQ(weft_check(), 0);
}

TEST(many_threads_end_after_work)       { sched_run(main_many, NULL); }

/* ---- While the world stops ------------------------------------------------------------------- */

static void computes(void *arg)
{
        (void)arg;
        while (!w_load_acq(&stop))
                w_cpu_pause();
}

static void busy(void *arg)
{
        (void)arg;
        while (!w_load_acq(&stop))
                weft_yield();
}

static void just_end_locked(void *arg)
{
        (void)arg;
        weft_thread_lock();
}

static void main_ends_threads(void *arg)
{
        (void)arg;
        sched_go(busy, NULL);
        sched_go(computes, NULL);
        for (uint32_t i = 0; test_again(i, 10, sched_scale(100)); i++) {
                int64_t id = sched_go(just_end_locked, NULL);

                if (i % 2)
                        weft_yield();
                CHECK_EQ(weft_check(), 0);
                sched_join(id);
        }
        w_store_rel(&stop, 1);
}

TEST(threads_end_while_the_world_stops) { sched_run(main_ends_threads, NULL); }
