/* tests/flow/stack/test_stack_scale.c - stacks by the million, and what they cost the process.
 *
 * Tools that shadow every byte get smaller numbers, and say so.
 *
 * SPDX-License-Identifier: MIT
 */
#include "stack/stack.h"

#include "base/rand.h"
#include "harness/test.h"
#include "os/os.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct stack_pool  pool;
static struct stack_cache cache;
static struct stack     **stacks;
static char               owner;

static bool under_tool(void)
{
        return test_scale(10) != 10;
}

/* Without light guards every stack costs two mappings, and the budget stops at some 14,000. */
static uint64_t bounded(uint64_t n)
{
        uint64_t most = !w_os_vm_has_light_guard() ? 5000 : under_tool() ? 10000 : n;

        if (most < n)
                printf("%" PRIu64 " in place of %" PRIu64 " stacks here\n", most, n);
        return most < n ? most : n;
}

static void start(void)
{
        CHECK_EQ(w_stack_pool_init(&pool, NULL), 0);
        CHECK_EQ(w_stack_cache_init(&cache, &pool, W_STACK_DEFAULT), 0);
}

static void end(void)
{
        w_stack_cache_release(&cache);
        w_stack_pool_destroy(&pool, W_STACK_ALL_UNBOUND);
}

static bool is_writable(char *addr)
{
        return syscall(SYS_getrandom, addr, 1, 4 /* GRND_INSECURE */) == 1;
}

/* "A handful": what the allocator, the cache and the slabs may add in all. Tools add theirs. */
static long handful(void)
{
        return under_tool() ? 100 : 8;
}

TEST(a_million_are_reserved_at_once)
{
        uint64_t n = bounded(1000000);
        struct test_resources before = test_resources_now();

        start();
        CHECK_EQ(w_stack_reserve_many(&pool, W_STACK_DEFAULT, n), 0);
        CHECK(test_resources_now().mappings <= before.mappings + handful());
        CHECK(w_stack_stats(&pool, W_STACK_DEFAULT).n_reserved >= n);
        w_stack_unreserve_many(&pool, W_STACK_DEFAULT, n);
        end();
        test_check_no_leak(&before);
}

/* As spawning does it: slab after slab. */
TEST(a_million_are_reserved_one_by_one)
{
        uint64_t n = bounded(1000000);
        struct test_resources before = test_resources_now();

        start();
        for (uint64_t i = 0; i < n; i++)
                CHECK_EQ(w_stack_reserve(&pool, &cache, W_STACK_DEFAULT), 0);
        long added = test_resources_now().mappings - before.mappings;

        printf("%" PRIu64 " slabs, %ld mappings more\n",
               w_stack_stats(&pool, W_STACK_DEFAULT).n_slabs, added);
        CHECK(added <= handful());
        for (uint64_t i = 0; i < n; i++)
                w_stack_unreserve(&pool, &cache, W_STACK_DEFAULT);
        end();
        test_check_no_leak(&before);
}

static void check_sample(uint64_t n)
{
        uint64_t rand = test_seed();

        for (int i = 0; i < 1000; i++) {
                struct stack *stack = stacks[w_rand_below(&rand, (uint32_t)n)];

                CHECK(!is_writable(stack->low - 1));
                CHECK(!is_writable(stack->low - pool.guard_size));
                CHECK(stack->guard == W_GUARD_LIGHT || stack->guard == W_GUARD_HEAVY);
        }
}

TEST(two_hundred_thousand_are_bound_and_guarded)
{
        uint64_t n = bounded(200000);

        stacks = calloc(n, sizeof(*stacks));
        CHECK(stacks);
        struct test_resources before = test_resources_now();
        start();
        CHECK_EQ(w_stack_reserve_many(&pool, W_STACK_DEFAULT, n), 0);
        for (uint64_t i = 0; i < n; i++)
                stacks[i] = w_stack_bind(&pool, &cache, W_STACK_DEFAULT, &owner);
        long added = test_resources_now().mappings - before.mappings;

        printf("%ld mappings more\n", added);
        if (w_os_vm_has_light_guard())
                CHECK(added <= handful());
        else
                CHECK(added <= handful() + 2 * (long)n);
        CHECK_EQ(w_stack_stats(&pool, W_STACK_DEFAULT).n_canary, 0);
        check_sample(n);
        /* Bound as they are, they go with the pool. */
        w_stack_cache_release(&cache);
        w_stack_pool_destroy(&pool, W_STACK_ABANDON);
        test_check_no_leak(&before);
        free(stacks);
}

/* Pages of the stacks themselves that are in memory; memory of a tool beside them does not
 * count. */
static long resident_stack_kib(uint64_t n)
{
        size_t page = w_os_page_size();
        long   n_pages = 0;

        for (uint64_t i = 0; i < n; i++) {
                unsigned char resident[64];
                size_t        size = (size_t)(stacks[i]->end - stacks[i]->low);

                CHECK(size / page <= sizeof(resident));
                CHECK_EQ(w_os_vm_resident(stacks[i]->low, size, resident), 0);
                for (size_t k = 0; k < size / page; k++)
                        n_pages += resident[k] & 1;
        }
        return n_pages * (long)(page >> 10);
}

/* 5,000 stacks of two pages, all gone again, then nothing: the memory comes back. */
TEST(memory_of_a_spike_comes_back_when_idle)
{
        enum { N = 5000, PAGES_EACH = 2 };
        uint64_t n = bounded(N);
        size_t   page = w_os_page_size();

        stacks = calloc(n, sizeof(*stacks));
        CHECK(stacks);
        start();
        CHECK_EQ(w_stack_reserve_many(&pool, W_STACK_DEFAULT, n), 0);
        long before = test_resident_kib();
        for (uint64_t i = 0; i < n; i++) {
                stacks[i] = w_stack_bind(&pool, &cache, W_STACK_DEFAULT, &owner);
                stacks[i]->end[-1] = 1;
                stacks[i]->end[-1 - (ptrdiff_t)page] = 1;
        }
        long spike_kib = (long)n * PAGES_EACH * (long)(page >> 10);

        CHECK_EQ(resident_stack_kib(n), spike_kib);
        for (uint64_t i = 0; i < n; i++)
                w_stack_unbind(&pool, &cache, stacks[i]);
        w_stack_unreserve_many(&pool, W_STACK_DEFAULT, n);
        int64_t now = w_os_now();
        for (int second = 1; second <= 4; second++)
                w_stack_trim(&pool, now + second * INT64_C(1100000000));
        /* The slots that always stay warm remain, and the slots in the cache. */
        CHECK(resident_stack_kib(n) <= 100 * PAGES_EACH * (long)(page >> 10));
        CHECK_EQ(w_stack_stats(&pool, W_STACK_DEFAULT).n_warm, 64);
        printf("resident: %ld KiB before, %ld after a spike of %ld\n", before, test_resident_kib(),
               spike_kib);
        if (!under_tool())
                CHECK(test_resident_kib() - before < spike_kib / 10);
        end();
        free(stacks);
}

/* ---- Not enough address space ---------------------------------------------------------------- */

static long address_space_kib(void)
{
        FILE *statm = fopen("/proc/self/statm", "r");
        long  size;

        CHECK(statm && fscanf(statm, "%ld", &size) == 1);
        fclose(statm);
        return size * (long)(w_os_page_size() >> 10);
}

static void reserve_under_limit(void *arg)
{
        struct rlimit limit;

        (void)arg;
        CHECK_EQ(w_stack_pool_init(&pool, &(struct stack_config){ .slab_size = 1 << 20 }), 0);
        struct test_resources before = test_resources_now();
        limit.rlim_cur = limit.rlim_max = ((rlim_t)address_space_kib() + (200 << 10)) << 10;
        CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
        /* Fits in part: some slabs are mapped before the attempt fails, and all must go again. */
        CHECK_EQ(w_stack_reserve_many(&pool, (size_t)1 << 20, 300), -ENOMEM);
        CHECK_EQ(w_stack_stats(&pool, (size_t)1 << 20).n_slabs, 0);
        CHECK_EQ(w_stack_reserve_many(&pool, (size_t)1 << 30, 1), -ENOMEM);
        test_check_no_leak(&before);
        CHECK_EQ(w_stack_reserve_many(&pool, (size_t)1 << 20, 150), 0);
        struct stack *stack = w_stack_bind(&pool, NULL, (size_t)1 << 20, &owner);

        stack->low[0] = 1;
        w_stack_unbind(&pool, NULL, stack);
        w_stack_unreserve_many(&pool, (size_t)1 << 20, 150);
        w_stack_pool_destroy(&pool, W_STACK_ALL_UNBOUND);
}

static bool limit_works(void)
{
        struct rlimit old, small;
        void *addr;

        getrlimit(RLIMIT_AS, &old);
        small = old;
        small.rlim_cur = 1;
        setrlimit(RLIMIT_AS, &small);
        int rc = w_os_vm_map(&addr, (size_t)64 << 20);
        setrlimit(RLIMIT_AS, &old);
        if (rc == 0)
                w_os_vm_unmap(addr, (size_t)64 << 20);
        return rc != 0;
}

TEST(reserve_beyond_the_address_space_is_undone)
{
        char err[2048];

        if (!limit_works())
                test_skip("no limit on address space here");
        int status = test_run_child(reserve_under_limit, NULL, err, sizeof(err));

        CHECK_MSG(status == 0, "child said:\n%s", err);
}
