/* tests/unit/test_lock.c - the runtime's mutex, and the check of the lock order.
 *
 * SPDX-License-Identifier: MIT
 */
#include "harness/test.h"

#include "base/lock.h"
#include "base/thread.h"
#include "os/os.h"

enum { STACK = 64 << 10, THREADS = 3, ROUNDS = 2000 };

static struct lock outer = W_LOCK_INIT(test_outer), inner = W_LOCK_INIT(test_inner),
                   chain1 = W_LOCK_INIT(test_chain), chain2 = W_LOCK_INIT(test_chain);
static struct thread self;
static int           counter;

/* A death test must not wait for ever when the expected death does not happen. */
static void die_by(void (*fn)(void *), const char *text)
{
        w_self_set(&self);
        test_expect_death(fn, NULL, 6, text);
}

TEST(lock_counts_what_is_held)
{
        w_self_set(&self);
        w_lock(&outer);
        CHECK_EQ(self.n_held, 1);
        w_lock(&inner);
        CHECK_EQ(self.n_held, 2);
        CHECK(w_lock_held(W_LOCK_test_inner));
        w_unlock(&outer);
        w_unlock(&inner);
        CHECK_EQ(self.n_held, 0);
}

TEST(lock_works_on_a_thread_that_weft_has_not_met)
{
        w_lock(&outer);
        CHECK(!w_lock_try(&outer));
        w_unlock(&outer);
}

TEST(lock_try_takes_a_free_lock_only)
{
        w_self_set(&self);
        CHECK(w_lock_try(&chain1));
        CHECK(!w_lock_try(&chain1));
        CHECK_EQ(self.n_held, 1);
        w_unlock(&chain1);
        CHECK(w_lock_try(&chain1));
        w_unlock(&chain1);
        CHECK_EQ(self.n_held, 0);
}

static void unlock_free(void *arg)
{
        (void)arg;
        w_self_set(NULL);
        w_unlock(&outer);
}

TEST(lock_unlock_of_a_free_lock_is_fatal)
{
        die_by(unlock_free, "unlock of a free runtime lock");
}

/* The following is checked in debug builds only. */
static void need_debug(void)
{
#if !defined(W_DEBUG)
        test_skip("the table of locks is checked in debug builds only");
#endif
}

TEST(lock_of_a_class_that_names_itself_nests)
{
        need_debug();
        w_self_set(&self);
        w_lock(&chain1);
        w_lock(&chain2);
        w_unlock(&chain1);
        CHECK(w_lock_held(W_LOCK_test_chain));
        w_unlock(&chain2);
        CHECK(!w_lock_held(W_LOCK_test_chain));
}

static void take_in_wrong_order(void *arg)
{
        (void)arg;
        w_lock(&inner);
        w_lock(&outer);
}

TEST(lock_in_wrong_order_is_fatal)
{
        need_debug();
        die_by(take_in_wrong_order, "lock test_outer taken while holding test_inner");
}

static void try_in_wrong_order(void *arg)
{
        (void)arg;
        w_lock(&inner);
        (void)w_lock_try(&outer);
}

TEST(lock_try_in_wrong_order_is_fatal)
{
        need_debug();
        die_by(try_in_wrong_order, "lock test_outer taken while holding test_inner");
}

static void release_foreign(void *arg)
{
        (void)arg;
        outer.word.raw = 1;     /* as if another thread held it */
        w_unlock(&outer);
}

TEST(lock_released_by_another_is_fatal)
{
        need_debug();
        die_by(release_foreign, "lock test_outer released by a thread that does not hold it");
}

static void count(void *arg)
{
        struct thread mine = { .id = (uint32_t)(uintptr_t)arg };

        w_self_set(&mine);
        for (int i = 0; i < ROUNDS; i++) {
                w_lock(&outer);
                counter++;
                w_unlock(&outer);
        }
        CHECK_EQ(mine.n_held, 0);
        w_self_set(NULL);
}

TEST(lock_excludes)
{
        struct w_os_thread threads[THREADS];

        for (uintptr_t i = 0; i < THREADS; i++)
                CHECK_EQ(w_os_thread_start(&threads[i], "count", STACK, count, (void *)(i + 1)),
                         0);
        for (int i = 0; i < THREADS; i++)
                w_os_thread_join(&threads[i]);
        CHECK_EQ(counter, THREADS * ROUNDS);
        CHECK_EQ(outer.word.raw, 0);
}

static void hold_a_while(void *arg)
{
        (void)arg;
        w_lock(&outer);
        counter = 1;
        w_os_sleep_until(w_os_now() + 10000000);
        counter = 2;
        w_unlock(&outer);
}

/* The waiter sleeps in the kernel, not in its spin loop: 10 ms are far longer than that. */
TEST(lock_wakes_its_sleepers)
{
        struct w_os_thread holder;
        int                seen = 0;

        CHECK_EQ(w_os_thread_start(&holder, "holder", STACK, hold_a_while, NULL), 0);
        while (seen == 0) {
                w_lock(&outer);
                seen = counter;
                w_unlock(&outer);
        }
        CHECK_EQ(seen, 2);
        w_os_thread_join(&holder);
}
