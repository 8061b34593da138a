/* tests/unit/test_stack_cache.c - what moves between a cache and the pool, and when.
 *
 * SPDX-License-Identifier: MIT
 */
#include "stack/stack.h"

#include "harness/test.h"
#include "os/inject.h"

#include <errno.h>
#include <string.h>

enum { CAP = W_STACK_CACHE_CAP, BATCH = W_STACK_BATCH };

static struct stack_pool  pool;
static struct stack_cache cache, other;
static char               owner;

/* Room for the caches and what the test reserves, not a slot more: a broken promise shows. */
static void start(size_t n_slots)
{
        struct stack_config config = { .slab_size = 1 };

        CHECK_EQ(w_stack_pool_init(&pool, &config), 0);
        CHECK_EQ(w_stack_reserve_many(&pool, W_STACK_DEFAULT, n_slots), 0);
        w_stack_unreserve_many(&pool, W_STACK_DEFAULT, n_slots);
}

static struct stack *bind(struct stack_cache *c)
{
        return w_stack_bind(&pool, c, W_STACK_DEFAULT, &owner);
}

static struct stack_stats stats(void)
{
        return w_stack_stats(&pool, W_STACK_DEFAULT);
}

TEST(cache_is_reserved_from_init_to_release)
{
        start(CAP);
        CHECK_EQ(w_stack_cache_init(&cache, &pool, W_STACK_DEFAULT), 0);
        CHECK_EQ(stats().n_reserved, CAP);
        CHECK_EQ(stats().n_slots, CAP);
        w_stack_cache_release(&cache);
        CHECK_EQ(stats().n_reserved, 0);
        w_stack_pool_destroy(&pool, W_STACK_ALL_UNBOUND);
}

TEST(cache_is_last_in_first_out)
{
        enum { N = 20 };
        struct stack *stacks[N];

        start(CAP + N);
        CHECK_EQ(w_stack_cache_init(&cache, &pool, W_STACK_DEFAULT), 0);
        CHECK_EQ(w_stack_reserve_many(&pool, W_STACK_DEFAULT, N), 0);
        for (int i = 0; i < N; i++)
                stacks[i] = bind(&cache);
        for (int i = 0; i < N; i++)
                w_stack_unbind(&pool, &cache, stacks[i]);
        for (int i = N; i-- > 0;)
                CHECK(bind(&cache) == stacks[i]);
        for (int i = 0; i < N; i++)
                w_stack_unbind(&pool, &cache, stacks[i]);
        w_stack_cache_release(&cache);
        w_stack_unreserve_many(&pool, W_STACK_DEFAULT, N);
        w_stack_pool_destroy(&pool, W_STACK_ALL_UNBOUND);
}

TEST(empty_cache_takes_half)
{
        start(CAP + 1);
        CHECK_EQ(w_stack_cache_init(&cache, &pool, W_STACK_DEFAULT), 0);
        CHECK_EQ(w_stack_reserve_many(&pool, W_STACK_DEFAULT, 1), 0);
        struct stack *stack = bind(&cache);

        CHECK_EQ(cache.n, BATCH - 1);
        CHECK_EQ(stats().n_in_use, BATCH);
        w_stack_unbind(&pool, &cache, stack);
        CHECK_EQ(cache.n, BATCH);
        w_stack_cache_release(&cache);
        CHECK_EQ(stats().n_in_use, 0);
        w_stack_unreserve_many(&pool, W_STACK_DEFAULT, 1);
        w_stack_pool_destroy(&pool, W_STACK_ALL_UNBOUND);
}

/* The older half goes, and comes back in the same order. */
TEST(full_cache_gives_its_older_half)
{
        struct stack *stacks[CAP + 1];

        start(2 * CAP + 1);
        CHECK_EQ(w_stack_cache_init(&cache, &pool, W_STACK_DEFAULT), 0);
        CHECK_EQ(w_stack_reserve_many(&pool, W_STACK_DEFAULT, CAP + 1), 0);
        for (int i = 0; i < CAP; i++)           /* two whole batches */
                stacks[i] = bind(&cache);
        stacks[CAP] = bind(NULL);
        CHECK_EQ(cache.n, 0);
        for (int i = 0; i < CAP; i++)
                w_stack_unbind(&pool, &cache, stacks[i]);
        CHECK_EQ(cache.n, CAP);
        CHECK_EQ(stats().n_warm, 0);
        w_stack_unbind(&pool, &cache, stacks[CAP]);
        CHECK_EQ(cache.n, CAP - BATCH + 1);
        CHECK_EQ(stats().n_warm, BATCH);
        for (int i = CAP + 1; i-- > 0;)
                CHECK(bind(&cache) == stacks[i]);
        for (int i = 0; i <= CAP; i++)
                w_stack_unbind(&pool, NULL, stacks[i]);
        w_stack_cache_release(&cache);
        w_stack_unreserve_many(&pool, W_STACK_DEFAULT, CAP + 1);
        w_stack_pool_destroy(&pool, W_STACK_ALL_UNBOUND);
}

TEST(other_class_bypasses_the_cache)
{
        size_t large = 4 * W_STACK_DEFAULT;

        start(CAP);
        CHECK_EQ(w_stack_cache_init(&cache, &pool, W_STACK_DEFAULT), 0);
        CHECK_EQ(w_stack_reserve(&pool, &cache, large), 0);
        struct stack *stack = w_stack_bind(&pool, &cache, large, &owner);

        CHECK_EQ(cache.n, 0);
        CHECK_EQ(cache.n_spare, 0);
        CHECK_EQ(w_stack_stats(&pool, large).n_in_use, 1);
        w_stack_unbind(&pool, &cache, stack);
        w_stack_unreserve(&pool, &cache, large);
        CHECK_EQ(cache.n, 0);
        CHECK_EQ(cache.n_spare, 0);
        CHECK_EQ(w_stack_stats(&pool, large).n_in_use, 0);
        CHECK_EQ(w_stack_stats(&pool, large).n_reserved, 0);
        w_stack_cache_release(&cache);
        w_stack_pool_destroy(&pool, W_STACK_ALL_UNBOUND);
}

TEST(reservations_move_in_halves)
{
        start(0);
        CHECK_EQ(w_stack_cache_init(&cache, &pool, W_STACK_DEFAULT), 0);
        CHECK_EQ(w_stack_reserve(&pool, &cache, W_STACK_DEFAULT), 0);
        CHECK_EQ(cache.n_spare, BATCH - 1);
        CHECK_EQ(stats().n_reserved, CAP + BATCH);
        for (int i = 1; i < 3 * CAP; i++)
                CHECK_EQ(w_stack_reserve(&pool, &cache, W_STACK_DEFAULT), 0);
        CHECK_EQ(stats().n_reserved, CAP + 3 * CAP + cache.n_spare);
        for (int i = 0; i < 3 * CAP; i++) {
                w_stack_unreserve(&pool, &cache, W_STACK_DEFAULT);
                CHECK(cache.n_spare <= CAP);
        }
        CHECK_EQ(stats().n_reserved, CAP + cache.n_spare);
        w_stack_cache_release(&cache);
        CHECK_EQ(stats().n_reserved, 0);
        w_stack_pool_destroy(&pool, W_STACK_ALL_UNBOUND);
}

/* One cache holds as many free slots as it may; a reservation of another thread still binds. */
TEST(a_full_cache_does_not_starve_another_cache)
{
        enum { N = 40 };
        struct stack *stacks[N];

        start(2 * CAP + N);
        CHECK_EQ(w_stack_cache_init(&cache, &pool, W_STACK_DEFAULT), 0);
        CHECK_EQ(w_stack_cache_init(&other, &pool, W_STACK_DEFAULT), 0);
        CHECK_EQ(w_stack_reserve_many(&pool, W_STACK_DEFAULT, N), 0);
        CHECK_EQ(stats().n_slots, 2 * CAP + N);
        for (int i = 0; i < N; i++)
                stacks[i] = bind(&cache);
        for (int i = 0; i < N; i++)
                w_stack_unbind(&pool, &cache, stacks[i]);
        for (int round = 0; round < 2; round++) {
                for (int i = 0; i < N; i++)
                        stacks[i] = bind(round ? NULL : &other);
                for (int i = 0; i < N; i++)
                        w_stack_unbind(&pool, &cache, stacks[i]);
        }
        CHECK_EQ(stats().n_slots, 2 * CAP + N);
        w_stack_cache_release(&cache);
        w_stack_cache_release(&other);
        w_stack_unreserve_many(&pool, W_STACK_DEFAULT, N);
        w_stack_pool_destroy(&pool, W_STACK_ALL_UNBOUND);
}

/* ---- Refusals (debug builds can ask for them) ------------------------------------------------ */

#if defined(W_DEBUG)

TEST(no_room_for_half_a_batch_still_reserves_one)
{
        start(CAP + 3);
        CHECK_EQ(w_stack_cache_init(&cache, &pool, W_STACK_DEFAULT), 0);
        w_inject_from(W_CALL_MMAP, 1, ENOMEM);
        for (int i = 0; i < 3; i++)
                CHECK_EQ(w_stack_reserve(&pool, &cache, W_STACK_DEFAULT), 0);
        struct stack_stats before = stats();

        CHECK_EQ(w_stack_reserve(&pool, &cache, W_STACK_DEFAULT), -ENOMEM);
        struct stack_stats after = stats();

        CHECK(memcmp(&before, &after, sizeof(before)) == 0);
        CHECK_EQ(cache.n_spare, 0);
        for (int i = 0; i < 3; i++)
                w_stack_unreserve(&pool, &cache, W_STACK_DEFAULT);
        w_inject_off();
        w_stack_cache_release(&cache);
        w_stack_pool_destroy(&pool, W_STACK_ALL_UNBOUND);
}

TEST(cache_init_without_memory_leaves_nothing)
{
        start(0);
        w_inject_from(W_CALL_MMAP, 1, ENOMEM);
        CHECK_EQ(w_stack_cache_init(&cache, &pool, W_STACK_DEFAULT), -ENOMEM);
        w_inject_off();
        CHECK_EQ(stats().n_reserved, 0);
        w_stack_pool_destroy(&pool, W_STACK_ALL_UNBOUND);
}

/* A refused slab is asked for again at half the size. */
TEST(refused_slab_is_halved)
{
        struct stack_config config = { .slab_size = 64 * W_STACK_DEFAULT };

        CHECK_EQ(w_stack_pool_init(&pool, &config), 0);
        CHECK_EQ(w_stack_reserve_many(&pool, W_STACK_DEFAULT, 1), 0);
        uint64_t whole = stats().n_slots;

        CHECK(whole >= 32);
        w_inject_once(W_CALL_MMAP, 1, ENOMEM);
        CHECK_EQ(w_stack_reserve_many(&pool, W_STACK_DEFAULT, whole), 0);
        CHECK_EQ(stats().n_slots, whole + whole / 2);
        /* Half of what is missing does not suffice, so there are two halves. */
        w_inject_once(W_CALL_MMAP, 1, ENOMEM);
        CHECK_EQ(w_stack_reserve_many(&pool, W_STACK_DEFAULT, 4 * whole + whole / 2 - 1), 0);
        CHECK_EQ(w_inject_calls(W_CALL_MMAP), 3);
        CHECK_EQ(stats().n_slots, whole + whole / 2 + 4 * whole);
        CHECK_EQ(stats().n_slabs, 4);
        w_inject_off();
        w_stack_unreserve_many(&pool, W_STACK_DEFAULT, stats().n_reserved);
        w_stack_pool_destroy(&pool, W_STACK_ALL_UNBOUND);
}

/* Whichever mmap or madvise is refused: all or nothing, and no mapping is leaked. */
TEST(reserve_with_the_kth_call_refused_is_all_or_nothing)
{
        static const enum w_os_call kinds[] = { W_CALL_MMAP, W_CALL_MADVISE };
        struct test_resources before = test_resources_now();

        for (uint32_t k = 1; k <= 20; k++) {
                start(0);
                w_inject_from(kinds[k % 2], k, ENOMEM);
                int rc = w_stack_reserve_many(&pool, W_STACK_DEFAULT, 20);
                CHECK(rc == 0 || rc == -ENOMEM);
                CHECK_EQ(stats().n_reserved, rc == 0 ? 20 : 0);
                CHECK_EQ(stats().n_slots >= 20, rc == 0);
                if (rc != 0)
                        CHECK_EQ(stats().n_slabs, 0);
                w_inject_off();
                if (rc == 0)
                        w_stack_unreserve_many(&pool, W_STACK_DEFAULT, 20);
                w_stack_pool_destroy(&pool, W_STACK_ALL_UNBOUND);
                test_check_no_leak(&before);
        }
}

#else

static const char no_injection[] = "only debug builds can refuse calls";

TEST(no_room_for_half_a_batch_still_reserves_one)
{
        test_skip(no_injection);
}

TEST(cache_init_without_memory_leaves_nothing)
{
        test_skip(no_injection);
}

TEST(refused_slab_is_halved)
{
        test_skip(no_injection);
}

TEST(reserve_with_the_kth_call_refused_is_all_or_nothing)
{
        test_skip(no_injection);
}

#endif
