/* sched/schedule.c - step 3: the loop of an M: find a goroutine, run it, repeat.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/schedule.h"

#include "base/assert.h"
#include "sched/idle.h"
#include "sched/preempt/preempt.h"
#include "sched/queue/globq.h"
#include "sched/queue/queue.h"
#include "sched/run/world.h"
#include "sched/sched.h"
#include "sched/steal.h"
#include "sched/switch.h"
#include "sched/thread/lockthread.h"
#include "sched/thread/netpoll.h"
#include "sched/thread/sleep.h"

enum {
        POLL_EVERY_NS = 250000,         /* descriptors, while there is other work */
        POLL_BEHIND_NS = 1000000,       /* the same while the global queue is not empty */
        PREEMPTED_WAIT_NS = 10000000,   /* a slice: as long as a preempted M runs in its turn */
};

/* Fires the timers that are due on this P. A single goroutine that is alone in the queue runs at
 * once. Otherwise the goroutines are a submission like any other, and an M is woken. */
static void run_timers(struct m *mp)
{
        struct p *pp = mp->p;

        if (W_LIKELY(w_timers_next_at(&pp->timers) > pp->now))
                return;
        bool     alone = w_p_has_no_work(pp) && pp->tick % W_GLOBAL_EVERY != 0;
        uint32_t n = w_timers_run(&pp->timers, pp->now);

        if (n == 1 && !alone)
                w_wake_one();
}

/* Gives this P to a preempted M, if there is one. */
static void serve_preempted(struct m *mp)
{
        if (W_UNLIKELY(w_preempt_any()) && w_preempt_serve(mp) && mp->spinning)
                w_spin_end_found(mp);
}

/* Takes a batch from the global queue. The first goroutine is returned, the rest goes to the own
 * ring. While the rest is in neither queue, the last scan of a spinner may miss it. So this is a
 * submission like any other, and an M is woken for it. */
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

/* False right after a turn of a preempted M: a turn is long, and the goroutines in the queues have
 * waited for its end. */
static bool preempted_have_waited(const struct p *pp)
{
        int64_t over_at = (int64_t)w_load_rlx(&w_sched.preempt.turn_over_at);   /* hint */

        return pp->now - over_at >= PREEMPTED_WAIT_NS;
}

/* Fairness: every 61st tick looks at the global queue, however busy the own queue is; every other
 * time at the preempted Ms first, if there are any. One goroutine runs at once. Goroutines that
 * yield keep the ring full. If only one goroutine came from the global queue each time, the
 * goroutines there would wait 61 times as long as those that yield. So more come into the ring, up
 * to half of its free room. */
static struct g *from_global_fair(struct m *mp)
{
        if (mp->p->tick % W_GLOBAL_EVERY != 0)
                return NULL;
        bool preempted_first = mp->p->tick / W_GLOBAL_EVERY % 2;

        mp->p->tick++;          /* the turn of the global queue is over, empty or not */
        if ((preempted_first || w_load_rlx(&w_sched.n_globq) == 0) &&  /* hint */
            preempted_have_waited(mp->p))
                serve_preempted(mp);
        if (!mp->p || w_load_rlx(&w_sched.n_globq) == 0)          /* hint */
                return NULL;
        uint32_t len = w_runq_len_hint(&mp->p->runq);

        return take_from_global(mp, 1 + (len < W_RUNQ_CAP ? W_RUNQ_CAP - len : 0) / 2);
}

static struct g *from_global(struct m *mp)
{
        if (w_load_rlx(&w_sched.n_globq) == 0)                    /* hint: again in idle */
                return NULL;
        struct g *gp = take_from_global(mp, W_RUNQ_HALF);

        mp->p->tick++;
        return gp;
}

/* Steals from other Ps. No more Ms spin than half of the busy Ps: a heuristic, read without
 * order. */
static struct g *from_others(struct m *mp)
{
        uint32_t busy = w_n_procs() - w_load_rlx(&w_sched.n_idle_p);    /* hint */

        if (w_n_procs() == 1)
                return NULL;
        if (!mp->spinning && 2 * w_load_rlx(&w_sched.n_spinning) >= busy)       /* hint */
                return NULL;
        if (!mp->spinning)
                w_spin_begin(mp);
        mp->p->tick++;
        struct g *gp = w_steal(mp);

        return gp ? gp : w_steal_timers(mp);
}

/* Where the next goroutine comes from, in this order. Returns NULL without a P if a preempted M got
 * the P.
 *
 * Descriptors are polled now and then, however much other work there is. Goroutines in the global
 * queue came first. While there are any, the goroutines that the poll wakes line up behind them,
 * and the poll is less urgent. */
static struct g *search(struct m *mp)
{
        struct g *gp;

        run_timers(mp);
        bool behind = w_load_rlx(&w_sched.n_globq) != 0;          /* hint */
        w_netpoll_poll(mp, behind ? POLL_BEHIND_NS : POLL_EVERY_NS, behind);
        if ((gp = from_global_fair(mp)) || !mp->p)
                return gp;
        if ((gp = w_queue_take(mp->p)))
                return gp;
        if ((gp = from_global(mp)))
                return gp;
        w_netpoll_poll_idle(mp);
        if ((gp = w_queue_take(mp->p)))
                return gp;
        serve_preempted(mp);
        return mp->p ? from_others(mp) : NULL;
}

/* Clears the attention bits before it reads the clock: what they announce has happened by then. */
static void read_clock(struct p *pp)
{
        uint32_t answered = W_ATTENTION_DUE | W_ATTENTION_YIELD | W_ATTENTION_GIVE;

        if (W_UNLIKELY(w_load_rlx(&pp->attention) & answered))    /* hint */
                w_and_rlx(&pp->attention, ~answered);             /* hint */
        pp->now = w_os_now();
}

struct g *w_schedule_find(struct m *mp)
{
        for (;;) {
                while (w_load_rlx(&w_sched.world.stopping) && !w_world_may_search(mp))  /* hint */
                        if (!w_world_stop_here(mp))
                                return NULL;
                read_clock(mp->p);
                struct g *gp = search(mp);

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

/* The M comes here without a P if its P was taken: PROTOCOL take (sched/preempt/take.c). A
 * dedicated M leaves its P to other Ms first: m0 by PROTOCOL threads (sched/thread/thread.c), an M
 * with a locked goroutine by PROTOCOL lockthread (sched/thread/lockthread.c). */
void w_schedule(struct m *mp)
{
        while (mp->p || w_thread_sleep(mp)) {
                if (W_UNLIKELY(w_m_is_special(mp)) && !w_thread_release_dedicated(mp))
                        return;
                struct g *gp = W_LIKELY(!mp->next_g) ? w_schedule_find(mp) : w_lockthread_next(mp);

                if (!gp)
                        return;
                if (W_UNLIKELY(gp->locked) && w_lockthread_give(mp, gp))
                        continue;
                w_execute(mp, gp);
                if (W_UNLIKELY(w_sched.config.migrate) && mp->p && !w_m_is_special(mp) &&
                    !w_thread_swap(mp))
                        return;
        }
}
