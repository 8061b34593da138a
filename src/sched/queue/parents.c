/* sched/queue/parents.c - step 2'': where parents wait after a newer parent has displaced them from
 * `next`.
 *
 * PROTOCOL parents
 *
 * Goal      Every goroutine that is put in comes out exactly once. The owner gets the newest
 *           goroutine first. Any thread can take the oldest. So an M without work finds every
 *           runnable goroutine, also while the owner computes.
 * Parties   owner, thieves, onlookers.
 * Words     slots   the owner fills a slot; the thread that moves it to NULL, by exchange or CAS,
 *                   has taken the goroutine
 *           top     written by the owner only; no goroutine lies at top or above it
 * Push      1. Store the goroutine to the slot at top [PA1].
 *           2. Store top + 1 [PA2].
 * Pop       1. top - 1.
 *           2. Exchange the slot at top with NULL. It was NULL already: a thief took the goroutine;
 *              go to 1.
 * Oldest    1. Load top [PA2].
 *           2. From the bottom up to top: if the slot is not NULL, CAS it to NULL [PA1]. The CAS
 *              succeeds: done.
 * Edges     [PA1] goroutine visible   push: slot store-release -> take: slot CAS-acquire
 *           [PA2] slot visible        push: top store-release -> onlooker: top load-acquire
 * Why once  Only the exchange or the CAS that finds the goroutine in the slot has taken it. Between
 *           the load and the CAS of a thief, the slot may be emptied, and filled by the owner with
 *           the same goroutine again. Then the goroutine is there again, and the thief may take it.
 * Why no onlooker is misled   A goroutine comes here from `next`. An onlooker reads the run queue
 *           first and the parents second. If the goroutine is gone from `next`, then by [RQ5] of
 *           PROTOCOL runq (sched/queue/runq.c) the onlooker sees this push too, because the push
 *           came before any later take from `next`. A goroutine that is taken from here runs on the
 *           M that took it, or was stolen, and a wake follows.
 * Rejected  The owner's end of the ring as a stack: to steal half and to pop at the tail needs a
 *           fence for each pop, and a proof that does not exist yet. A private list: while its P
 *           computes, other Ps would be idle.
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
                if (!w_load_rlx(&ps->slots[top]))                 /* own word: the owner fills it */
                        continue;
                struct g *gp = w_xchg_rlx(&ps->slots[top], NULL); /* own word: put by the owner */

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
