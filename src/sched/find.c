/* sched/find.c - step 3': where the next goroutine comes from: a list of sources, tried in order.
 *
 * Called by   schedule, on g0, by an M that holds a P.
 * Calls       timers, queue, globq, steal; idle when all have nothing.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/assert.h"
#include "sched/sched.h"

/* Fires what is due on this P. One goroutine that nobody stands before is run right away; else it
 * is a submission like any other, and so are many. */
static struct g *from_timers(struct m *mp)
{
        struct p *pp = mp->p;

        if (W_LIKELY(w_timers_next_at(&pp->timers) > pp->now))
                return NULL;
        bool     alone = w_p_has_no_work(pp) && pp->tick % W_GLOBAL_EVERY != 0;
        uint32_t n = w_timers_run(&pp->timers, pp->now);

        if (n == 1 && !alone)
                w_wake_one();
        return NULL;
}

/* Fairness: however busy the own queue is, the global one gets a look every 61st tick. */
static struct g *from_global_in_turn(struct m *mp)
{
        if (mp->p->tick % W_GLOBAL_EVERY != 0)
                return NULL;
        mp->p->tick++;          /* its turn is over, whether or not somebody is there */
        if (w_load_rlx(&w_sched.n_globq) == 0)                    /* hint */
                return NULL;
        w_lock(&w_sched.lock);
        struct g *gp = w_globq_get_locked();

        w_unlock(&w_sched.lock);
        return gp;
}

static struct g *from_own_queue(struct m *mp)
{
        return w_queue_take(mp->p);
}

/* The rest goes to the own ring, which is empty. While it is in neither queue the last look of a
 * looker may miss it, so this is a submission like any other: somebody is woken for it. */
static struct g *from_global(struct m *mp)
{
        struct queue rest = { 0 };

        if (w_load_rlx(&w_sched.n_globq) == 0)                    /* hint: again in idle */
                return NULL;
        w_lock(&w_sched.lock);
        struct g *gp = w_globq_get_batch_locked(&rest);

        bool more = rest.n != 0;

        w_unlock(&w_sched.lock);
        for (struct queue_node *n; (n = w_queue_pop(&rest));)
                w_queue_ring(mp->p, W_CONTAINER_OF(n, struct g, link));
        mp->p->tick++;
        if (more)
                w_wake_one();
        return gp;
}

/* Admission: no more lookers than half of the busy Ps. A heuristic, read without order. */
static bool may_look(struct m *mp)
{
        uint32_t busy = w_sched.n_procs - w_load_rlx(&w_sched.n_idle_p);        /* hint */

        return mp->spinning || 2 * w_load_rlx(&w_sched.n_spinning) < busy;      /* hint */
}

static struct g *from_others(struct m *mp)
{
        if (w_sched.n_procs == 1 || !may_look(mp))
                return NULL;
        if (!mp->spinning)
                w_spin_begin(mp);
        mp->p->tick++;
        struct g *gp = w_steal(mp);

        return gp ? gp : w_steal_timers(mp);
}

static struct g *(*const sources[])(struct m *mp) = {
        from_timers,
        from_global_in_turn,
        from_own_queue,
        from_global,
        from_others,
};

static struct g *try_sources(struct m *mp)
{
        for (size_t i = 0; i < W_ARRAY_LEN(sources); i++) {
                struct g *gp = sources[i](mp);

                if (gp)
                        return gp;
        }
        return NULL;
}

/* What made somebody say that a timer is due has happened by the time that is read here. */
static void read_clock(struct p *pp)
{
        uint32_t answered = W_ATTENTION_DUE | W_ATTENTION_YIELD;

        if (W_UNLIKELY(w_load_rlx(&pp->attention) & answered))    /* hint */
                w_and_rlx(&pp->attention, ~answered);             /* hint */
        pp->now = w_os_now();
}

struct g *w_find(struct m *mp)
{
        for (;;) {
                if (w_load_rlx(&w_sched.stopping) && !w_stop_here(mp))          /* hint */
                        return NULL;
                read_clock(mp->p);
                struct g *gp = try_sources(mp);

                if (gp) {
                        if (mp->spinning)
                                w_spin_end_found(mp);
                        return gp;
                }
                if (!w_idle(mp))
                        return NULL;
        }
}
