/* tests/flow/stack/test_stack_refused.c - the kernel refuses the k-th call, for every k.
 *
 * SPDX-License-Identifier: MIT
 */
#include "stack/stack.h"

#include "harness/test.h"
#include "os/inject.h"

#include <errno.h>

#if defined(W_DEBUG)

static struct stack_pool  pool;
static struct stack_cache cache;

/* The whole life of a pool. False: a call was refused, and the error was returned. */
static bool live(void)
{
        enum { N = 40 };
        struct stack *stacks[N];
        bool complete = false;

        CHECK_EQ(w_stack_pool_init(&pool, &(struct stack_config){ .slab_size = 1, .keep = 1 }), 0);
        int watching = w_stack_watch(&pool);
        int caching = w_stack_cache_init(&cache, &pool, W_STACK_DEFAULT);

        if (watching == 0 && caching == 0 &&
            w_stack_reserve_many(&pool, W_STACK_DEFAULT, N) == 0) {
                for (int i = 0; i < N; i++) {
                        /* Never refused. */
                        stacks[i] = w_stack_bind(&pool, &cache, W_STACK_DEFAULT, &pool);
                        stacks[i]->top[-1] = stacks[i]->low[0] = 1;
                }
                for (int i = 0; i < N; i++)
                        w_stack_unbind(&pool, &cache, stacks[i]);
                w_stack_unreserve_many(&pool, W_STACK_DEFAULT, N);
                w_stack_trim(&pool, INT64_MAX / 2);
                complete = true;
        }
        if (caching == 0)
                w_stack_cache_release(&cache);
        w_stack_pool_destroy(&pool, W_STACK_ALL_UNBOUND);
        return complete;
}

/* Refuses the k-th call of one kind for every k that there is. Returns how many lives were cut. */
static int refuse_each(enum w_os_call kind)
{
        struct test_resources before = test_resources_now();
        int n_cut = 0;

        for (uint32_t k = 1;; k++) {
                w_inject_once(kind, k, ENOMEM);
                bool complete = live();
                uint32_t n_hits = w_inject_hits();

                w_inject_off();
                test_check_no_leak(&before);
                if (n_hits == 0) {
                        CHECK(complete && k > 1);
                        return n_cut;
                }
                n_cut += !complete;
        }
}

TEST(life_with_the_kth_call_refused_leaves_nothing)
{
        CHECK(live());          /* whatever is set up once is set up */
        CHECK(refuse_each(W_CALL_MMAP) == 0);           /* half a slab will do */
        CHECK(refuse_each(W_CALL_MADVISE) == 0);        /* half a slab, other guards, more memory */
        CHECK(refuse_each(W_CALL_SIGACTION) > 0);
        CHECK(refuse_each(W_CALL_MINCORE) == 0);
}

#else

TEST(life_with_the_kth_call_refused_leaves_nothing)
{
        test_skip("only debug builds can refuse calls");
}

#endif
