/* sched/steal.c - step 7: take work from another P.
 *
 * Protocols   cites runq (sched/queue/runq.c), idle (sched/idle.c), timers (sched/timer/timers.c).
 *
 * Each round visits every victim once, in an order that differs from round to round. After the ring
 * the oldest parent is taken: it is the root of the most work, and its P would run it last. `next`
 * is taken only in the last round, and only if it stays there for a moment. Mostly the victim is
 * about to run it, and moving it would lose the locality that the slot is for.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/steal.h"

#include "base/assert.h"
#include "base/tuning.h"
#include "sched/queue/queue.h"
#include "sched/sched.h"

enum { ROUNDS = 4 };

/* True: the same goroutine stands in `next` for a while. */
static bool next_is_stale(struct p *victim)
{
        struct g *before = w_load_rlx(&victim->runq.next);        /* hint */

        if (!before)
                return false;
        for (int i = 0; i < W_TUNE_STEAL_PAUSES; i++)
                w_cpu_pause();
        return w_load_rlx(&victim->runq.next) == before;          /* hint */
}

static struct g *steal_from(struct m *mp, struct p *victim, bool last)
{
        struct g *gp = w_runq_steal(&mp->p->runq, &victim->runq, W_GRAB_RING);

        if (!gp)
                gp = w_parents_take_oldest(&victim->parents);
        if (!gp && last && next_is_stale(victim))
                gp = w_runq_steal(&mp->p->runq, &victim->runq, W_GRAB_NEXT_TOO);
        return gp;
}

struct g *w_steal(struct m *mp)
{
        for (int round = 0; round < ROUNDS; round++) {
                struct visit order = w_visit_begin(&w_sched.steal_order, &mp->p->rand);
                uint32_t     at;

                while (w_visit_next(&order, &at)) {
                        struct p *victim = w_sched.all_p[at];
                        struct g *gp;

                        if (victim == mp->p)
                                continue;
                        gp = steal_from(mp, victim, round == ROUNDS - 1);
                        if (gp) {
                                w_p_count(&mp->p->stats.steals, 1);
                                return gp;
                        }
                }
        }
        return NULL;
}

/* Due timers are work of a P that is too busy to fire them. The goroutines that they wake go to the
 * caller's queue; a spinner that finds work there wakes the next spinner. */
struct g *w_steal_timers(struct m *mp)
{
        for (uint32_t i = 0; i < w_n_procs(); i++) {
                struct timers *ts = &w_sched.all_p[i]->timers;

                if (w_timers_next_at(ts) > mp->p->now)
                        continue;
                (void)w_timers_run(ts, mp->p->now);
                struct g *gp = w_queue_take(mp->p);

                if (gp)
                        return gp;
        }
        return NULL;
}
