/* stack/slab.c - maps slabs, cuts slots off them, finds the slot of an address.
 *
 * Protocols   owns stack-slabs.
 *
 * PROTOCOL stack-slabs
 *
 * Goal      a signal handler on any thread finds the slot of an address, and the owner of the slot,
 *           without a lock, while slabs are added and stacks are bound and unbound.
 * Parties   grower (holds the pool's lock), binder (owns the slot), finder (any thread, also inside
 *           a signal handler that interrupted a grower or a binder).
 * Words     pool.slabs; stack.owner and stack.asked.
 * Grower
 *   1. Map the slab and fill its header.
 *   2. Store the slab to pool.slabs [SS1].
 * Binder
 *   1. Store asked.
 *   2. Store owner [SS2]. To unbind the slot, store NULL to owner.
 * Finder
 *   1. Load pool.slabs [SS1], and follow `next` to the slab that contains the address.
 *   2. Compute the slot from the header.
 *   3. Load owner [SS2]. It is NULL: the slot is free.
 *   4. Load asked.
 * Edges     [SS1] header visible    grow: slabs store-release  ->  find: slabs load-acquire
 *           [SS2] binding visible   bind: owner store-release  ->  find: owner load-acquire
 * Why safe  after step 2 of the grower only fields of a header that the lock protects change, and
 *           a finder does not read these. A slab is unmapped only together with the whole pool, and
 *           the pool is not watched any more then (PROTOCOL stack-watch, stack/overflow.c). The
 *           record of a slot that was never used is zero, which means free. A goroutine that
 *           overflows was bound to its stack on this thread, or came to this thread by the
 *           scheduler's own edges: its handler always finds it. A wild access to the guard of a
 *           stack that changes its owner at that moment finds one of the two owners, or NULL.
 *           Records of owners are never unmapped while the pool exists.
 * Rejected  a radix tree over addresses (the list is short: a slab has thousands of stacks, and
 *           only a program about to die walks it); unmapping an empty slab (needs a grace period).
 * Tests     unit/test_stack.c, flow/stack/test_stack_threads.c.
 *
 * If a slab cannot be mapped, the next attempt has half as many slots, down to one: a limit on
 * address space, or strict accounting, may allow less than a whole slab.
 *
 * SPDX-License-Identifier: MIT
 */
#include "stack/pool.h"

#include "os/os.h"

#include <errno.h>      /* ENOMEM only */

/* More than any system gives a process. It keeps every product below within 64 bits. */
#define ADDRESS_SPACE ((uint64_t)1 << 48)

/* 64 x (slot x 7 mod 24): any 24 stacks in a row start on different cache lines of a page. If all
 * tops were at the end of a page, the few cache sets that they map to would thrash. */
static size_t stagger(uint64_t slot)
{
        return 64 * (size_t)(slot * 7 % 24);
}

static size_t records_size(uint64_t n_slots)
{
        size_t page = w_os_page_size();
        size_t size = sizeof(struct slab) + n_slots * sizeof(struct stack);

        return (size + page - 1) & ~(page - 1);
}

static int map_slab(struct stack_class *c, uint64_t n_slots, struct slab **out)
{
        size_t records = records_size(n_slots);
        size_t size = records + n_slots * c->slot_size;
        void  *addr;
        int    rc = w_os_vm_map(&addr, size);

        if (rc)
                return rc;
        *out = addr;
        **out = (struct slab){
                .class = c,
                .base = (char *)addr + records,
                .map_size = size,
                .n_slots = n_slots,
        };
        return 0;
}

static void unmap_chain(struct slab *slab)
{
        while (slab) {
                struct slab *next = slab->next;

                w_os_vm_unmap(slab, slab->map_size);
                slab = next;
        }
}

/* Maps a chain of slabs that have at least n slots in all, and that are not published yet. */
static int map_chain(const struct stack_pool *pool, struct stack_class *c, uint64_t n,
                     struct slab **out)
{
        uint64_t usual = pool->config.slab_size / c->slot_size;
        uint64_t attempt = n > usual ? n : usual;

        for (*out = NULL; n > 0;) {
                struct slab *slab;

                if (map_slab(c, attempt, &slab) != 0) {
                        if (attempt == 1) {
                                unmap_chain(*out);
                                return -ENOMEM;
                        }
                        attempt /= 2;
                        continue;
                }
                slab->next = *out;
                *out = slab;
                n -= n < attempt ? n : attempt;
        }
        return 0;
}

static void publish_locked(struct stack_pool *pool, struct slab *slab)
{
        struct stack_class *c = slab->class;

        slab->next = w_load_rlx(&pool->slabs);          /* own word: the lock's holders store it */
        slab->next_fresh = c->fresh;
        c->fresh = slab;
        c->n_slots += slab->n_slots;
        c->n_fresh += slab->n_slots;
        pool->n_slabs++;
        w_store_rel(&pool->slabs, slab);                /* [SS1] */
}

int w_slab_grow_locked(struct stack_pool *pool, struct stack_class *c, uint64_t n)
{
        struct slab *chain;

        W_ASSERT(w_lock_held(W_LOCK_stack_pool));
        if (n > ADDRESS_SPACE / c->slot_size)
                return -ENOMEM;
        int rc = map_chain(pool, c, n, &chain);

        if (rc)
                return rc;
        while (chain) {
                struct slab *slab = chain;

                chain = slab->next;
                publish_locked(pool, slab);
        }
        return 0;
}

/* Takes the lowest fresh slot first, so that the slots in use are close together. */
struct stack *w_slab_take_fresh_locked(struct stack_pool *pool, struct stack_class *c)
{
        W_ASSERT(w_lock_held(W_LOCK_stack_pool));
        W_ASSERT(c->fresh && c->n_fresh > 0);
        struct slab  *slab = c->fresh;
        uint64_t      slot = slab->n_taken++;
        struct stack *stack = &slab->stacks[slot];
        char         *slot_low = slab->base + slot * c->slot_size;

        stack->low = slot_low + pool->guard_size;
        stack->end = slot_low + c->slot_size;
        stack->top = stack->end - stagger(slot);
        stack->class = (uint32_t)(c - pool->classes);
        w_list_init(&stack->link);
        if (slab->n_taken == slab->n_slots)
                c->fresh = slab->next_fresh;
        c->n_fresh--;
        return stack;
}

struct stack *w_stack_find(const struct stack_pool *pool, const void *addr, bool *in_guard)
{
        uintptr_t at = (uintptr_t)addr;

        for (struct slab *slab = w_load_acq(&pool->slabs); slab; slab = slab->next) { /* [SS1] */
                uintptr_t base = (uintptr_t)slab->base;
                size_t    slot_size = slab->class->slot_size;

                if (at < base || at - base >= slab->n_slots * slot_size)
                        continue;
                *in_guard = (at - base) % slot_size < pool->guard_size;
                return &slab->stacks[(at - base) / slot_size];
        }
        return NULL;
}

/* ---- The end --------------------------------------------------------------------------------- */

/* In `asked`: a thread was left on this stack. */
#define LEFT UINTPTR_MAX

void w_stack_leave(struct stack_pool *pool, struct stack *stack)
{
        w_store_rlx(&stack->asked, LEFT);                         /* own word: the pool ends */
        pool->n_left++;
}

static bool is_left(const struct stack *stack)
{
        return w_load_rlx(&stack->asked) == LEFT;                 /* own word */
}

/* The number of slots from `from` on that are all in the same state: with a thread left on them, or
 * without. */
static uint64_t run_length(const struct slab *slab, uint64_t from)
{
        bool     left = is_left(&slab->stacks[from]);
        uint64_t n = 1;

        while (from + n < slab->n_taken && is_left(&slab->stacks[from + n]) == left)
                n++;
        return n;
}

/* Gives back the pages of all slots without a thread that was left on them. True: there is a slot
 * with such a thread, and the mapping must stay. */
static bool empty_but_left(struct slab *slab)
{
        bool   any = false;
        size_t size = slab->class->slot_size;

        for (uint64_t i = 0, n; i < slab->n_taken; i += n) {
                n = run_length(slab, i);
                if (is_left(&slab->stacks[i]))
                        any = true;
                else
                        (void)w_os_vm_discard(slab->base + i * size, n * size); /* memory only */
        }
        return any;
}

void w_slab_unmap_all(struct stack_pool *pool)
{
        struct slab *slab = w_load_rlx(&pool->slabs);             /* own word: the pool ends */

        while (slab) {
                struct slab *next = slab->next;

                if (!pool->n_left || !empty_but_left(slab))
                        w_os_vm_unmap(slab, slab->map_size);
                slab = next;
        }
        w_store_rlx(&pool->slabs, NULL);                          /* own word */
}
