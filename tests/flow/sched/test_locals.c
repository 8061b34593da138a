/* tests/flow/sched/test_locals.c - goroutine-local values: keys, destructors, and what is refused.
 *
 * test: procs=1,2,4
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/sched.h"

#include <pthread.h>

static weft_key     key, other;
static w_atomic_u32 n_destroyed;
static w_atomic_u64 sum_destroyed;

static void destroy(void *value)
{
        w_add_acqrel(&n_destroyed, 1);
        w_add_acqrel(&sum_destroyed, (uint64_t)(uintptr_t)value);
}

static void new_keys(void)
{
        CHECK_EQ(weft_key_new(&key, destroy), 0);
        CHECK_EQ(weft_key_new(&other, NULL), 0);
        CHECK(key.id != other.id);
}

static void keep_own_value(void *arg)
{
        CHECK(weft_local_get(key) == NULL);
        CHECK_EQ(weft_local_set(key, arg), 0);
        CHECK_EQ(weft_local_set(other, &key), 0);
        for (int i = 0; i < 20; i++) {
                weft_yield();
                CHECK(weft_local_get(key) == arg);
                CHECK(weft_local_get(other) == &key);
        }
}

static void main_values(void *arg)
{
        enum { N = 100 };
        int64_t  ids[N];
        uint64_t sum = 0;

        (void)arg;
        CHECK_EQ(weft_local_set(key, NULL), 0);
        for (uintptr_t i = 0; i < N; i++) {
                ids[i] = sched_go(keep_own_value, (void *)(i + 1));
                sum += i + 1;
        }
        for (int i = 0; i < N; i++)
                sched_join(ids[i]);
        CHECK_EQ(w_load_acq(&n_destroyed), N);
        CHECK_EQ(w_load_acq(&sum_destroyed), sum);
        CHECK(weft_local_get(key) == NULL);
}

TEST(each_goroutine_has_its_own_value)
{
        new_keys();
        sched_run(main_values, NULL);
        CHECK_EQ(w_load_acq(&n_destroyed), 100);        /* main's was NULL */
}

static void set_and_exit(void *arg)
{
        CHECK_EQ(weft_local_set(key, arg), 0);
        weft_exit();
}

static void main_exit_destroys(void *arg)
{
        sched_join(sched_go(set_and_exit, arg));
        CHECK_EQ(w_load_acq(&n_destroyed), 1);
        CHECK_EQ(weft_local_set(key, arg), 0);
}

TEST(exit_and_the_end_of_main_run_destructors)
{
        int value;

        new_keys();
        sched_run(main_exit_destroys, &value);
        CHECK_EQ(w_load_acq(&n_destroyed), 2);
}

/* A record's next owner sees nothing of the owner before. */
static void main_reuse(void *arg)
{
        (void)arg;
        for (int i = 0; i < 1000; i++)
                sched_join(sched_go(keep_own_value, &key));
        CHECK_EQ(w_load_acq(&n_destroyed), 1000);
}

TEST(values_do_not_survive_their_goroutine)
{
        new_keys();
        sched_run(main_reuse, NULL);
}

/* ---- Keys ------------------------------------------------------------------------------------ */

TEST(there_are_1024_keys_and_then_eagain)
{
        static weft_key keys[1024];
        weft_key        more;

        for (int i = 0; i < 1024; i++)
                CHECK_EQ(weft_key_new(&keys[i], NULL), 0);
        CHECK_EQ(weft_key_new(&more, NULL), -EAGAIN);
        weft_key_free(keys[500]);
        CHECK_EQ(weft_key_new(&more, NULL), 0);
        CHECK(more.id != keys[500].id);
        CHECK_EQ(weft_key_new(&more, NULL), -EAGAIN);
        for (int i = 0; i < 1024; i++)
                weft_key_free(keys[i]);
        CHECK_EQ(weft_key_new(NULL, NULL), -EINVAL);
}

static void main_freed_key(void *arg)
{
        weft_key fresh;

        (void)arg;
        CHECK_EQ(weft_local_set(key, &key), 0);
        weft_key_free(key);
        CHECK_EQ(weft_local_set(key, &key), -EINVAL);
        CHECK_EQ(weft_key_new(&fresh, destroy), 0);     /* the same slot, another generation */
        CHECK(weft_local_get(fresh) == NULL);
        CHECK_EQ(weft_local_set(fresh, &fresh), 0);
        CHECK(weft_local_get(fresh) == &fresh);
        CHECK(weft_local_get(key) != &fresh);
        weft_key_free(key);                             /* a second time: nothing */
        CHECK(weft_local_get(fresh) == &fresh);
        weft_key_free(fresh);
}

TEST(a_freed_key_has_no_values)
{
        new_keys();
        sched_run(main_freed_key, NULL);
        CHECK_EQ(w_load_acq(&n_destroyed), 0);          /* no destructor of a freed key runs */
}

static void main_unknown_keys(void *arg)
{
        (void)arg;
        for (unsigned id = 2; id < 100000; id = id * 3 + 1) {
                CHECK_EQ(weft_local_set((weft_key){ id }, &key), -EINVAL);
                CHECK(weft_local_get((weft_key){ id }) == NULL);
        }
        CHECK_EQ(weft_local_set((weft_key){ ~0u }, &key), -EINVAL);
        CHECK(weft_local_get((weft_key){ ~0u }) == NULL);
}

TEST(unknown_keys_are_refused)
{
        new_keys();
        sched_run(main_unknown_keys, NULL);
}

static void *set_on_thread(void *arg)
{
        CHECK_EQ(weft_local_set(key, arg), -EPERM);
        CHECK(weft_local_get(key) == NULL);
        return NULL;
}

static void main_plain_thread(void *arg)
{
        pthread_t thread;

        CHECK(pthread_create(&thread, NULL, set_on_thread, arg) == 0);
        CHECK(pthread_join(thread, NULL) == 0);
}

TEST(plain_threads_have_no_values)
{
        new_keys();
        set_on_thread(&key);
        sched_run(main_plain_thread, &key);
}

/* ---- Destructors that do things -------------------------------------------------------------- */

static w_atomic_u32 n_rounds;

static void set_again(void *value)
{
        w_add_acqrel(&n_rounds, 1);
        CHECK_EQ(weft_local_set(other, value), 0);
}

static void yield_in_destructor(void *value)
{
        (void)value;
        for (int i = 0; i < 10; i++)
                weft_yield();
        w_add_acqrel(&n_destroyed, 1);
}

static void set_other(void *arg)
{
        CHECK_EQ(weft_local_set(other, arg), 0);
}

static void main_stubborn(void *arg)
{
        sched_join(sched_go(set_other, arg));
        CHECK_EQ(w_load_acq(&n_rounds), 4);
}

TEST(a_destructor_that_sets_again_ends_after_some_rounds)
{
        CHECK_EQ(weft_key_new(&other, set_again), 0);
        sched_run(main_stubborn, &key);
}

static void main_yielding(void *arg)
{
        int64_t ids[10];

        for (int i = 0; i < 10; i++)
                ids[i] = sched_go(set_other, arg);
        for (int i = 0; i < 10; i++)
                sched_join(ids[i]);
        CHECK_EQ(w_load_acq(&n_destroyed), 10);
}

TEST(a_destructor_may_switch)
{
        CHECK_EQ(weft_key_new(&other, yield_in_destructor), 0);
        sched_run(main_yielding, &key);
}

/* ---- Goroutines that are dropped ------------------------------------------------------------- */

static w_atomic_u32 n_set;

static void set_and_park(void *arg)
{
        CHECK_EQ(weft_local_set(key, arg), 0);
        w_add_acqrel(&n_set, 1);
        weft_park();
}

static void main_drops(void *arg)
{
        for (int i = 0; i < 10; i++)
                sched_go(set_and_park, arg);
        sched_await(&n_set, 10);
}

/* Their destructors do not run, for they would be user code after the end; memory is freed. */
TEST(dropped_goroutines_leave_no_memory)
{
        new_keys();
        sched_run(main_drops, &key);
        CHECK_EQ(w_load_acq(&n_destroyed), 0);
}
