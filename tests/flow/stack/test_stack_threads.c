/* tests/flow/stack/test_stack_threads.c - caches and the centre shared by threads.
 *
 * SPDX-License-Identifier: MIT
 */
#include "stack/stack.h"

#include "base/rand.h"
#include "harness/test.h"
#include "os/os.h"

#include <string.h>

enum { N_THREADS = 4, HELD = 40, MAILBOX = 64 };

static struct stack_pool pool;
static w_atomic_u32      n_running;
static w_atomic_ptr      mailbox[MAILBOX];      /* a  [TT1] bound stacks on their way */

struct worker {
        struct w_os_thread thread;
        struct stack_cache cache;
        bool               has_cache;
        uint64_t           rand;
        uint32_t           n;
        struct stack      *held[HELD];
};

static struct worker workers[N_THREADS];

/* A thread that holds a bound stack is alone on it: its own address is written to both ends. */
static void take_one(struct worker *w)
{
        struct stack_cache *cache = w->has_cache ? &w->cache : NULL;

        CHECK_EQ(w_stack_reserve(&pool, cache, W_STACK_DEFAULT), 0);
        struct stack *stack = w_stack_bind(&pool, cache, W_STACK_DEFAULT, w);

        memcpy(stack->top - sizeof(stack), &stack, sizeof(stack));
        memcpy(stack->low, &stack, sizeof(stack));
        w->held[w->n++] = stack;
}

static void return_one(struct worker *w, struct stack *stack)
{
        struct stack_cache *cache = w->has_cache ? &w->cache : NULL;

        CHECK(memcmp(stack->top - sizeof(stack), &stack, sizeof(stack)) == 0);
        CHECK(memcmp(stack->low, &stack, sizeof(stack)) == 0);
        w_stack_unbind(&pool, cache, stack);
        w_stack_unreserve(&pool, cache, W_STACK_DEFAULT);
}

/* Hands a stack to the next thread, and returns the stack that lay there: goroutines end on other
 * threads. */
static void exchange_one(struct worker *w)
{
        w_atomic_ptr *box = &mailbox[w_rand_below(&w->rand, MAILBOX)];
        struct stack *got = w_xchg_acqrel(box, w->held[--w->n]);        /* [TT1] both sides */

        if (got)
                return_one(w, got);
}

static void check_caches(struct worker *w)
{
        bool in_guard;
        struct stack *mine = w->n ? w->held[w_rand_below(&w->rand, w->n)] : NULL;

        if (!mine)
                return;
        CHECK(w_stack_find(&pool, mine->top - 1, &in_guard) == mine && !in_guard);
        CHECK(w_stack_find(&pool, mine->low - 1, &in_guard) == mine && in_guard);
        CHECK(!w_stack_find(&pool, &mine, &in_guard));
}

static void one_round(struct worker *w)
{
        uint32_t choice = w_rand_below(&w->rand, 100);

        if (choice < 2)
                w_stack_trim(&pool, w_os_now());
        else if (choice < 12)
                check_caches(w);
        else if (choice < 60 && w->n < HELD)
                take_one(w);
        else if (choice < 75 && w->n > 0)
                exchange_one(w);
        else if (w->n > 0)
                return_one(w, w->held[--w->n]);
}

static void work(void *arg)
{
        struct worker *w = arg;

        w_add_rlx(&n_running, 1);                       /* hint: all start together */
        while (w_load_rlx(&n_running) < N_THREADS)      /* hint */
                w_os_yield();
        for (long i = test_scale(30000); i > 0; i--)
                one_round(w);
        while (w->n > 0)
                return_one(w, w->held[--w->n]);
}

static void start_worker(int i)
{
        struct worker *w = &workers[i];

        w->rand = test_seed() + (uint64_t)i;
        w->has_cache = i != 0;          /* one of them has no cache */
        if (w->has_cache)
                CHECK_EQ(w_stack_cache_init(&w->cache, &pool, W_STACK_DEFAULT), 0);
        CHECK_EQ(w_os_thread_start(&w->thread, "stacks", 0, work, w), 0);
}

static void empty_mailbox(void)
{
        for (int i = 0; i < MAILBOX; i++) {
                struct stack *left = w_xchg_acqrel(&mailbox[i], NULL);  /* [TT1] */

                if (left)
                        return_one(&workers[0], left);
        }
}

/* Slabs of a few slots: growing goes on all the time, and no slot is left over. */
TEST(caches_and_centre_shared_by_threads)
{
        struct stack_config config = { .slab_size = 8 * W_STACK_DEFAULT, .keep = 1,
                                       .period_ns = 1 };

        CHECK_EQ(w_stack_pool_init(&pool, &config), 0);
        for (int i = 0; i < N_THREADS; i++)
                start_worker(i);
        for (int i = 0; i < N_THREADS; i++)
                w_os_thread_join(&workers[i].thread);
        empty_mailbox();
        for (int i = 0; i < N_THREADS; i++)
                if (workers[i].has_cache)
                        w_stack_cache_release(&workers[i].cache);
        struct stack_stats stats = w_stack_stats(&pool, W_STACK_DEFAULT);

        CHECK_EQ(stats.n_in_use, 0);
        CHECK_EQ(stats.n_reserved, 0);
        CHECK(stats.n_slots <= 8 + N_THREADS * (HELD + 3 * W_STACK_CACHE_CAP + 64) + MAILBOX);
        CHECK(stats.n_discarded > 0);
        w_stack_pool_destroy(&pool, W_STACK_ALL_UNBOUND);
}
