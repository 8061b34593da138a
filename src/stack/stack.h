/* stack/stack.h - the stacks that goroutines run on: reserved by count, bound to a slot, guarded.
 *
 * Callers        sched, when a goroutine is spawned, first runs and ends; tests and benches.
 * Protocols      stack-slabs (stack/slab.c), stack-reserve (stack/pool.c),
 *                stack-watch (stack/overflow.c).
 *
 * The life of a stack:
 *
 *   reserve   at spawn: a count. May map a slab, which is address space only, or fail.
 *   bind      at the first run: picks the most recently used free slot. Cannot fail.
 *   unbind    at the end of the goroutine: the slot is free, its pages stay warm.
 *   unreserve after that: undoes the count.
 *
 * A slab is one mapping that is cut into slots of one size. A slot is a guard at its low end and
 * the stack above it. Stacks grow towards the guard:
 *
 *   slab   | records | guard | stack 0 ......top| guard | stack 1 ....top  | guard | ...
 *
 * The size of a slot on x86-64 is a power of two, which includes the guard of one page. On aarch64
 * the guard has 64 KiB, which compilers assume when they probe large frames, and is added to the
 * power of two.
 *
 * Why 16 KiB is the least: a signal frame with all vector registers and one call of snprintf must
 * fit. Why 1 GiB is the most: no program needs more, and all arithmetic on sizes stays far from its
 * limits.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_STACK_STACK_H
#define W_STACK_STACK_H

#include "base/atomic.h"
#include "base/list.h"
#include "base/lock.h"

#define W_STACK_DEFAULT ((size_t)64 << 10)
#define W_STACK_MIN     ((size_t)16 << 10)
#define W_STACK_MAX     ((size_t)1 << 30)

enum {
        W_STACK_N_CLASSES = 17,         /* the powers of two from 16 KiB to 1 GiB */
        W_STACK_CACHE_CAP = 32,         /* slots in one cache; also reservations in one cache */
        W_STACK_BATCH     = W_STACK_CACHE_CAP / 2,
};

/* ---- What a goroutine sees ------------------------------------------------------------------- */

enum stack_guard {
        W_GUARD_NONE,                   /* never bound */
        W_GUARD_LIGHT,                  /* faults, costs no mapping */
        W_GUARD_HEAVY,                  /* faults, costs two mappings */
        W_GUARD_CANARY,                 /* words; their damage is noticed late */
};

/* struct stack - one slot. The record is not in the memory that it describes, so that an overflow
 * cannot reach it through the guard. Key:
 *   i immutable once the slot was first taken   p pool lock
 *   o its binder, or the owner of its cache     a see the edge
 */
struct stack {
        char             *low;          /* i  lowest usable address; the guard ends here */
        char             *top;          /* i  first stack address, 64-aligned, staggered */
        char             *end;          /* i  end of the slot, at most 1472 above top */
        w_atomic_ptr      owner;        /* a  [SS2] what it is bound to; NULL: free */
        w_atomic_uptr     asked;        /* a  [SS2] size that was asked for */
        uint32_t          guard;        /* o  enum stack_guard, set at the first bind */
        uint32_t          class;        /* i  index of its size class */
        struct list_node  link;         /* p  in `warm` or `cold` while it is free centrally */
};

_Static_assert(sizeof(struct stack) == W_CACHELINE, "records of two owners share no line");

/* What a report says about an owner. */
struct stack_owner {
        int64_t     id;
        const char *name;               /* NULL or "": none */
        void       *entry;              /* NULL: unknown */
        size_t      size;               /* preset with the size asked for */
};

/* ---- The pool -------------------------------------------------------------------------------- */

enum stack_guard_policy {
        W_GUARDS_AUTO,                  /* light, else heavy within the budget, else canary */
        W_GUARDS_HEAVY,                 /* as AUTO on a system without the light kind */
        W_GUARDS_CANARY,                /* as AUTO when the budget is spent */
};

/* Zero in any field means the default. */
struct stack_config {
        size_t  slab_size;              /* address space per slab, 256 MiB; one slot at least */
        enum stack_guard_policy guards;
        int64_t guard_budget;           /* heavy guards at most; negative: none. By default they may
                                         * use 45 % of the allowed mappings, two for each guard. */
        size_t  keep;                   /* free slots per class that always stay warm, 64, but at
                                         * most 16 MiB of them */
        int64_t period_ns;              /* how long a peak of use is remembered, 1 s to 2 s */
        /* Fills *out for a report. Runs on a signal stack: async-signal-safe, no locks. NULL:
         * reports name no goroutine. */
        void  (*describe)(void *owner, struct stack_owner *out);
};

struct slab;

/* struct stack_class - all slots of one size. Key: as struct stack_pool. */
struct stack_class {
        size_t           slot_size;     /* i  guard included */
        uint64_t         n_slots;       /* p  in all slabs of the class */
        uint64_t         n_reserved;    /* p  promised; PROTOCOL stack-reserve (stack/pool.c) */
        uint64_t         n_warm;        /* p  free, used before, pages kept */
        uint64_t         n_cold;        /* p  free, used before, pages given back */
        uint64_t         n_fresh;       /* p  never used */
        struct list_node warm;          /* p  most recently used first */
        struct list_node cold;          /* p */
        struct slab     *fresh;         /* p  slabs with fresh slots */
        uint64_t         peak;          /* p  most slots in use in this period */
        uint64_t         peak_before;   /* p  most slots in use in the period before */
        int64_t          period_end_at; /* p */
        uint64_t         n_discarded;   /* p  how often a slot's pages were given back */
        w_atomic_uptr    high_water;    /* d  the most bytes that any stack has used */
};

/* struct stack_pool - every stack of a run. Key:
 *   i immutable after init   p `lock`   a atomic, see the edge or class   d debug builds
 */
struct stack_pool {
        struct lock         lock;
        struct stack_config config;     /* i  defaults filled in */
        size_t              guard_size; /* i */
        uint64_t            canary;     /* i  secret of this pool */
        w_atomic_ptr        slabs;      /* a  [SS1] newest first; grows until the pool ends */
        uint64_t            n_slabs;    /* p */
        uint64_t            n_caches;   /* p */
        uint64_t            n_left;     /* i  except in w_stack_leave() */
        w_atomic_u64        n_light;    /* a  counter */
        w_atomic_u64        n_heavy;    /* a  counter and budget */
        w_atomic_u64        n_canary;   /* a  counter; the first canary is reported */
        struct stack_class  classes[W_STACK_N_CLASSES];
};

/* Maps nothing. -EINVAL: a slab size of more than 2^46, an unknown policy, a negative period. The
 * pool must not move afterwards. */
W_MUST_CHECK int w_stack_pool_init(struct stack_pool *pool, const struct stack_config *config);

enum stack_pool_end { W_STACK_ALL_UNBOUND, W_STACK_ABANDON };

/* A thread is on that stack and stays on it for ever. Context: before the end of the pool. */
void w_stack_leave(struct stack_pool *pool, struct stack *stack);

/* Unmaps everything except the stacks on which a thread was left (w_stack_leave). Every cache has
 * been released before, and no other thread uses the pool. A stack that is still bound is fatal,
 * unless the caller says with W_STACK_ABANDON that it abandons the bound stacks. */
void w_stack_pool_destroy(struct stack_pool *pool, enum stack_pool_end end);

/* ---- A cache per owner ----------------------------------------------------------------------- */

/* struct stack_cache - free slots and unused reservations of one class, for one owner at a time.
 * In the common case a bind is a pop and an unbind is a push. When the cache is empty or full, half
 * of it is moved under the pool's lock. The first three fields are immutable; all other fields
 * belong to the owner of the cache. */
struct stack_cache {
        struct stack_pool  *pool;
        struct stack_class *class;
        size_t              size;       /* of w_stack_cache_init: the size that is used most */
        uint32_t            n;          /* slots, most recently used last */
        uint32_t            n_spare;    /* reservations */
        struct stack       *slots[W_STACK_CACHE_CAP];
};

/* A cache for stacks of that size. -EINVAL, -ENOMEM. */
W_MUST_CHECK int w_stack_cache_init(struct stack_cache *cache, struct stack_pool *pool,
                                    size_t size);
/* Gives back all slots and reservations in the cache. */
void w_stack_cache_release(struct stack_cache *cache);

/* ---- Reserve, bind, unbind, unreserve --------------------------------------------------------
 *
 * `cache` may be NULL, or of another class: the pool itself is then used, under its lock.
 * Context of all: any thread that owns the cache; may switch: no. */

/* Promises n stacks of that size. -EINVAL: the size is not in [W_STACK_MIN, W_STACK_MAX]. -ENOMEM:
 * no address space for n stacks. After an error nothing has changed. */
W_MUST_CHECK int w_stack_reserve_many(struct stack_pool *pool, size_t size, uint64_t n);
void w_stack_unreserve_many(struct stack_pool *pool, size_t size, uint64_t n);

/* The same for one stack. If a cache has no reservation left, it takes half of its capacity at
 * once, if that many are available. Inline, because every spawn and every exit passes here. */
W_MUST_CHECK int w_stack_reserve_slow(struct stack_pool *pool, struct stack_cache *cache,
                                      size_t size);
void w_stack_unreserve_slow(struct stack_pool *pool, struct stack_cache *cache, size_t size);

W_MUST_CHECK W_INLINE int w_stack_reserve(struct stack_pool *pool, struct stack_cache *cache,
                                          size_t size)
{
        if (W_UNLIKELY(!cache || cache->size != size || cache->n_spare == 0))
                return w_stack_reserve_slow(pool, cache, size);
        cache->n_spare--;
        return 0;
}

W_INLINE void w_stack_unreserve(struct stack_pool *pool, struct stack_cache *cache, size_t size)
{
        if (W_UNLIKELY(!cache || cache->size != size || cache->n_spare == W_STACK_CACHE_CAP))
                w_stack_unreserve_slow(pool, cache, size);
        else
                cache->n_spare++;
}

/* Returns the most recently used free slot, with a guard, for a size that the caller has reserved.
 * `owner` is not NULL; it is passed to `describe`. */
struct stack *w_stack_bind(struct stack_pool *pool, struct stack_cache *cache, size_t size,
                           void *owner);

/* Fatal, with the report of an overflow, if the stack has a canary and the canary is damaged.
 * Context: any thread, while the stack is bound; it does not run, or the caller runs on it. */
void w_stack_check(const struct stack_pool *pool, const struct stack *stack);

/* Gives the stack of a goroutine that has ended to the next owner, without a switch to another
 * stack. The new owner has reserved a stack of the same size. Checks the canary as w_stack_unbind
 * does. Context: runs on that stack. */
W_INLINE void w_stack_pass_on(struct stack_pool *pool, struct stack *stack, void *owner)
{
        if (W_UNLIKELY(stack->guard == W_GUARD_CANARY))
                w_stack_check(pool, stack);
        w_store_rel(&stack->owner, owner);                        /* [SS2] */
}

/* Frees the slot. Checks the canary, if there is one: damage is fatal. Context: after the last
 * switch away from the stack, and after the end of its fiber's annotations. */
void w_stack_unbind(struct stack_pool *pool, struct stack_cache *cache, struct stack *stack);

/* ---- Looking --------------------------------------------------------------------------------- */

/* The slot that contains the address, or NULL. *in_guard: the address is in the guard of the slot,
 * not in its stack. The slot may be free.
 * Context: any thread until the pool is destroyed; async-signal-safe, lock-free. */
struct stack *w_stack_find(const struct stack_pool *pool, const void *addr, bool *in_guard);

/* Bytes between top and the lowest word that is not zero. Pages that were never touched are zero
 * and are not read. A swapped-out page counts as untouched.
 * Debug builds clear a stack when it is unbound. There the result is what the present owner has
 * used, and the owners that passed the stack on to it (w_stack_pass_on). In other builds the result
 * may come from an earlier owner.
 * Context: the stack does not run, or the caller runs on it. */
size_t w_stack_high_water(const struct stack *stack);

struct stack_stats {
        uint64_t n_slots, n_reserved, n_in_use, n_warm, n_cold, n_fresh;  /* of one class */
        uint64_t n_discarded;
        size_t   high_water;                    /* 0 unless a debug build */
        uint64_t n_slabs, n_light, n_heavy, n_canary;                     /* of the pool */
};

/* Slots in caches count as in use. The capacity of each cache counts as reserved. */
struct stack_stats w_stack_stats(struct stack_pool *pool, size_t size);

/* Gives back the pages of free slots beyond the watermark (stack/trim.c) and returns how many slots
 * it emptied. Meant for a periodic caller: an idle program makes no other call that gives pages
 * back. At present only tests call it. Context: any thread; may switch: no. */
uint64_t w_stack_trim(struct stack_pool *pool, int64_t now);

/* From now on a fault in a guard of this pool is reported as an overflow and ends the program. Any
 * other fault is handled as before. The faulting thread needs a signal stack. -EBUSY: another pool
 * is watched. */
W_MUST_CHECK int w_stack_watch(struct stack_pool *pool);
void w_stack_unwatch(struct stack_pool *pool);

#endif
