/* tests/unit/test_stack_trim.c - the watermark, and the high-water mark.
 *
 * SPDX-License-Identifier: MIT
 */
#include "stack/stack.h"

#include "harness/test.h"
#include "os/inject.h"
#include "os/os.h"

#include <errno.h>
#include <string.h>

enum { N = 200, KEEP = 10 };

static const int64_t PERIOD = INT64_C(3600000000000);   /* only the test's own clock ends it */

static struct stack_pool pool;
static struct stack     *stacks[N];
static char              owner;

static void start(void)
{
        struct stack_config config = { .keep = KEEP, .period_ns = PERIOD };

        CHECK_EQ(w_stack_pool_init(&pool, &config), 0);
        CHECK_EQ(w_stack_reserve_many(&pool, W_STACK_DEFAULT, N), 0);
}

static void end(void)
{
        w_stack_unreserve_many(&pool, W_STACK_DEFAULT,
                               w_stack_stats(&pool, W_STACK_DEFAULT).n_reserved);
        w_stack_pool_destroy(&pool, W_STACK_ALL_UNBOUND);
}

static struct stack_stats stats(void)
{
        return w_stack_stats(&pool, W_STACK_DEFAULT);
}

static void bind_all(void)
{
        for (int i = 0; i < N; i++) {
                stacks[i] = w_stack_bind(&pool, NULL, W_STACK_DEFAULT, &owner);
                stacks[i]->top[-1] = 1;
        }
}

static void unbind_all(void)
{
        for (int i = 0; i < N; i++)
                w_stack_unbind(&pool, NULL, stacks[i]);
}

static bool is_resident(const struct stack *stack)
{
        size_t        page = w_os_page_size();
        unsigned char resident = 0;

        CHECK_EQ(w_os_vm_resident(stack->end - page, page, &resident), 0);
        return resident & 1;
}

static int count_resident(void)
{
        int n = 0;

        for (int i = 0; i < N; i++)
                n += is_resident(stacks[i]);
        return n;
}

/* Ends the period that is under way and the next one: what was the peak is forgotten. */
static uint64_t trim_after_two_periods(void)
{
        static int64_t ahead;

        ahead += 3 * PERIOD;
        return w_stack_trim(&pool, w_os_now() + ahead);
}

TEST(free_stacks_of_a_recent_peak_stay_warm)
{
        start();
        bind_all();
        unbind_all();
        CHECK_EQ(stats().n_discarded, 0);
        CHECK_EQ(w_stack_trim(&pool, w_os_now()), 0);
        CHECK_EQ(count_resident(), N);
        CHECK_EQ(w_stack_trim(&pool, w_os_now() + PERIOD + 1), 0);   /* the period before */
        CHECK_EQ(count_resident(), N);
        end();
}

TEST(free_stacks_of_an_old_peak_go_but_for_the_newest)
{
        start();
        bind_all();
        unbind_all();
        w_stack_unreserve_many(&pool, W_STACK_DEFAULT, N);
        CHECK_EQ(trim_after_two_periods(), N - KEEP);
        CHECK_EQ(stats().n_discarded, N - KEEP);
        CHECK_EQ(stats().n_warm, KEEP);
        CHECK_EQ(stats().n_cold, N - KEEP);
        for (int i = 0; i < N; i++)
                CHECK_EQ(is_resident(stacks[i]), i >= N - KEEP);
        CHECK_EQ(trim_after_two_periods(), 0);
        end();
}

TEST(stacks_in_use_are_not_touched)
{
        start();
        bind_all();
        for (int i = 0; i < N / 2; i++)
                w_stack_unbind(&pool, NULL, stacks[i]);
        w_stack_unreserve_many(&pool, W_STACK_DEFAULT, N / 2);
        CHECK_EQ(trim_after_two_periods(), N / 2 - KEEP);
        for (int i = N / 2; i < N; i++) {
                CHECK_EQ(stacks[i]->top[-1], 1);
                w_stack_unbind(&pool, NULL, stacks[i]);
        }
        end();
}

TEST(free_stacks_that_are_reserved_stay_warm)
{
        start();
        CHECK_EQ(w_stack_reserve_many(&pool, W_STACK_DEFAULT, stats().n_slots - N), 0);
        bind_all();
        unbind_all();
        CHECK_EQ(trim_after_two_periods(), 0);
        CHECK_EQ(count_resident(), N);
        w_stack_unreserve_many(&pool, W_STACK_DEFAULT, 50);
        CHECK(trim_after_two_periods() > 0);
        end();
}

TEST(large_free_stacks_do_not_stay)
{
        size_t sizes[] = { W_STACK_MAX / 4, (size_t)4 << 20 };
        uint64_t warm[] = { 0, 3 };     /* the guard counts: on aarch64 a fourth does not fit */

        start();
        for (size_t k = 0; k < W_ARRAY_LEN(sizes); k++) {
                CHECK_EQ(w_stack_reserve_many(&pool, sizes[k], 8), 0);
                for (int i = 0; i < 8; i++) {
                        stacks[i] = w_stack_bind(&pool, NULL, sizes[k], &owner);
                        stacks[i]->top[-1] = 1;
                }
                for (int i = 0; i < 8; i++)
                        w_stack_unbind(&pool, NULL, stacks[i]);
                w_stack_unreserve_many(&pool, sizes[k], 8);
                trim_after_two_periods();
                uint64_t n_warm = w_stack_stats(&pool, sizes[k]).n_warm;

                CHECK(n_warm >= warm[k] && n_warm <= warm[k] + (warm[k] > 0));
        }
        end();
}

TEST(warm_slots_are_bound_before_cold_ones)
{
        start();
        bind_all();
        unbind_all();
        CHECK_EQ(trim_after_two_periods(), N - KEEP);
        for (int i = 0; i < N; i++) {
                struct stack *stack = w_stack_bind(&pool, NULL, W_STACK_DEFAULT, &owner);

                CHECK_EQ(is_resident(stack), i < KEEP);
        }
        CHECK_EQ(stats().n_fresh, stats().n_slots - N);
        unbind_all();
        end();
}

TEST(returning_stacks_trims_in_passing)
{
        struct stack_config config = { .keep = KEEP, .period_ns = 1 };

        CHECK_EQ(w_stack_pool_init(&pool, &config), 0);
        CHECK_EQ(w_stack_reserve_many(&pool, W_STACK_DEFAULT, N), 0);
        bind_all();
        unbind_all();
        CHECK(stats().n_discarded >= N - 3 * KEEP);
        CHECK(count_resident() <= 3 * KEEP);
        end();
}

#if defined(W_DEBUG)
TEST(refused_discard_costs_memory_only)
{
        start();
        bind_all();
        unbind_all();
        w_inject_from(W_CALL_MADVISE, 1, ENOMEM);
        CHECK_EQ(trim_after_two_periods(), N - KEEP);
        w_inject_off();
        CHECK_EQ(stats().n_discarded, 0);
        CHECK_EQ(stats().n_cold, N - KEEP);
        CHECK_EQ(count_resident(), N);
        bind_all();
        unbind_all();
        end();
}
#else
TEST(refused_discard_costs_memory_only)
{
        test_skip("only debug builds can refuse calls");
}

#endif

/* ---- High-water marks ------------------------------------------------------------------------ */

static struct stack *bind_one(size_t size)
{
        CHECK_EQ(w_stack_pool_init(&pool, NULL), 0);
        CHECK_EQ(w_stack_reserve_many(&pool, size, 1), 0);
        return w_stack_bind(&pool, NULL, size, &owner);
}

static void unbind_one(struct stack *stack, size_t size)
{
        w_stack_unbind(&pool, NULL, stack);
        w_stack_unreserve_many(&pool, size, 1);
        w_stack_pool_destroy(&pool, W_STACK_ALL_UNBOUND);
}

TEST(high_water_is_exact_to_the_word)
{
        size_t depths[] = { 8, 64, 4096, 5000, 20480, 61000 };
        struct stack *stack = bind_one(2 * W_STACK_DEFAULT);

        CHECK_EQ(w_stack_high_water(stack), 0);
        for (size_t i = 0; i < W_ARRAY_LEN(depths); i++) {
                stack->top[-(ptrdiff_t)depths[i]] = 1;
                CHECK_EQ(w_stack_high_water(stack), (depths[i] + 7) / 8 * 8);
        }
        stack->low[0] = 1;
        CHECK_EQ(w_stack_high_water(stack), stack->top - stack->low);
        unbind_one(stack, 2 * W_STACK_DEFAULT);
}

TEST(high_water_commits_no_page)
{
        size_t page = w_os_page_size(), size = (size_t)4 << 20;
        struct stack *stack = bind_one(size);
        unsigned char resident;

        stack->top[-1] = 1;
        stack->low[3 * (ptrdiff_t)page] = 1;
        CHECK_EQ(w_stack_high_water(stack), stack->top - stack->low - 3 * (ptrdiff_t)page);
        for (char *p = stack->low + 4 * page; p < stack->end - page; p += page) {
                CHECK_EQ(w_os_vm_resident(p, page, &resident), 0);
                CHECK_EQ(resident & 1, 0);
        }
        unbind_one(stack, size);
}

#if defined(W_DEBUG)

TEST(high_water_of_a_class_is_its_deepest_and_each_use_is_measured_anew)
{
        struct stack *stack = bind_one(W_STACK_DEFAULT);

        stack->top[-10000] = 1;
        CHECK_EQ(stats().high_water, 0);
        w_stack_unbind(&pool, NULL, stack);
        CHECK_EQ(stats().high_water, 10000);
        CHECK(w_stack_bind(&pool, NULL, W_STACK_DEFAULT, &owner) == stack);
        CHECK_EQ(w_stack_high_water(stack), 0);
        stack->top[-200] = 1;
        CHECK_EQ(w_stack_high_water(stack), 200);
        w_stack_unbind(&pool, NULL, stack);
        CHECK_EQ(stats().high_water, 10000);
        CHECK_EQ(w_stack_stats(&pool, 2 * W_STACK_DEFAULT).high_water, 0);
        stack = w_stack_bind(&pool, NULL, W_STACK_DEFAULT, &owner);
        unbind_one(stack, W_STACK_DEFAULT);
}

TEST(high_water_without_a_view_of_residency_searches_everywhere)
{
        struct stack *stack = bind_one(W_STACK_DEFAULT);

        stack->top[-30000] = 1;
        w_inject_from(W_CALL_MINCORE, 1, ENOMEM);
        CHECK_EQ(w_stack_high_water(stack), 30000);
        w_inject_off();
        unbind_one(stack, W_STACK_DEFAULT);
}

#else

static const char no_marks[] = "only debug builds measure at every unbind";

TEST(high_water_of_a_class_is_its_deepest_and_each_use_is_measured_anew)
{
        test_skip(no_marks);
}

TEST(high_water_without_a_view_of_residency_searches_everywhere)
{
        test_skip(no_marks);
}

#endif
