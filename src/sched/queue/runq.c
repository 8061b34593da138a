/* sched/queue/runq.c - step 2: the queue in which a runnable goroutine waits for its P.
 *
 * PROTOCOL runq
 *
 * Goal      Every goroutine that is put in comes out exactly once, in order of arrival, except for
 *           `next`. The owner pays no fence and one CAS; a thief pays one CAS for half a ring.
 * Parties   owner (puts, takes), thieves (take), onlookers (w_runq_is_empty).
 * Words     tail   written by the owner only
 *           head   moved by CAS, by the owner and by thieves, only forward
 *           next   one goroutine in front of all others; only the owner makes it non-NULL
 *           Positions have 32 bits, wrap, and are compared by difference; slot = position mod
 *           capacity. The goroutines lie between head and tail. tail - head never exceeds the
 *           capacity.
 * Push      1. Load head [RQ2].
 *           2. The ring is full: give up.
 *           3. Write the slot.
 *           4. Store tail + 1 [RQ1].
 * Pop       1. Exchange next with NULL [RQ5]. It was not NULL: done.
 *           2. Read head and the own tail. They are equal: done, the queue is empty.
 *           3. Read the slot.
 *           4. CAS head + 1 [RQ3]; lost: go to 2.
 * Grab      1. Load head [RQ3].
 *           2. Load tail [RQ1].
 *           3. Copy n slots: half of the ring, rounded up.
 *           4. CAS head + n [RQ2][RQ3]; lost: throw the copies away, go to 2.
 *           5. The ring is empty, this is the last round, and keep_next is not set: CAS next to
 *              NULL [RQ4].
 * Edges     [RQ1] slot and goroutine visible   push: tail store-release -> grab: tail load-acquire
 *           [RQ2] copied before overwritten    grab: head CAS-release   -> push: head load-acquire
 *           [RQ3] tail not older than head     any taker: head CAS-release -> grab, is_empty: head
 *                 load-acquire. So tail - head is never negative. A difference above the capacity
 *                 means that head is old, and the CAS would fail.
 *           [RQ4] goroutine visible   push_next: next store or xchg-release -> grab: next
 *                 CAS-acquire
 *           [RQ5] no false "empty"    pop: next xchg-release -> is_empty: next load-acquire
 * Why nothing is lost or doubled   A slot between head and tail is not written: push writes only at
 *           tail, and only if head, which never moves backwards, leaves room. Head moves over a
 *           slot in one CAS, and the thread that makes this move has read the slot before. Its copy
 *           is right, because the slot can be overwritten only after the move. The copy of a thread
 *           that loses the CAS may be anything, and is thrown away; that is why slots are atomic.
 *           If head made exactly 2^32 moves between a thief's load and its CAS, the thief would be
 *           misled. At one move per nanosecond that takes 4 s, in which the thief must be stopped
 *           in the middle of ten instructions.
 * Why "empty" is true   See w_runq_is_empty().
 * keep_next A hint, which carries no order. A thief that misses it takes a goroutine that is warm
 *           in the cache of another CPU. A thief that obeys it leaves `next` to an owner that is
 *           about to pop. The owner sets keep_next only on its way to a pop, and the pop clears it,
 *           so no goroutine stays in `next` unseen.
 * Alone     With one P there are no thieves, only onlookers. The owner's exchange and CAS become a
 *           load and a store-release, which tell an onlooker the same.
 * Rejected  To claim first and copy after: the owner may reuse a slot as soon as head has moved.
 *           Plain slots: the read of a thief that loses races with the owner's write, which is
 *           undefined in C11. A Chase-Lev deque: LIFO for the owner, resizing needs reclamation,
 *           and stealing half is not proven. To grab `next` in every round: that undoes the
 *           locality for which `next` exists.
 * Tests     unit/test_runq.c, flow/sched/queue/test_runq_threads.c, explore scenarios ring-*, sim
 *           scenario ring, mutants ring-*; windows runq-before-claim, runq-before-publish,
 *           runq-next-in-hand, runq-between-reads.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/queue/runq.h"

#include "base/assert.h"
#include "base/window.h"

/* ---- Owner: what is not inline in runq.h ----------------------------------------------------- */

uint32_t w_runq_spill(struct runq *q, struct g *gp, struct g *out[W_RUNQ_SPILL])
{
        while (w_runq_push(q, gp)) {
                uint32_t t = w_load_rlx(&q->tail);                /* own word */
                uint32_t h = t - W_RUNQ_CAP;                      /* full: nowhere else */

                for (uint32_t i = 0; i < W_RUNQ_HALF; i++)
                        out[i] = w_load_rlx(&q->slots[(h + i) % W_RUNQ_CAP]); /* own word */
                if (w_cas_rel(&q->head, &h, h + W_RUNQ_HALF)) {   /* [RQ3] */
                        out[W_RUNQ_HALF] = gp;
                        return W_RUNQ_SPILL;
                }
        }
        return 0;
}

uint32_t w_runq_push_batch(struct runq *q, struct g *const gs[], uint32_t n)
{
        uint32_t h = w_load_acq(&q->head);                        /* [RQ2] */
        uint32_t t = w_load_rlx(&q->tail);                        /* own word */
        uint32_t room = W_RUNQ_CAP - w_runq_distance(h, t);

        if (n > room)
                n = room;
        for (uint32_t i = 0; i < n; i++)
                w_store_rlx(&q->slots[(t + i) % W_RUNQ_CAP], gs[i]);    /* guarded by the tail */
        W_WINDOW("runq-before-publish");
        if (n)
                w_store_rel(&q->tail, t + n);                     /* [RQ1] */
        return n;
}

/* ---- Thieves --------------------------------------------------------------------------------- */

/* Takes `next` only if it still holds the goroutine that was read. If the owner has put another
 * goroutine there meanwhile, the owner wants to run that goroutine itself. */
static uint32_t grab_next(struct runq *victim, struct g **out)
{
        struct g *gp = w_load_rlx(&victim->next);                 /* guarded by the CAS */

        if (!gp || w_load_rlx(&victim->keep_next))                /* hint */
                return 0;
        if (!w_cas_acq(&victim->next, &gp, NULL))                 /* [RQ4] */
                return 0;
        *out = gp;
        return 1;
}

uint32_t w_runq_grab(struct runq *victim, struct g *out[W_RUNQ_HALF], enum runq_grab how)
{
        uint32_t h = w_load_acq(&victim->head);                   /* [RQ3] */

        for (;;) {
                uint32_t t = w_load_acq(&victim->tail);           /* [RQ1] */
                uint32_t n = w_runq_distance(h, t);

                if (n == 0)
                        return how == W_GRAB_NEXT_TOO ? grab_next(victim, out) : 0;
                n -= n / 2;
                if (n > W_RUNQ_HALF) {  /* h is old: there were takes and pushes meanwhile */
                        h = w_load_acq(&victim->head);            /* [RQ3] */
                        continue;
                }
                /* If this thief is about to lose the CAS, the owner may overwrite these slots
                 * meanwhile. Then the CAS fails, and the copies are thrown away. */
                for (uint32_t i = 0; i < n; i++)
                        out[i] = w_load_rlx(&victim->slots[(h + i) % W_RUNQ_CAP]); /* guarded */
                W_WINDOW("runq-before-claim");
                if (w_cas_acqrel(&victim->head, &h, h + n))       /* [RQ2][RQ3]; loads h anew */
                        return n;
        }
}

struct g *w_runq_steal(struct runq *q, struct runq *victim, enum runq_grab how)
{
        struct g *got[W_RUNQ_HALF];
        uint32_t  n = w_runq_grab(victim, got, how);

        if (n == 0)
                return NULL;
        uint32_t kept = w_runq_push_batch(q, got + 1, n - 1);

        W_CHECK(kept == n - 1, "runq: stole %u goroutines into a queue with room for %u", n, kept);
        return got[0];
}

/* ---- Any thread ------------------------------------------------------------------------------ */

/* Three words cannot be read at one instant. There are two ways to be misled, and an edge against
 * each:
 *
 *   onlooker                       owner
 *   reads head == tail: no ring
 *                                  puts A from `next` (or B) into the ring: tail + 1
 *                                  takes what is in `next`
 *   reads next == NULL
 *
 * If `next` is NULL because the owner took it, [RQ5] shows the tail that was stored before. So the
 * second load of tail differs from the first, and the onlooker starts again.
 *
 *   onlooker                       owner
 *                                  puts B: tail + 1; takes A: head + 1
 *   reads the new head, the old tail: equal
 *
 * [RQ3] forbids the second way. */
bool w_runq_is_empty(const struct runq *q)
{
        for (;;) {
                uint32_t  h = w_load_acq(&q->head);               /* [RQ3] */
                uint32_t  t = w_load_rlx(&q->tail);               /* guarded by the second look */
                W_WINDOW("runq-between-reads");
                struct g *next = w_load_acq(&q->next);            /* [RQ5] */

                if (w_load_rlx(&q->tail) == t)                    /* guarded by RQ5 */
                        return w_runq_distance(h, t) == 0 && !next;
        }
}

uint32_t w_runq_len_hint(const struct runq *q)
{
        uint32_t h = w_load_acq(&q->head);                        /* [RQ3] */
        uint32_t n = w_load_rlx(&q->tail) - h;                    /* hint */

        if (n > W_RUNQ_CAP)     /* h is old */
                n = W_RUNQ_CAP;
        return n + (w_load_rlx(&q->next) != NULL);                /* hint */
}
