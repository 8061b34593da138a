/* tests/unit/test_stack.c - size classes, reservations, order of reuse, caches.
 *
 * SPDX-License-Identifier: MIT
 */
#include "stack/stack.h"

#include "harness/test.h"
#include "os/os.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

static struct stack_pool pool;
static char              owner;

static const size_t KIB = 1024;
static const size_t MIB = 1024 * 1024;

static void start(size_t slab_size)
{
        struct stack_config config = { .slab_size = slab_size };

        CHECK_EQ(w_stack_pool_init(&pool, &config), 0);
}

static void end(void)
{
        w_stack_pool_destroy(&pool, W_STACK_ALL_UNBOUND);
}

static struct stack *bind(struct stack_cache *cache, size_t size)
{
        return w_stack_bind(&pool, cache, size, &owner);
}

static size_t guard_size(void)
{
        return pool.guard_size;
}

static size_t usable(const struct stack *stack)
{
        return (size_t)(stack->end - stack->low);
}

/* The slot that a size must get: on x86-64 the guard is part of the power of two. */
static size_t expected_usable(size_t power)
{
#if defined(__x86_64__)
        return power - guard_size();
#else
        return power;
#endif
}

/* ---- Sizes ----------------------------------------------------------------------------------- */

static void check_size(size_t asked, size_t power)
{
        CHECK_EQ(w_stack_reserve_many(&pool, asked, 1), 0);
        struct stack *stack = bind(NULL, asked);

        CHECK_EQ(usable(stack), expected_usable(power));
        CHECK_EQ(w_load_rlx(&stack->asked), asked);
        CHECK_EQ((uintptr_t)stack->low % w_os_page_size(), 0);
        stack->top[-1] = stack->low[0] = 1;
        w_stack_unbind(&pool, NULL, stack);
        w_stack_unreserve_many(&pool, asked, 1);
}

TEST(size_gets_the_next_power_of_two)
{
        start(0);
        for (size_t power = W_STACK_MIN; power <= W_STACK_MAX; power *= 2) {
                check_size(power, power);
                if (power < W_STACK_MAX)
                        check_size(power + 1, 2 * power);
                if (power > W_STACK_MIN)
                        check_size(power - 1, power);
        }
        end();
}

TEST(size_out_of_range_is_refused_and_changes_nothing)
{
        struct stack_cache cache;

        start(0);
        const size_t wrong[] = { 0, 1, W_STACK_MIN - 1, W_STACK_MAX + 1, SIZE_MAX };
        for (size_t i = 0; i < W_ARRAY_LEN(wrong); i++) {
                CHECK_EQ(w_stack_reserve_many(&pool, wrong[i], 1), -EINVAL);
                CHECK_EQ(w_stack_reserve(&pool, NULL, wrong[i]), -EINVAL);
                CHECK_EQ(w_stack_cache_init(&cache, &pool, wrong[i]), -EINVAL);
        }
        CHECK_EQ(w_stack_stats(&pool, W_STACK_MIN).n_slabs, 0);
        end();
}

TEST(config_out_of_range_is_refused)
{
        struct stack_config big = { .slab_size = SIZE_MAX };
        struct stack_config odd = { .guards = (enum stack_guard_policy)3 };
        struct stack_config late = { .period_ns = -1 };

        CHECK_EQ(w_stack_pool_init(&pool, &big), -EINVAL);
        CHECK_EQ(w_stack_pool_init(&pool, &odd), -EINVAL);
        CHECK_EQ(w_stack_pool_init(&pool, &late), -EINVAL);
}

TEST(guard_is_what_the_architecture_needs)
{
        start(0);
#if defined(__x86_64__)
        CHECK_EQ(guard_size(), 4 * KIB);
#else
        CHECK_EQ(guard_size(), 64 * KIB);
#endif
        end();
}

TEST(tops_are_staggered_inside_the_page)
{
        enum { N = 60 };
        struct stack *stacks[N];

        start(0);
        CHECK_EQ(w_stack_reserve_many(&pool, W_STACK_DEFAULT, N), 0);
        for (size_t i = 0; i < N; i++) {
                stacks[i] = bind(NULL, W_STACK_DEFAULT);
                CHECK_EQ(stacks[i]->end - stacks[i]->top, 64 * (i * 7 % 24));
                CHECK_EQ((uintptr_t)stacks[i]->top % 64, 0);
        }
        for (size_t i = 0; i < N; i++)
                w_stack_unbind(&pool, NULL, stacks[i]);
        w_stack_unreserve_many(&pool, W_STACK_DEFAULT, N);
        end();
}

TEST(slots_do_not_overlap)
{
        enum { N = 100 };
        struct stack *stacks[N];

        start(1 * MIB);
        CHECK_EQ(w_stack_reserve_many(&pool, 20 * KIB, N), 0);
        for (size_t i = 0; i < N; i++) {
                stacks[i] = bind(NULL, 20 * KIB);
                memset(stacks[i]->low, (int)i + 1, usable(stacks[i]));
        }
        for (size_t i = 0; i < N; i++) {
                for (char *p = stacks[i]->low; p < stacks[i]->end; p += 64)
                        CHECK_EQ(*p, (char)(i + 1));
                w_stack_unbind(&pool, NULL, stacks[i]);
        }
        w_stack_unreserve_many(&pool, 20 * KIB, N);
        end();
}

/* ---- Reservations ---------------------------------------------------------------------------- */

TEST(reserve_counts_and_maps_only_when_needed)
{
        start(1 * MIB);
        CHECK_EQ(w_stack_reserve_many(&pool, W_STACK_DEFAULT, 1), 0);
        uint64_t per_slab = w_stack_stats(&pool, W_STACK_DEFAULT).n_slots;

        CHECK_EQ(per_slab, 1 * MIB / (expected_usable(W_STACK_DEFAULT) + guard_size()));
        CHECK_EQ(w_stack_reserve_many(&pool, W_STACK_DEFAULT, per_slab - 1), 0);
        CHECK_EQ(w_stack_stats(&pool, W_STACK_DEFAULT).n_slabs, 1);
        CHECK_EQ(w_stack_reserve_many(&pool, W_STACK_DEFAULT, 1), 0);
        CHECK_EQ(w_stack_stats(&pool, W_STACK_DEFAULT).n_slabs, 2);
        CHECK_EQ(w_stack_stats(&pool, W_STACK_DEFAULT).n_reserved, per_slab + 1);
        w_stack_unreserve_many(&pool, W_STACK_DEFAULT, per_slab + 1);
        CHECK_EQ(w_stack_stats(&pool, W_STACK_DEFAULT).n_reserved, 0);
        CHECK_EQ(w_stack_reserve_many(&pool, W_STACK_DEFAULT, 2 * per_slab), 0);
        CHECK_EQ(w_stack_stats(&pool, W_STACK_DEFAULT).n_slabs, 2);
        w_stack_unreserve_many(&pool, W_STACK_DEFAULT, 2 * per_slab);
        end();
}

TEST(reserve_of_nothing_succeeds)
{
        start(0);
        CHECK_EQ(w_stack_reserve_many(&pool, W_STACK_DEFAULT, 0), 0);
        CHECK_EQ(w_stack_stats(&pool, W_STACK_DEFAULT).n_slabs, 0);
        end();
}

TEST(reserve_of_impossible_counts_fails_and_changes_nothing)
{
        const uint64_t wrong[] = { UINT64_MAX, UINT64_MAX - 5, UINT64_MAX / 2, (uint64_t)1 << 48,
                                   (uint64_t)1 << 32 };

        start(0);
        CHECK_EQ(w_stack_reserve_many(&pool, W_STACK_DEFAULT, 7), 0);
        struct stack_stats before = w_stack_stats(&pool, W_STACK_DEFAULT);
        struct test_resources resources = test_resources_now();

        for (size_t i = 0; i < W_ARRAY_LEN(wrong); i++) {
                CHECK_EQ(w_stack_reserve_many(&pool, W_STACK_DEFAULT, wrong[i]), -ENOMEM);
                struct stack_stats after = w_stack_stats(&pool, W_STACK_DEFAULT);

                CHECK(memcmp(&before, &after, sizeof(before)) == 0);
        }
        test_check_no_leak(&resources);
        w_stack_unreserve_many(&pool, W_STACK_DEFAULT, 7);
        end();
}

TEST(slab_smaller_than_a_slot_holds_one)
{
        start(1);
        CHECK_EQ(w_stack_reserve_many(&pool, 1 * MIB, 1), 0);
        CHECK_EQ(w_stack_stats(&pool, 1 * MIB).n_slots, 1);
        CHECK_EQ(w_stack_reserve_many(&pool, 1 * MIB, 3), 0);
        CHECK_EQ(w_stack_stats(&pool, 1 * MIB).n_slots, 4);
        w_stack_unreserve_many(&pool, 1 * MIB, 4);
        end();
}

static void unreserve_too_many(void *arg)
{
        (void)arg;
        start(0);
        CHECK_EQ(w_stack_reserve_many(&pool, W_STACK_DEFAULT, 2), 0);
        w_stack_unreserve_many(&pool, W_STACK_DEFAULT, 3);
}

static void bind_without_reservation(void *arg)
{
        (void)arg;
        start(0);
        CHECK_EQ(w_stack_reserve_many(&pool, W_STACK_DEFAULT, 1), 0);
        bind(NULL, W_STACK_DEFAULT);
        bind(NULL, W_STACK_DEFAULT);
}

static void bind_in_empty_class(void *arg)
{
        (void)arg;
        start(0);
        bind(NULL, W_STACK_DEFAULT);
}

static void unreserve_while_bound(void *arg)
{
        (void)arg;
        start(0);
        CHECK_EQ(w_stack_reserve_many(&pool, W_STACK_DEFAULT, 1), 0);
        bind(NULL, W_STACK_DEFAULT);
        w_stack_unreserve_many(&pool, W_STACK_DEFAULT, 1);
}

static void unbind_twice(void *arg)
{
        (void)arg;
        start(0);
        CHECK_EQ(w_stack_reserve_many(&pool, W_STACK_DEFAULT, 1), 0);
        struct stack *stack = bind(NULL, W_STACK_DEFAULT);

        w_stack_unbind(&pool, NULL, stack);
        w_stack_unbind(&pool, NULL, stack);
}

static void destroy_while_bound(void *arg)
{
        (void)arg;
        start(0);
        CHECK_EQ(w_stack_reserve_many(&pool, W_STACK_DEFAULT, 1), 0);
        bind(NULL, W_STACK_DEFAULT);
        end();
}

static void destroy_with_cache(void *arg)
{
        struct stack_cache cache;

        (void)arg;
        start(0);
        CHECK_EQ(w_stack_cache_init(&cache, &pool, W_STACK_DEFAULT), 0);
        end();
}

TEST(misuse_is_fatal)
{
        test_expect_death(unreserve_too_many, NULL, SIGABRT, "3 stacks unreserved, 2 reserved");
        test_expect_death(bind_without_reservation, NULL, SIGABRT,
                          "2 stacks in use, 1 reserved: one was bound without a reservation");
        test_expect_death(bind_in_empty_class, NULL, SIGABRT, "0 free stacks, 1 wanted");
        test_expect_death(unreserve_while_bound, NULL, SIGABRT, "1 stacks in use, 0 reserved");
        test_expect_death(unbind_twice, NULL, SIGABRT, "stack unbound twice");
        test_expect_death(destroy_while_bound, NULL, SIGABRT,
                          "stack pool ends with 1 stacks of 64 KiB bound");
        test_expect_death(destroy_with_cache, NULL, SIGABRT, "stack pool ends with 1 caches");
}

/* ---- Order of reuse -------------------------------------------------------------------------- */

TEST(bind_takes_the_most_recently_used)
{
        enum { N = 10 };
        struct stack *stacks[N];

        start(0);
        CHECK_EQ(w_stack_reserve_many(&pool, W_STACK_DEFAULT, N), 0);
        for (int i = 0; i < N; i++)
                stacks[i] = bind(NULL, W_STACK_DEFAULT);
        for (int i = 0; i < N; i++)
                w_stack_unbind(&pool, NULL, stacks[i]);
        for (int i = N; i-- > 0;)
                CHECK(bind(NULL, W_STACK_DEFAULT) == stacks[i]);
        for (int i = 0; i < N; i++)
                w_stack_unbind(&pool, NULL, stacks[i]);
        w_stack_unreserve_many(&pool, W_STACK_DEFAULT, N);
        end();
}

TEST(classes_do_not_mix)
{
        start(0);
        CHECK_EQ(w_stack_reserve_many(&pool, 16 * KIB, 1), 0);
        CHECK_EQ(w_stack_reserve_many(&pool, 32 * KIB, 1), 0);
        struct stack *small = bind(NULL, 16 * KIB);

        w_stack_unbind(&pool, NULL, small);
        struct stack *large = bind(NULL, 32 * KIB);

        CHECK(large != small);
        CHECK_EQ(usable(large), expected_usable(32 * KIB));
        CHECK(bind(NULL, 15 * KIB + 1024) == small);
        w_stack_unbind(&pool, NULL, small);
        w_stack_unbind(&pool, NULL, large);
        w_stack_unreserve_many(&pool, 16 * KIB, 1);
        w_stack_unreserve_many(&pool, 32 * KIB, 1);
        end();
}

/* ---- The end --------------------------------------------------------------------------------- */

TEST(destroy_leaves_no_mapping)
{
        struct test_resources before = test_resources_now();

        start(1 * MIB);
        CHECK_EQ(w_stack_reserve_many(&pool, W_STACK_DEFAULT, 1000), 0);
        CHECK_EQ(w_stack_reserve_many(&pool, 1 * MIB, 100), 0);
        struct stack *stack = bind(NULL, 1 * MIB);

        stack->low[0] = 1;
        w_stack_unbind(&pool, NULL, stack);
        end();
        test_check_no_leak(&before);
}

TEST(destroy_may_abandon_bound_stacks)
{
        struct test_resources before = test_resources_now();

        start(0);
        CHECK_EQ(w_stack_reserve_many(&pool, W_STACK_DEFAULT, 2), 0);
        bind(NULL, W_STACK_DEFAULT)->low[0] = 1;
        w_stack_pool_destroy(&pool, W_STACK_ABANDON);
        test_check_no_leak(&before);
}
