/* stack/pool.c - the centre: size classes, reservations, the free slots that are in no cache.
 *
 * Calls       slab.c for more slots, trim.c for the periods of its watermark.
 * Protocols   owns stack-reserve.
 *
 * PROTOCOL stack-reserve
 *
 * Goal      a caller that has reserved a stack can bind a stack, however many slots are in the
 *           caches of other owners.
 * Parties   owners of caches, callers without a cache, trimmers (trim.c).
 * Words     per class, all under the pool's lock: n_slots, n_reserved, and the free slots in the
 *           centre, n_warm + n_cold + n_fresh. There is no lock-free step here.
 * Rule      n_reserved <= n_slots, where n_reserved counts
 *             - every reservation that was given out, also an unused reservation in a cache;
 *             - W_STACK_CACHE_CAP for every cache, from its init to its release;
 *             - the slots that a trimmer holds while it empties them.
 * Why enough   let r be the reservations that callers have, b <= r the bound stacks, h_i the slots
 *           in cache i of at most cap_i, and t the slots of trimmers. The centre then has
 *             n_slots - b - sum h_i - t  >=  (r - b) + sum (cap_i - h_i)
 *           free slots. A caller that may bind has r - b >= 1. If its cache is empty, that cache
 *           alone adds cap_i = 32: enough to take half a cache and the slot to bind.
 * Misuse    if more slots of a class are in use than reserved, a stack was bound without a
 *           reservation, or unreserved while it was bound. This is checked whenever either number
 *           changes.
 * Rejected  a reservation that names a slot (the first run would get a cold stack while warm stacks
 *           are free); searching the caches of other owners (a lock per cache on the fast path).
 * Tests     unit/test_stack.c, flow/stack/test_stack_threads.c.
 *
 * SPDX-License-Identifier: MIT
 */
#include "stack/pool.h"

#include "base/tuning.h"
#include "os/os.h"

#include <errno.h>      /* EINVAL, ENOMEM only */

#define MAX_SLAB_SIZE     ((size_t)1 << 46)

enum { DEFAULT_KEEP = 64 };     /* about 0.5 MiB: a burst of 64 stacks costs no page faults */

#define DEFAULT_PERIOD_NS INT64_C(1000000000)

/* ---- Sizes ----------------------------------------------------------------------------------- */

static size_t class_slot_size(uint32_t index, size_t page, size_t guard)
{
        size_t size = W_STACK_MIN << index;

        if (size < page)
                size = page;
#if defined(__x86_64__)
        (void)guard;
        return size;
#else
        return size + guard;
#endif
}

_Static_assert((W_STACK_MIN << (W_STACK_N_CLASSES - 1)) == W_STACK_MAX, "the classes span it all");

/* ---- Init and end ---------------------------------------------------------------------------- */

static int fill_defaults(struct stack_config *config)
{
        if (config->slab_size > MAX_SLAB_SIZE || config->period_ns < 0 ||
            (unsigned)config->guards > W_GUARDS_CANARY)
                return -EINVAL;
        if (!config->slab_size)
                config->slab_size = W_TUNE_SLAB_SIZE;
        if (!config->guard_budget)
                config->guard_budget = w_guard_default_budget();
        if (!config->keep)
                config->keep = DEFAULT_KEEP;
        if (!config->period_ns)
                config->period_ns = DEFAULT_PERIOD_NS;
        return 0;
}

static void init_class(struct stack_pool *pool, uint32_t index)
{
        struct stack_class *c = &pool->classes[index];

        c->slot_size = class_slot_size(index, w_os_page_size(), pool->guard_size);
        w_list_init(&c->warm);
        w_list_init(&c->cold);
}

int w_stack_pool_init(struct stack_pool *pool, const struct stack_config *config)
{
        struct stack_config filled = config ? *config : (struct stack_config){ 0 };
        int rc = fill_defaults(&filled);

        if (rc)
                return rc;
        *pool = (struct stack_pool){
                .config = filled,
                .guard_size = w_guard_size(),
                .canary = w_os_random_seed(),
        };
        w_lock_init(&pool->lock, W_LOCK_stack_pool);
        for (uint32_t i = 0; i < W_STACK_N_CLASSES; i++)
                init_class(pool, i);
        return 0;
}

void w_stack_pool_destroy(struct stack_pool *pool, enum stack_pool_end end)
{
        W_CHECK(pool->n_caches == 0, "stack pool ends with %llu caches",
                (unsigned long long)pool->n_caches);
        for (uint32_t i = 0; i < W_STACK_N_CLASSES && end == W_STACK_ALL_UNBOUND; i++) {
                uint64_t in_use = w_stack_in_use_locked(&pool->classes[i]);

                W_CHECK(in_use == 0, "stack pool ends with %llu stacks of %zu KiB bound",
                        (unsigned long long)in_use, (W_STACK_MIN << i) >> 10);
        }
        w_stack_unwatch(pool);
        w_slab_unmap_all(pool);
}

/* ---- Reservations ---------------------------------------------------------------------------- */

static void check_covered_locked(const struct stack_class *c)
{
        W_CHECK(w_stack_in_use_locked(c) <= c->n_reserved,
                "%llu stacks in use, %llu reserved: one was bound without a reservation",
                (unsigned long long)w_stack_in_use_locked(c), (unsigned long long)c->n_reserved);
}

static int reserve_locked(struct stack_pool *pool, struct stack_class *c, uint64_t n)
{
        uint64_t wanted;

        if (__builtin_add_overflow(c->n_reserved, n, &wanted))
                return -ENOMEM;
        if (wanted > c->n_slots) {
                int rc = w_slab_grow_locked(pool, c, wanted - c->n_slots);

                if (rc)
                        return rc;
        }
        c->n_reserved = wanted;
        return 0;
}

int w_pool_reserve(struct stack_pool *pool, struct stack_class *c, uint64_t n)
{
        w_lock(&pool->lock);
        int rc = reserve_locked(pool, c, n);
        w_unlock(&pool->lock);
        return rc;
}

void w_pool_unreserve(struct stack_pool *pool, struct stack_class *c, uint64_t n)
{
        w_lock(&pool->lock);
        W_CHECK(n <= c->n_reserved, "%llu stacks unreserved, %llu reserved",
                (unsigned long long)n, (unsigned long long)c->n_reserved);
        c->n_reserved -= n;
        check_covered_locked(c);
        w_unlock(&pool->lock);
}

int w_stack_reserve_many(struct stack_pool *pool, size_t size, uint64_t n)
{
        if (!w_stack_size_ok(size))
                return -EINVAL;
        return w_pool_reserve(pool, &pool->classes[w_stack_class_index(size)], n);
}

void w_stack_unreserve_many(struct stack_pool *pool, size_t size, uint64_t n)
{
        W_ASSERT(w_stack_size_ok(size));
        w_pool_unreserve(pool, &pool->classes[w_stack_class_index(size)], n);
}

/* ---- Free slots ------------------------------------------------------------------------------ */

static struct stack *pop(struct list_node *list, uint64_t *count)
{
        (*count)--;
        return W_CONTAINER_OF(w_list_pop_front(list), struct stack, link);
}

static struct stack *take_one_locked(struct stack_pool *pool, struct stack_class *c)
{
        if (c->n_warm)
                return pop(&c->warm, &c->n_warm);
        if (c->n_cold)
                return pop(&c->cold, &c->n_cold);
        return w_slab_take_fresh_locked(pool, c);
}

void w_pool_take_locked(struct stack_pool *pool, struct stack_class *c, struct stack **out,
                        uint32_t n)
{
        W_ASSERT(w_lock_held(W_LOCK_stack_pool));
        W_CHECK(w_stack_n_free_locked(c) >= n, "%llu free stacks, %u wanted: no reservation",
                (unsigned long long)w_stack_n_free_locked(c), n);
        for (uint32_t i = n; i-- > 0;)
                out[i] = take_one_locked(pool, c);
        check_covered_locked(c);
        if (w_stack_in_use_locked(c) > c->peak)
                c->peak = w_stack_in_use_locked(c);
}

void w_pool_give_locked(struct stack_class *c, struct stack **slots, uint32_t n)
{
        W_ASSERT(w_lock_held(W_LOCK_stack_pool));
        for (uint32_t i = 0; i < n; i++)
                w_list_push_front(&c->warm, &slots[i]->link);
        c->n_warm += n;
}

/* ---- Statistics ------------------------------------------------------------------------------ */

struct stack_stats w_stack_stats(struct stack_pool *pool, size_t size)
{
        W_ASSERT(w_stack_size_ok(size));
        struct stack_class *c = &pool->classes[w_stack_class_index(size)];

        w_lock(&pool->lock);
        struct stack_stats stats = {
                .n_slots = c->n_slots,
                .n_reserved = c->n_reserved,
                .n_in_use = w_stack_in_use_locked(c),
                .n_warm = c->n_warm,
                .n_cold = c->n_cold,
                .n_fresh = c->n_fresh,
                .n_discarded = c->n_discarded,
                .high_water = w_load_rlx(&c->high_water),       /* counter */
                .n_slabs = pool->n_slabs,
                .n_light = w_load_rlx(&pool->n_light),          /* counter */
                .n_heavy = w_load_rlx(&pool->n_heavy),          /* counter */
                .n_canary = w_load_rlx(&pool->n_canary),        /* counter */
        };
        w_unlock(&pool->lock);
        return stats;
}
