/* sched/steal.c - step 7: take work from another P.
 *
 * Called by   find, by a spinning M that holds an empty P.
 * Protocols   cites runq (sched/queue/runq.c), idle (sched/idle.c), timers (sched/timer/timers.c).
 *
 * Victims are visited in an order that reaches each once per round and differs from round to round.
 * The oldest parent is the root of the most work, and its P will come to it last.
 * `next` is taken only in the last round, and only if it stays where it is for a moment: mostly the
 * victim is about to run it, and moving it would undo the locality that slot is for.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/assert.h"
#include "sched/sched.h"

enum {
        ROUNDS = 4,
#if defined(W_HOOKED)
        PATIENCE = 0,           /* an engine chooses who runs: waiting only makes runs longer */
#else
        PATIENCE = 100,         /* pauses before `next` is taken: some 3 us */
#endif
};

/* True if the same goroutine stood in `next` for a while. */
static bool next_is_stale(struct p *victim)
{
        struct g *before = w_load_rlx(&victim->runq.next);        /* hint */

        if (!before)
                return false;
        for (int i = 0; i < PATIENCE; i++)
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

/* Due timers count as work of a P that does not get round to it. The woken go to the own queue, and
 * whoever finds something there wakes the next looker. */
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
