/* stack/slab.c - slabs: mapping them, cutting slots off, finding the slot of an address.
 *
 * Called by   pool.c under the pool's lock; the fault handler in overflow.c, which looks up.
 * Protocols   owns stack-slabs.
 *
 * PROTOCOL stack-slabs
 *
 * Goal      a signal handler on any thread finds the slot of an address, and who it is bound to,
 *           without a lock, while slabs are added and stacks are bound and unbound.
 * Parties   grower (holds the pool's lock), binder (owns the slot), finder (any thread, also inside
 *           a signal handler that interrupted a grower or a binder).
 * Words     pool.slabs; stack.owner and stack.asked.
 * Grower    1 maps the slab and fills its header   2 stores it to pool.slabs [SS1].
 * Binder    1 stores asked   2 stores owner [SS2]. Unbinding stores NULL to owner.
 * Finder    1 loads pool.slabs [SS1] and walks `next`   2 computes the slot from the header
 *           3 loads owner [SS2]; NULL: the slot is free   4 loads asked.
 * Edges     [SS1] header visible    grow: slabs store-release  ->  find: slabs load-acquire
 *           [SS2] binding visible   bind: owner store-release  ->  find: owner load-acquire
 * Why safe  a header never changes after step 2 of the grower but for fields of the lock's holders,
 *           and a slab is unmapped only with the whole pool, which nobody watches any more then
 *           (PROTOCOL stack-watch, stack/overflow.c). The record of a slot that was never used is
 *           zero: free. A goroutine that overflows has bound its stack on this thread, or came
 *           to it by the scheduler's own edges, so it always finds itself. A wild access to the
 *           guard of a stack that is just changing hands finds one of the two owners or none;
 *           records of owners are never unmapped while the pool lives.
 * Rejected  a radix tree over addresses (the walk is short: a slab holds thousands of stacks, and
 *           only a program about to die walks); unmapping an empty slab (needs a grace period).
 * Tests     unit/test_stack.c, flow/stack/test_stack_threads.c.
 *
 * A failed attempt to map is repeated with half as many slots, down to one, because a limit on
 * address space or strict accounting may allow less than a whole slab.
 *
 * SPDX-License-Identifier: MIT
 */
#include "stack/pool.h"

#include "os/os.h"

#include <errno.h>      /* ENOMEM only */

/* More than any system gives a process; keeps every product below in 64 bits. */
#define ADDRESS_SPACE ((uint64_t)1 << 48)

/* 64 x (slot x 7 mod 24): neighbouring stacks start on different cache lines, and so does every one
 * of 24 in a row. With all tops at the end of a page the few sets that they map to thrash. */
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

/* A chain of slabs that nobody else knows yet, with at least n slots in all. */
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

/* The lowest fresh slot first, so that the slots in use lie together. */
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

/* Who asked for this much has been left on its stack. */
#define LEFT UINTPTR_MAX

void w_stack_leave(struct stack_pool *pool, struct stack *stack)
{
        w_store_rlx(&stack->asked, LEFT);                         /* own word: nobody else looks */
        pool->n_left++;
}

static bool is_left(const struct stack *stack)
{
        return w_load_rlx(&stack->asked) == LEFT;                 /* own word */
}

/* From that slot on, how many are, or are not, left to somebody. */
static uint64_t run_length(const struct slab *slab, uint64_t from)
{
        bool     left = is_left(&slab->stacks[from]);
        uint64_t n = 1;

        while (from + n < slab->n_taken && is_left(&slab->stacks[from + n]) == left)
                n++;
        return n;
}

/* The mapping stays with what is left in it; the pages of all others go. True: there is some. */
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
        struct slab *slab = w_load_rlx(&pool->slabs);             /* own word: nobody else */

        while (slab) {
                struct slab *next = slab->next;

                if (!pool->n_left || !empty_but_left(slab))
                        w_os_vm_unmap(slab, slab->map_size);
                slab = next;
        }
        w_store_rlx(&pool->slabs, NULL);                          /* own word */
}
