/* stack/pool.h - shared by the files of this folder. No other file includes it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_STACK_POOL_H
#define W_STACK_POOL_H

#include "stack/stack.h"

/* struct slab - one mapping: this header, the records, the slots. Key as struct stack_pool. */
struct slab {
        struct slab        *next;       /* i  [SS1] older slab of the pool */
        struct slab        *next_fresh; /* p  next slab of the class with fresh slots */
        struct stack_class *class;      /* i */
        char               *base;       /* i  first slot */
        size_t              map_size;   /* i */
        uint64_t            n_slots;    /* i */
        uint64_t            n_taken;    /* p  slots that are not fresh any more */
        W_CACHE_ALIGNED
        struct stack        stacks[];
};

/* ---- pool.c ---------------------------------------------------------------------------------- */

/* The index of the class for a size, which must be in range. The smallest class is 2^14. */
static inline uint32_t w_stack_class_index(size_t size)
{
        return size <= W_STACK_MIN ? 0 : 50 - (uint32_t)__builtin_clzl(size - 1);
}

static inline bool w_stack_size_ok(size_t size)
{
        return size >= W_STACK_MIN && size <= W_STACK_MAX;
}

static inline uint64_t w_stack_n_free_locked(const struct stack_class *c)
{
        return c->n_warm + c->n_cold + c->n_fresh;
}

static inline uint64_t w_stack_in_use_locked(const struct stack_class *c)
{
        return c->n_slots - w_stack_n_free_locked(c);
}

/* Takes the n most recently used slots, for which the caller has reservations. In both arrays the
 * last slot is the most recently used. */
void w_pool_take_locked(struct stack_pool *pool, struct stack_class *c, struct stack **out,
                        uint32_t n);
void w_pool_give_locked(struct stack_class *c, struct stack **slots, uint32_t n);

W_MUST_CHECK int w_pool_reserve(struct stack_pool *pool, struct stack_class *c, uint64_t n);
void w_pool_unreserve(struct stack_pool *pool, struct stack_class *c, uint64_t n);

/* ---- slab.c ---------------------------------------------------------------------------------- */

/* Adds at least n slots to the class, or nothing: -ENOMEM. */
W_MUST_CHECK int w_slab_grow_locked(struct stack_pool *pool, struct stack_class *c, uint64_t n);
/* Returns a slot that was never used. The class must have such a slot. */
struct stack *w_slab_take_fresh_locked(struct stack_pool *pool, struct stack_class *c);
void w_slab_unmap_all(struct stack_pool *pool);

/* ---- guard.c --------------------------------------------------------------------------------- */

/* Makes the guard of a slot that is bound for the first time. Context: its new owner. */
void w_guard_install(struct stack_pool *pool, struct stack *stack);
bool w_guard_canary_whole(const struct stack_pool *pool, const struct stack *stack);
/* The default of config.guard_budget. */
int64_t w_guard_default_budget(void);
/* The bytes between two stacks. */
size_t w_guard_size(void);

/* ---- trim.c ---------------------------------------------------------------------------------- */

/* Ends the period if its end has passed. Must be called before the number of slots in use
 * changes. */
void w_trim_roll_locked(struct stack_pool *pool, struct stack_class *c, int64_t now);
/* Empties one batch, if at least `least` slots are beyond the watermark. Returns how many slots it
 * emptied. Context: pool lock not held. */
uint32_t w_trim_step(struct stack_pool *pool, struct stack_class *c, uint32_t least);

/* ---- mark.c ---------------------------------------------------------------------------------- */

/* Debug builds: records how much of the stack was used and clears that part. Context: the stack is
 * being unbound. */
void w_mark_unbind(struct stack_class *c, struct stack *stack);

/* ---- overflow.c ------------------------------------------------------------------------------ */

enum stack_damage { W_DAMAGE_FAULT, W_DAMAGE_CANARY };

W_NORETURN void w_overflow_report(const struct stack_pool *pool, const struct stack *stack,
                                  void *owner, enum stack_damage damage);

#endif
