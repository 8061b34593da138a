/* sched/queue/runq.h - the run queue of one P: a ring of goroutines with the slot `next` in front.
 *
 * One owner (the M that holds the P) puts goroutines in and takes them out; any other thread may
 * take from the front. PROTOCOL runq stands in sched/queue/runq.c. Nothing here blocks, allocates,
 * or looks into a goroutine.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_QUEUE_RUNQ_H
#define W_SCHED_QUEUE_RUNQ_H

#include "base/assert.h"
#include "base/atomic.h"
#include "base/window.h"

struct g;

/* Go's figure: room for a burst of spawns, and a steal of half of it is worth its cache misses. */
#if !defined(W_RUNQ_CAP)
#define W_RUNQ_CAP 256
#endif

enum {
        W_RUNQ_HALF  = W_RUNQ_CAP / 2,          /* most that one grab takes */
        W_RUNQ_SPILL = W_RUNQ_HALF + 1,         /* what leaves a full ring: half, and the new one */
};

/* Key: O owner writes, anyone reads   a edge named   w changed with the world stopped only.
 * All zero is an empty queue.
 *
 * Owner-written and thief-written words are on lines of their own: the owner writes one for every
 * push, the takers the other for every pop. */
struct runq {
        W_CACHE_ALIGNED
        w_atomic_u32         tail;              /* O  [RQ1] next free position                    */
        w_atomic_u32         keep_next;         /* O  hint: the owner is about to take `next`     */
        bool                 alone;             /* w  there is no other P: no thief               */
        W_ATOMIC(struct g *) next;              /* a  [RQ4][RQ5] owner sets, anyone takes         */
        W_CACHE_ALIGNED
        w_atomic_u32         head;              /* a  [RQ2][RQ3] next position to take, by CAS    */
        W_CACHE_ALIGNED
        W_ATOMIC(struct g *) slots[W_RUNQ_CAP]; /* a  ordered by RQ1 and RQ2, hence relaxed       */
};

_Static_assert((W_RUNQ_CAP & (W_RUNQ_CAP - 1)) == 0 && W_RUNQ_CAP >= 4,
               "positions wrap at 2^32, so the capacity must divide that");
_Static_assert(offsetof(struct runq, head) >= W_CACHELINE, "head and tail on separate lines");

/* ---- The owner: the M that holds the P; any stack; may switch: no ---------------------------- */

/* For gp that found no room. If thieves have made room meanwhile gp is appended and the result is
 * 0. Else the oldest half of the ring and then gp move to `out`; the result is W_RUNQ_SPILL, and
 * the caller owes them to the global queue. */
W_MUST_CHECK uint32_t w_runq_spill(struct runq *q, struct g *gp, struct g *out[W_RUNQ_SPILL]);

/* Appends as many of gs[0..n) as there is room for, in order and visible all at once; how many. */
W_MUST_CHECK uint32_t w_runq_push_batch(struct runq *q, struct g *const gs[], uint32_t n);

/* The rest of the owner's part is inline: it stands on the path of every spawn and every switch.
 * The steps are those of PROTOCOL runq. */

/* [RQ3] as an executable check. */
W_INLINE uint32_t w_runq_distance(uint32_t head, uint32_t tail)
{
        W_ASSERT((int32_t)(tail - head) >= 0);
        return tail - head;
}

/* Appends gp. Returns NULL, or gp itself if the ring is full: then w_runq_spill(). */
W_MUST_CHECK W_INLINE struct g *w_runq_push(struct runq *q, struct g *gp)
{
        uint32_t h = w_load_acq(&q->head);                        /* [RQ2] */
        uint32_t t = w_load_rlx(&q->tail);                        /* own word */

        if (w_runq_distance(h, t) >= W_RUNQ_CAP)
                return gp;
        w_store_rlx(&q->slots[t % W_RUNQ_CAP], gp);               /* guarded by the tail */
        W_WINDOW("runq-before-publish");
        w_store_rel(&q->tail, t + 1);                             /* [RQ1] */
        return NULL;
}

/* Only the owner fills `next`, so what it reads as NULL is NULL; anything else may be gone by now,
 * and the exchange tells. */
W_INLINE struct g *w_runq_replace_next(struct runq *q, struct g *gp)
{
        struct g *old = w_load_rlx(&q->next);                     /* own word */

        if (old && !q->alone)
                return w_xchg_rel(&q->next, gp);                  /* [RQ4][RQ5] */
        if (old != gp)
                w_store_rel(&q->next, gp);                        /* [RQ4][RQ5] */
        return old;
}

/* Puts gp in front of the ring; the goroutine that stood there goes to the tail. Returns NULL, or
 * the displaced one if the ring is full: then w_runq_spill(). */
W_MUST_CHECK W_INLINE struct g *w_runq_push_next(struct runq *q, struct g *gp)
{
        struct g *old = w_runq_replace_next(q, gp);

        if (!old)
                return NULL;
        W_WINDOW("runq-next-in-hand");
        return w_runq_push(q, old);
}

W_INLINE struct g *w_runq_take_oldest(struct runq *q)
{
        uint32_t h = w_load_rlx(&q->head);                        /* guarded by the CAS */
        uint32_t t = w_load_rlx(&q->tail);                        /* own word */

        for (;;) {
                if (h == t)
                        return NULL;
                struct g *gp = w_load_rlx(&q->slots[h % W_RUNQ_CAP]);   /* own word */
                W_WINDOW("runq-before-claim");
                if (q->alone) {
                        w_store_rel(&q->head, h + 1);             /* [RQ3] */
                        return gp;
                }
                if (w_cas_rel(&q->head, &h, h + 1))               /* [RQ3] */
                        return gp;
        }
}

/* Says that the owner stands between two goroutines and will pop at once; thieves then leave
 * `next` where it is. The next pop of either kind ends it. */
W_INLINE void w_runq_keep_next(struct runq *q)
{
        w_store_rlx(&q->keep_next, 1);                            /* hint */
}

/* The line is written only if it changes. */
W_INLINE void w_runq_end_keeping(struct runq *q)
{
        if (w_load_rlx(&q->keep_next))                            /* own word */
                w_store_rlx(&q->keep_next, 0);                    /* hint */
}

/* Takes the goroutine in `next`, or NULL. It inherits the slice of the goroutine that put it there.
 * */
W_INLINE struct g *w_runq_pop_next(struct runq *q)
{
        w_runq_end_keeping(q);
        return w_runq_replace_next(q, NULL);
}

/* Takes the oldest of the ring and leaves `next` alone: for the hop after too many through it. */
W_INLINE struct g *w_runq_pop_ring(struct runq *q)
{
        w_runq_end_keeping(q);
        return w_runq_take_oldest(q);
}

/* ---- Thieves: any thread; may switch: no ----------------------------------------------------- */

enum runq_grab {
        W_GRAB_RING,            /* every round but the last: `next` stays with its owner */
        W_GRAB_NEXT_TOO,        /* last round: if the ring is empty, `next` unless it is kept */
};

/* Moves the older half (rounded up) of the victim's ring to `out`, oldest first; how many. 0: the
 * ring was empty and `next` not to be had. */
W_MUST_CHECK uint32_t w_runq_grab(struct runq *victim, struct g *out[W_RUNQ_HALF],
                                  enum runq_grab how);

/* Grabs for the owner of `q`: the oldest is returned to be run, the others are appended to q. NULL
 * if there was nothing. q must have room for W_RUNQ_HALF - 1: a looker's own queue is empty. */
struct g *w_runq_steal(struct runq *q, struct runq *victim, enum runq_grab how);

/* ---- Anyone ---------------------------------------------------------------------------------- */

/* True only if there was an instant with nothing in ring and `next`. A goroutine that the owner is
 * just moving from `next` to the ring may not be counted by a third party that takes `next` at the
 * same time; the owner has not finished its push then and will look for sleepers afterwards. */
bool w_runq_is_empty(const struct runq *q);

/* How many there are, for reports and heuristics; up to one wrong per operation under way. */
uint32_t w_runq_len_hint(const struct runq *q);

#endif
