/* Mutex: exclusion, try, hand-over, foreign threads, with and without a runtime.
 *
 * test: procs=1,2,4
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/sync.h"

static weft_mutex mutex = WEFT_MUTEX_INIT;
static uint32_t   counter;              /* plain: under the mutex */
static uint32_t   rounds;

/* ---- Alone ----------------------------------------------------------------------------------- */

TEST(a_mutex_works_without_a_runtime)
{
        weft_mutex zero = { 0 };

        for (int i = 0; i < 3; i++) {
                weft_mutex_lock(&zero);
                CHECK_EQ(weft_mutex_try_lock(&zero), -EBUSY);
                weft_mutex_unlock(&zero);
                CHECK_EQ(weft_mutex_try_lock(&zero), 0);
                weft_mutex_unlock(&zero);
        }
        for (size_t i = 0; i < sizeof(zero); i++)
                CHECK_EQ(((char *)&zero)[i], 0);
}

static w_atomic_u32 n_sections;

/* Every third time it only tries. */
static void hammer(void *arg)
{
        (void)arg;
        for (uint32_t i = 0; i < rounds; i++) {
                if (i % 3)
                        weft_mutex_lock(&mutex);
                else if (weft_mutex_try_lock(&mutex) < 0)
                        continue;
                counter++;
                weft_mutex_unlock(&mutex);
                w_add_rlx(&n_sections, 1);
        }
}

static void count_plainly(void *arg)
{
        (void)arg;
        for (uint32_t i = 0; i < rounds; i++)
                weft_mutex_lock(&mutex), counter++, weft_mutex_unlock(&mutex);
}

TEST(threads_exclude_each_other_without_a_runtime)
{
        struct sync_thread threads[4];

        rounds = sched_scale(20000) + 1;
        for (int i = 0; i < 4; i++)
                sync_thread_start(&threads[i], count_plainly, NULL);
        for (int i = 0; i < 4; i++)
                sync_thread_join(&threads[i]);
        CHECK_EQ(counter, 4 * rounds);
}

/* ---- Goroutines ------------------------------------------------------------------------------ */

static void ten_hammer(void *arg)
{
        sync_together(10, hammer, arg);
        CHECK_EQ(counter, w_load_rlx(&n_sections));
        CHECK(counter >= 10 * (rounds - 1 - rounds / 3));
}

TEST(ten_goroutines_lock_and_try)
{
        rounds = sched_scale(10000) + 1;
        sched_run(ten_hammer, NULL);
        CHECK_EQ(weft_mutex_try_lock(&mutex), 0);
}

static void yield_inside(void *arg)
{
        (void)arg;
        for (uint32_t i = 0; i < rounds; i++) {
                weft_mutex_lock(&mutex);
                uint32_t seen = counter;

                if (i % 2)
                        weft_yield();
                counter = seen + 1;
                weft_mutex_unlock(&mutex);
        }
}

static void many_yield_inside(void *arg)
{
        sync_together(20, yield_inside, arg);
        CHECK_EQ(counter, 20 * rounds);
}

TEST(a_holder_may_yield)
{
        rounds = sched_scale(500) + 1;
        sched_run(many_yield_inside, NULL);
}

static void mixed_main(void *arg)
{
        struct sync_thread threads[2];

        (void)arg;
        for (int i = 0; i < 2; i++)
                sync_thread_start(&threads[i], count_plainly, NULL);
        sync_together(4, yield_inside, NULL);
        for (int i = 0; i < 2; i++)
                sync_thread_join(&threads[i]);
        CHECK_EQ(counter, 6 * rounds);
}

TEST(goroutines_and_threads_exclude_each_other)
{
        rounds = sched_scale(2000) + 1;
        sched_run(mixed_main, NULL);
}

/* ---- Waiting --------------------------------------------------------------------------------- */

static w_atomic_u32 order[8], n_ordered;

static void lock_and_note(void *arg)
{
        weft_mutex_lock(&mutex);
        w_store_rlx(&order[w_load_rlx(&n_ordered)], (uint32_t)(uintptr_t)arg);
        w_add_rlx(&n_ordered, 1);
        weft_mutex_unlock(&mutex);
}

GO_TEST(waiters_get_it_in_order)
{
        int64_t ids[8];

        weft_mutex_lock(&mutex);
        for (uintptr_t i = 0; i < 8; i++)
                ids[i] = sync_go_waiting(lock_and_note, (void *)i);
        CHECK_EQ(weft_mutex_try_lock(&mutex), -EBUSY);
        weft_mutex_unlock(&mutex);
        for (int i = 0; i < 8; i++)
                sched_join(ids[i]);
        for (uint32_t i = 0; i < 8; i++)
                CHECK_EQ(w_load_rlx(&order[i]), i);
}

/* Goroutine 1 takes the mutex again and again, and yields only while it holds it. Without
 * hand-over, a woken waiter would find it taken each time. */
static void greedy(void *arg)
{
        int64_t  id;
        uint32_t turns = 0;

        (void)arg;
        weft_mutex_lock(&mutex);
        id = sync_go_waiting(lock_and_note, NULL);
        while (w_load_rlx(&n_ordered) == 0) {
                weft_mutex_unlock(&mutex);
                weft_mutex_lock(&mutex);
                w_os_sleep_until(w_os_now() + 300000);
                weft_yield();
                turns++;
        }
        weft_mutex_unlock(&mutex);
        sched_join(id);
        CHECK_MSG(turns < 1000, "overtaken %u times", turns);
}

TEST(a_waiter_does_not_starve)
{
        sched_run(greedy, NULL);
        CHECK_EQ(weft_mutex_try_lock(&mutex), 0);
}

static int lock_in_scope(void *arg)
{
        weft_mutex_lock(arg);
        weft_mutex_unlock(arg);
        return 0;
}

static void unlock_later(void *arg)
{
        for (int i = 0; i < 100; i++)
                weft_yield();
        weft_mutex_unlock(arg);
}

GO_TEST(no_scope_ends_the_wait_for_a_mutex)
{
        weft_mutex_lock(&mutex);
        int64_t id = sched_go(unlock_later, &mutex);

        CHECK_EQ(sync_call_timed(lock_in_scope, &mutex, 0), 0);
        sched_join(id);
}

/* ---- A thread that waits when the run ends --------------------------------------------------- */

static w_atomic_u32 thread_has_it;

static void thread_locks(void *arg)
{
        (void)arg;
        weft_mutex_lock(&mutex);
        w_store_rel(&thread_has_it, 1);
        weft_mutex_unlock(&mutex);
}

static void lock_for_ever(void *arg)
{
        (void)arg;
        weft_mutex_lock(&mutex);
        CHECK_MSG(false, "a goroutine of a run that is over has the mutex");
}

static void leave_locked(void *arg)
{
        sync_go_waiting(lock_for_ever, NULL);
        sync_go_waiting(lock_for_ever, NULL);
        sync_thread_start(arg, thread_locks, NULL);
        w_os_sleep_until(w_os_now() + 2000000);         /* it waits, most likely */
}

TEST(a_thread_gets_the_mutex_although_the_run_is_over)
{
        struct sync_thread thread;

        weft_mutex_lock(&mutex);
        sched_run(leave_locked, &thread);
        CHECK_EQ(w_load_acq(&thread_has_it), 0);
        weft_mutex_unlock(&mutex);
        sync_thread_join(&thread);
        CHECK_EQ(weft_mutex_try_lock(&mutex), 0);
}
