/* stack/stack.c - binds stacks to goroutines, and the cache that makes this cheap.
 *
 * Calls       pool.c to fill or empty half a cache, guard.c when a slot is bound for the first
 *             time.
 * Protocols   cites stack-reserve, stack-slabs.
 *
 * A cache is a LIFO array: the stack that was left last is taken first, because its lines and pages
 * are still in the caches of the CPU. When the array is full, its older half goes to the centre.
 *
 * SPDX-License-Identifier: MIT
 */
#include "stack/pool.h"

#include "base/sanitizer.h"
#include "os/os.h"

#include <errno.h>      /* EINVAL only */
#include <string.h>     /* memmove */

static struct stack_class *class_of(struct stack_pool *pool, size_t size)
{
        return &pool->classes[w_stack_class_index(size)];
}

/* Is there a cache, and is it for this class? */
static bool serves(const struct stack_cache *cache, const struct stack_class *c)
{
        return cache && cache->class == c;
}

/* ---- The cache ------------------------------------------------------------------------------- */

int w_stack_cache_init(struct stack_cache *cache, struct stack_pool *pool, size_t size)
{
        if (!w_stack_size_ok(size))
                return -EINVAL;
        int rc = w_pool_reserve(pool, class_of(pool, size), W_STACK_CACHE_CAP);

        if (rc)
                return rc;
        cache->pool = pool;
        cache->class = class_of(pool, size);
        cache->size = size;
        cache->n = cache->n_spare = 0;
        w_lock(&pool->lock);
        pool->n_caches++;
        w_unlock(&pool->lock);
        return 0;
}

/* Gives the n oldest slots to the centre. */
static void give_oldest(struct stack_cache *cache, uint32_t n)
{
        struct stack_pool *pool = cache->pool;
        int64_t now = w_os_now();

        w_lock(&pool->lock);
        w_trim_roll_locked(pool, cache->class, now);
        w_pool_give_locked(cache->class, cache->slots, n);
        w_unlock(&pool->lock);
        cache->n -= n;
        memmove(cache->slots, cache->slots + n, cache->n * sizeof(cache->slots[0]));
        (void)w_trim_step(pool, cache->class, W_STACK_BATCH);
}

void w_stack_cache_release(struct stack_cache *cache)
{
        struct stack_pool *pool = cache->pool;

        if (cache->n)
                give_oldest(cache, cache->n);
        w_pool_unreserve(pool, cache->class, W_STACK_CACHE_CAP + (uint64_t)cache->n_spare);
        cache->n_spare = 0;
        w_lock(&pool->lock);
        pool->n_caches--;
        w_unlock(&pool->lock);
}

/* ---- Reserve --------------------------------------------------------------------------------- */

/* Reserves a batch, which is half of the cache's capacity, or one stack if there is no room for a
 * batch. */
static int reserve_ahead(struct stack_pool *pool, struct stack_cache *cache,
                         struct stack_class *c)
{
        if (serves(cache, c) && w_pool_reserve(pool, c, W_STACK_BATCH) == 0) {
                cache->n_spare = W_STACK_BATCH - 1;
                return 0;
        }
        return w_pool_reserve(pool, c, 1);
}

int w_stack_reserve_slow(struct stack_pool *pool, struct stack_cache *cache, size_t size)
{
        if (W_UNLIKELY(!w_stack_size_ok(size)))
                return -EINVAL;
        struct stack_class *c = class_of(pool, size);

        if (!serves(cache, c) || cache->n_spare == 0)
                return reserve_ahead(pool, cache, c);
        cache->n_spare--;
        return 0;
}

void w_stack_unreserve_slow(struct stack_pool *pool, struct stack_cache *cache, size_t size)
{
        W_ASSERT(w_stack_size_ok(size));
        struct stack_class *c = class_of(pool, size);

        if (!serves(cache, c)) {
                w_pool_unreserve(pool, c, 1);
                return;
        }
        if (cache->n_spare == W_STACK_CACHE_CAP) {
                w_pool_unreserve(pool, c, W_STACK_BATCH);
                cache->n_spare = W_STACK_CACHE_CAP - W_STACK_BATCH;
        }
        cache->n_spare++;
}

/* ---- Bind ------------------------------------------------------------------------------------ */

/* The slow paths are tail calls, so that the fast paths save no registers. */

static struct stack *publish(struct stack *stack, size_t size, void *owner)
{
        W_ASSERT(!w_load_rlx(&stack->owner));                   /* own word */
        w_store_rlx(&stack->asked, size);                       /* guarded by the next line */
        w_store_rel(&stack->owner, owner);                      /* [SS2] */
        return stack;
}

static W_NOINLINE struct stack *bind_first(struct stack_pool *pool, struct stack *stack,
                                           size_t size, void *owner)
{
        w_guard_install(pool, stack);
        return publish(stack, size, owner);
}

static struct stack *take_one(struct stack_pool *pool, struct stack_class *c)
{
        struct stack *stack;

        w_lock(&pool->lock);
        w_pool_take_locked(pool, c, &stack, 1);
        w_unlock(&pool->lock);
        return stack;
}

/* Takes half a cache from the centre, for this bind and the next binds. */
static struct stack *refill(struct stack_cache *cache)
{
        struct stack_pool *pool = cache->pool;

        W_ASSERT(cache->n == 0);
        w_lock(&pool->lock);
        w_pool_take_locked(pool, cache->class, cache->slots, W_STACK_BATCH);
        w_unlock(&pool->lock);
        cache->n = W_STACK_BATCH - 1;
        return cache->slots[cache->n];
}

static W_NOINLINE struct stack *bind_slow(struct stack_pool *pool, struct stack_cache *cache,
                                          size_t size, void *owner)
{
        struct stack_class *c = class_of(pool, size);
        struct stack *stack;

        if (!serves(cache, c))
                stack = take_one(pool, c);
        else
                stack = cache->n ? cache->slots[--cache->n] : refill(cache);

        return stack->guard == W_GUARD_NONE ? bind_first(pool, stack, size, owner)
                                            : publish(stack, size, owner);
}

struct stack *w_stack_bind(struct stack_pool *pool, struct stack_cache *cache, size_t size,
                           void *owner)
{
        W_ASSERT(w_stack_size_ok(size) && owner);
        if (W_UNLIKELY(!cache || cache->size != size || cache->n == 0))
                return bind_slow(pool, cache, size, owner);
        struct stack *stack = cache->slots[--cache->n];

        if (W_UNLIKELY(stack->guard == W_GUARD_NONE))
                return bind_first(pool, stack, size, owner);
        return publish(stack, size, owner);
}

/* ---- Unbind ---------------------------------------------------------------------------------- */

static void give(struct stack_pool *pool, struct stack_class *c, struct stack *stack)
{
        int64_t now = w_os_now();

        w_lock(&pool->lock);
        w_trim_roll_locked(pool, c, now);
        w_pool_give_locked(c, &stack, 1);
        w_unlock(&pool->lock);
        (void)w_trim_step(pool, c, W_STACK_BATCH);
}

static W_NOINLINE void give_slow(struct stack_pool *pool, struct stack_cache *cache,
                                 struct stack *stack)
{
        struct stack_class *c = &pool->classes[stack->class];

        if (!serves(cache, c)) {
                give(pool, c, stack);
                return;
        }
        give_oldest(cache, W_STACK_BATCH);
        cache->slots[cache->n++] = stack;
}

static void push(struct stack_pool *pool, struct stack_cache *cache, struct stack *stack)
{
        w_store_rlx(&stack->owner, NULL);       /* hint to finders; the lock orders new owners */
        if (W_UNLIKELY(!serves(cache, &pool->classes[stack->class]) ||
                       cache->n == W_STACK_CACHE_CAP)) {
                give_slow(pool, cache, stack);
                return;
        }
        cache->slots[cache->n++] = stack;
}

/* Canary, high-water mark, sanitizers and valgrind: work that only some stacks or builds need. */
static W_NOINLINE void unbind_slow(struct stack_pool *pool, struct stack_cache *cache,
                                   struct stack *stack)
{
        W_CHECK(w_load_rlx(&stack->owner), "stack unbound twice");      /* own word */
        w_stack_check(pool, stack);
        w_mark_unbind(&pool->classes[stack->class], stack);
        push(pool, cache, stack);
}

#if defined(W_DEBUG) || defined(W_VALGRIND) || defined(W_ASAN)
#define ALWAYS_CARE 1
#else
#define ALWAYS_CARE 0
#endif

void w_stack_unbind(struct stack_pool *pool, struct stack_cache *cache, struct stack *stack)
{
        bool bound = w_load_rlx(&stack->owner) != NULL;         /* own word */

        if (ALWAYS_CARE || W_UNLIKELY(!bound || stack->guard == W_GUARD_CANARY))
                unbind_slow(pool, cache, stack);
        else
                push(pool, cache, stack);
}

void w_stack_check(const struct stack_pool *pool, const struct stack *stack)
{
        if (stack->guard == W_GUARD_CANARY && !w_guard_canary_whole(pool, stack))
                w_overflow_report(pool, stack, w_load_rlx(&stack->owner),       /* own word */
                                  W_DAMAGE_CANARY);
}
