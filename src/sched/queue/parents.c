/* sched/queue/parents.c - step 2'': where parents wait that a newer parent has displaced from
 * `next`.
 *
 * Called by   queue (push, pop), steal (take the oldest), idle (is there work?).
 *
 * PROTOCOL parents
 *
 * Goal      every goroutine put in comes out exactly once; last in, first out for the owner; any
 *           thread can have the oldest, so that nothing runnable is hidden from a thread without
 *           work while the owner computes.
 * Parties   owner, thieves, onlookers.
 * Words     slots: filled by the owner, emptied by the thread that exchanges or CASes it to NULL.
 *           top: the owner's; nothing lies at or above it.
 * Push      1 store the slot at top [PA1]   2 top + 1 [PA2]
 * Pop       1 top - 1   2 exchange the slot there with NULL; NULL: a thief was here, again from 1
 * Oldest    1 load top [PA2]   2 from the bottom: a slot that is not NULL: CAS to NULL [PA1]
 * Edges     [PA1] goroutine visible   push: slot store-release -> take: slot CAS-acquire
 *           [PA2] slot visible        push: top store-release -> onlooker: top load-acquire
 * Why once  only the exchange or CAS that finds the goroutine has it. A slot that was emptied and
 *           filled again with the same one, by the owner, holds it rightly.
 * Why no onlooker is fooled   a goroutine comes here from `next`, and a thread that reads the run
 *                             queue
 *           first and here second meets it: if it was gone from `next`, [RQ5] of PROTOCOL runq
 *           (sched/queue/runq.c) shows this push too, as it came before anything was taken from
 *           `next`. One that leaves here is run by its taker or stolen with a wake to follow.
 * Rejected  the owner's end of the ring as a stack (steal-half and a pop at the tail need a fence
 *           per pop, and a proof that no thread has); a private list (its P computes, others idle).
 * Tests     unit/test_parents.c, explore scenarios parents-*, sim scenario sched_child_first;
 *           mutants parents-*; window parents-before-claim.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/queue/parents.h"

#include "base/window.h"

bool w_parents_push(struct parents *ps, struct g *gp)
{
        uint32_t top = w_load_rlx(&ps->top);                      /* own word */

        if (top == W_PARENTS_CAP)
                return false;
        w_store_rel(&ps->slots[top], gp);                         /* [PA1] */
        w_store_rel(&ps->top, top + 1);                           /* [PA2] */
        return true;
}

struct g *w_parents_pop(struct parents *ps)
{
        for (uint32_t top = w_load_rlx(&ps->top); top > 0;) {     /* own word */
                w_store_rlx(&ps->top, --top);                     /* hint: the slot decides */
                if (!w_load_rlx(&ps->slots[top]))                 /* own word: only we fill it */
                        continue;
                struct g *gp = w_xchg_rlx(&ps->slots[top], NULL); /* own word: what we put there */

                if (gp)
                        return gp;
        }
        return NULL;
}

struct g *w_parents_take_oldest(struct parents *ps)
{
        uint32_t top = w_load_acq(&ps->top);                      /* [PA2] */

        for (uint32_t i = 0; i < top; i++) {
                struct g *gp = w_load_rlx(&ps->slots[i]);         /* guarded by the CAS */

                W_WINDOW("parents-before-claim");
                if (gp && w_cas_acq(&ps->slots[i], &gp, NULL))    /* [PA1] */
                        return gp;
        }
        return NULL;
}

bool w_parents_is_empty(const struct parents *ps)
{
        uint32_t top = w_load_acq(&ps->top);                      /* [PA2] */

        for (uint32_t i = 0; i < top; i++)
                if (w_load_rlx(&ps->slots[i]))                    /* guarded by PA2 */
                        return false;
        return true;
}

uint32_t w_parents_len_hint(const struct parents *ps)
{
        return w_load_rlx(&ps->top);                              /* hint */
}
