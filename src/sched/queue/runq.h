/* sched/queue/runq.h - the run queue of one P: a ring of goroutines with the slot `next` in front.
 *
 * The owner, which is the M that holds the P, puts goroutines in and takes them out. Any other
 * thread may take from the front. PROTOCOL runq stands in sched/queue/runq.c. No function here
 * blocks, allocates, or reads a goroutine's record.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_QUEUE_RUNQ_H
#define W_SCHED_QUEUE_RUNQ_H

#include "base/assert.h"
#include "base/atomic.h"
#include "base/window.h"

struct g;

/* Go's number. It gives room for a burst of spawns, and a steal of half the ring is worth its cache
 * misses. */
#if !defined(W_RUNQ_CAP)
#define W_RUNQ_CAP 256
#endif

enum {
        W_RUNQ_HALF  = W_RUNQ_CAP / 2,          /* the most that one grab takes */
        W_RUNQ_SPILL = W_RUNQ_HALF + 1,         /* leave a full ring: half, and the new goroutine */
};

/* Key: O owner writes, any thread reads   a edge named   w changes with the world stopped only.
 * All zero is an empty queue.
 *
 * The words that the owner writes and the words that takers write are on separate cache lines: the
 * owner writes its line at every push, takers write theirs at every pop. */
struct runq {
        W_CACHE_ALIGNED
        w_atomic_u32         tail;              /* O  [RQ1] next free position                    */
        w_atomic_u32         keep_next;         /* O  hint: the owner is about to take `next`     */
        bool                 alone;             /* w  there is no other P: no thief               */
        W_ATOMIC(struct g *) next;              /* a  [RQ4][RQ5] owner sets, any thread takes     */
        W_CACHE_ALIGNED
        w_atomic_u32         head;              /* a  [RQ2][RQ3] next position to take, by CAS    */
        W_CACHE_ALIGNED
        W_ATOMIC(struct g *) slots[W_RUNQ_CAP]; /* a  ordered by RQ1 and RQ2, hence relaxed       */
};

_Static_assert((W_RUNQ_CAP & (W_RUNQ_CAP - 1)) == 0 && W_RUNQ_CAP >= 4,
               "positions wrap at 2^32, so the capacity must divide that");
_Static_assert(offsetof(struct runq, head) >= W_CACHELINE, "head and tail on separate lines");

/* ---- The owner: the M that holds the P; any stack; may switch: no ---------------------------- */

/* For a goroutine gp for which w_runq_push found no room. If thieves have made room meanwhile,
 * appends gp and returns 0. Otherwise moves the oldest half of the ring and then gp to `out`, and
 * returns W_RUNQ_SPILL. The caller must put these goroutines into the global queue. */
W_MUST_CHECK uint32_t w_runq_spill(struct runq *q, struct g *gp, struct g *out[W_RUNQ_SPILL]);

/* Appends as many of gs[0..n) as there is room for, in order; all become visible at once. Returns
 * how many. */
W_MUST_CHECK uint32_t w_runq_push_batch(struct runq *q, struct g *const gs[], uint32_t n);

/* The other functions of the owner are inline, because every spawn and every switch uses them.
 * Their steps are those of PROTOCOL runq. */

/* [RQ3] as an executable check. */
W_INLINE uint32_t w_runq_distance(uint32_t head, uint32_t tail)
{
        W_ASSERT((int32_t)(tail - head) >= 0);
        return tail - head;
}

/* Appends gp. Returns NULL, or gp itself if the ring is full; the caller must call w_runq_spill()
 * then. */
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

/* Puts gp, which may be NULL, into `next` and returns the goroutine that was there. Only the owner
 * fills `next`: if the owner reads NULL, `next` is NULL. If it reads a goroutine, a thief may have
 * taken it by now; the exchange tells. */
W_INLINE struct g *w_runq_replace_next(struct runq *q, struct g *gp)
{
        struct g *old = w_load_rlx(&q->next);                     /* own word */

        if (old && !q->alone)
                return w_xchg_rel(&q->next, gp);                  /* [RQ4][RQ5] */
        if (old != gp)
                w_store_rel(&q->next, gp);                        /* [RQ4][RQ5] */
        return old;
}

/* Puts gp into `next`; the goroutine that was there goes to the tail of the ring. Returns NULL, or
 * the displaced goroutine if the ring is full; the caller must call w_runq_spill() then. */
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

/* Says that the owner is between two goroutines and will pop at once. Thieves then leave `next`
 * where it is. The next pop, from `next` or from the ring, ends this. */
W_INLINE void w_runq_keep_next(struct runq *q)
{
        w_store_rlx(&q->keep_next, 1);                            /* hint */
}

/* Writes the cache line only if the word changes. */
W_INLINE void w_runq_end_keeping(struct runq *q)
{
        if (w_load_rlx(&q->keep_next))                            /* own word */
                w_store_rlx(&q->keep_next, 0);                    /* hint */
}

/* Takes the goroutine in `next`, or NULL. The goroutine inherits the slice of the goroutine that
 * put it there. */
W_INLINE struct g *w_runq_pop_next(struct runq *q)
{
        w_runq_end_keeping(q);
        return w_runq_replace_next(q, NULL);
}

/* Takes the oldest goroutine of the ring and leaves `next` alone. Used also after too many hops
 * through `next`. */
W_INLINE struct g *w_runq_pop_ring(struct runq *q)
{
        w_runq_end_keeping(q);
        return w_runq_take_oldest(q);
}

/* ---- Thieves: any thread; may switch: no ----------------------------------------------------- */

enum runq_grab {
        W_GRAB_RING,            /* every round except the last: leaves `next` alone */
        W_GRAB_NEXT_TOO,        /* last round: takes `next` if the ring is empty and
                                 * keep_next is not set */
};

/* Moves the older half (rounded up) of the victim's ring to `out`, oldest first. Returns how many.
 * 0: the ring was empty, and `next` was not available. */
W_MUST_CHECK uint32_t w_runq_grab(struct runq *victim, struct g *out[W_RUNQ_HALF],
                                  enum runq_grab how);

/* Grabs goroutines for the owner of q. Returns the oldest, which the caller runs; appends the
 * others to q. NULL: there was none. q must have room for W_RUNQ_HALF - 1 goroutines: the queue of
 * an M that searches for work is empty. */
struct g *w_runq_steal(struct runq *q, struct runq *victim, enum runq_grab how);

/* ---- Any thread ------------------------------------------------------------------------------ */

/* True only if there was an instant with nothing in the ring and in `next`. A goroutine that the
 * owner is moving from `next` to the ring may be missed, if another thread takes `next` at the same
 * time. The owner has not finished its push then, and checks afterwards whether it must wake an
 * M. */
bool w_runq_is_empty(const struct runq *q);

/* Returns how many goroutines there are, for reports and heuristics. Each operation under way may
 * make the number wrong by one. */
uint32_t w_runq_len_hint(const struct runq *q);

#endif
