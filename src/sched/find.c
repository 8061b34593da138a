/* sched/find.c - step 3': where the next goroutine comes from: a list of sources, tried in order.
 *
 * Called by   schedule, on g0, by an M that holds a P.
 * Calls       timers, netpoll, queue, globq, hogs, steal; idle when all have nothing.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/assert.h"
#include "sched/preempt/preempt.h"
#include "sched/thread/netpoll.h"
#include "sched/thread/lockthread.h"

enum {
        LOOK_EVERY_NS = 250000,         /* at descriptors, while there is other work */
        LOOK_BEHIND_NS = 1000000,       /* the same while somebody waits in the global queue */
        PREEMPTED_WAIT_NS = 10000000,        /* a slice: as long as one of them has run */
};

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

/* However much there is to do, descriptors get a look now and then. Those who wait in the global
 * queue came before whom that wakes, who would else go on before them again and again: so it lines
 * up behind them, and there is less hurry. */
static struct g *from_descriptors_in_time(struct m *mp)
{
        bool behind = w_load_rlx(&w_sched.n_globq) != 0;          /* hint */

        w_netpoll_poll(mp, behind ? LOOK_BEHIND_NS : LOOK_EVERY_NS, behind);
        return NULL;
}

/* Who has nothing to do looks at once, if it is likely to find something. */
static struct g *from_descriptors(struct m *mp)
{
        w_netpoll_poll_idle(mp);
        return w_queue_take(mp->p);
}

/* No goroutine comes from there: a thread that is held gets this P, if there is one. */
static struct g *serve_preempted(struct m *mp)
{
        if (W_UNLIKELY(w_preempt_any()) && w_preempt_serve(mp) && mp->spinning)
                w_spin_end_found(mp);
        return NULL;
}

/* The rest of what comes from the global queue goes to the own ring. While it is in neither queue
 * the last look of a looker may miss it, so this is a submission like any other: somebody is woken
 * for it. */
static struct g *take_from_global(struct m *mp, uint32_t most)
{
        struct queue rest = { 0 };

        w_lock(&w_sched.lock);
        struct g *gp = w_globq_get_batch_locked(&rest, most);

        bool more = rest.n != 0, pinned = w_sched.n_locked != 0;

        w_unlock(&w_sched.lock);
        if (W_UNLIKELY(pinned))
                w_lockthread_sort_out(&rest);
        for (struct queue_node *n; (n = w_queue_pop(&rest));)
                w_queue_put(mp->p, W_CONTAINER_OF(n, struct g, link));
        if (more)
                w_wake_one();
        return gp;
}

/* Not right after one of them had its turn: that is long, and who waits in the queues has waited
 * for its end. */
static bool preempted_have_waited(const struct p *pp)
{
        return pp->now - (int64_t)w_load_rlx(&w_sched.turn_over_at) >= PREEMPTED_WAIT_NS; /* hint */
}

/* Fairness: however busy the own queue is, every 61st tick the global one gets a look; every other
 * time those who are held, if there are any. One goroutine runs at once. Goroutines that yield keep
 * the ring full, and with one each time all others would wait 61 times as long as they: so more
 * come into the ring, up to half of the room that is there. */
static struct g *from_global_fair(struct m *mp)
{
        if (mp->p->tick % W_GLOBAL_EVERY != 0)
                return NULL;
        bool preempted_first = mp->p->tick / W_GLOBAL_EVERY % 2;

        mp->p->tick++;          /* its turn is over, whether or not somebody is there */
        if ((preempted_first || w_load_rlx(&w_sched.n_globq) == 0) &&  /* hint */
            preempted_have_waited(mp->p))
                (void)serve_preempted(mp);
        if (!mp->p || w_load_rlx(&w_sched.n_globq) == 0)          /* hint */
                return NULL;
        uint32_t len = w_runq_len_hint(&mp->p->runq);

        return take_from_global(mp, 1 + (len < W_RUNQ_CAP ? W_RUNQ_CAP - len : 0) / 2);
}

static struct g *from_own_queue(struct m *mp)
{
        return w_queue_take(mp->p);
}

static struct g *from_global(struct m *mp)
{
        if (w_load_rlx(&w_sched.n_globq) == 0)                    /* hint: again in idle */
                return NULL;
        struct g *gp = take_from_global(mp, W_RUNQ_HALF);

        mp->p->tick++;
        return gp;
}

/* Admission: no more lookers than half of the busy Ps. A heuristic, read without order. */
static bool may_look(struct m *mp)
{
        uint32_t busy = w_n_procs() - w_load_rlx(&w_sched.n_idle_p);        /* hint */

        return mp->spinning || 2 * w_load_rlx(&w_sched.n_spinning) < busy;      /* hint */
}

static struct g *from_others(struct m *mp)
{
        if (w_n_procs() == 1 || !may_look(mp))
                return NULL;
        if (!mp->spinning)
                w_spin_begin(mp);
        mp->p->tick++;
        struct g *gp = w_steal(mp);

        return gp ? gp : w_steal_timers(mp);
}

static struct g *(*const sources[])(struct m *mp) = {
        from_timers,
        from_descriptors_in_time,
        from_global_fair,
        from_own_queue,
        from_global,
        from_descriptors,
        serve_preempted,
        from_others,
};

static struct g *try_sources(struct m *mp)
{
        for (size_t i = 0; i < W_ARRAY_LEN(sources) && mp->p; i++) {
                struct g *gp = sources[i](mp);

                if (gp)
                        return gp;
        }
        return NULL;
}

/* What made somebody say that a timer is due has happened by the time that is read here. */
static void read_clock(struct p *pp)
{
        uint32_t answered = W_ATTENTION_DUE | W_ATTENTION_YIELD | W_ATTENTION_GIVE;

        if (W_UNLIKELY(w_load_rlx(&pp->attention) & answered))    /* hint */
                w_and_rlx(&pp->attention, ~answered);             /* hint */
        pp->now = w_os_now();
}

struct g *w_find(struct m *mp)
{
        for (;;) {
                while (w_load_rlx(&w_sched.stopping) && !w_stop_may_wait(mp))     /* hint */
                        if (!w_stop_here(mp))
                                return NULL;
                read_clock(mp->p);
                struct g *gp = try_sources(mp);

                if (gp) {
                        mp->p->looks_first = false;
                        if (mp->spinning)
                                w_spin_end_found(mp);
                        return gp;
                }
                if (!(mp->p ? w_idle(mp) : w_thread_sleep(mp)))
                        return NULL;
        }
}
