/* debug/check.c - weft_check: stops the world and checks every goroutine, thread and P.
 *
 * Protocols   cites world (sched/run/world.c), where (sched/preempt/enter.c), lockthread
 *             (sched/thread/lockthread.c).
 *
 * The invariants are numbered in sched/sched.h. A violation is fatal and says what was found.
 *
 * SPDX-License-Identifier: MIT
 */
#include "debug/check.h"

#include "base/assert.h"
#include "sched/thread/lockthread.h"
#include "sched/sched.h"

#include "sched/run/foreign.h"
#include "sched/run/world.h"
#include "sched/thread/thread.h"
#include "weft.h"

#include <errno.h>      /* ESHUTDOWN */

/* ---- Goroutines: I1, I2, I3, I11 ------------------------------------------------------------- */

/* Only goroutines in a queue are counted: any other goroutine may be used by a thread that is not
 * stopped. */
static void reset_count(struct g *gp)
{
        gp->n_queued = 0;
}

static void count_in_queue(struct g *gp)
{
        W_CHECK(w_g_state(gp) == G_RUNNABLE, "check: goroutine %ld is %s and is in a queue",
                (long)gp->id, w_g_state_name(w_g_state(gp)));
        W_CHECK(++gp->n_queued == 1, "check: goroutine %ld is in two queues", (long)gp->id);
}

/* A goroutine that is locked to its thread may be in the global queue only. */
static void count_in_p_queue(struct g *gp)
{
        W_CHECK(!gp->locked, "check: goroutine %ld is locked and is in the queue of a P",
                (long)gp->id);
        count_in_queue(gp);
}

static void walk_runq(const struct runq *q, void (*fn)(struct g *))
{
        uint32_t  head = w_load_acq(&q->head);                    /* [RQ3] */
        uint32_t  tail = w_load_acq(&q->tail);                    /* [RQ1] */
        struct g *next = w_load_acq(&q->next);                    /* [RQ5] */

        W_CHECK(tail - head <= W_RUNQ_CAP, "check: %u goroutines in a ring", tail - head);
        for (uint32_t i = head; i != tail; i++)
                fn(w_load_rlx(&q->slots[i % W_RUNQ_CAP]));        /* guarded by RQ1 */
        if (next)
                fn(next);
}

static void walk_parents(const struct parents *ps, void (*fn)(struct g *))
{
        uint32_t top = w_load_acq(&ps->top);                      /* [PA2] */

        for (uint32_t i = 0; i < top; i++) {
                struct g *gp = w_load_rlx(&ps->slots[i]);         /* guarded: stopped */

                if (gp)
                        fn(gp);
        }
}

static void walk_globq(void (*fn)(struct g *))
{
        uint32_t n = 0;

        for (struct queue_node *node = w_sched.globq.head; node; node = node->next, n++)
                fn(W_CONTAINER_OF(node, struct g, link));
        W_CHECK(n == w_sched.globq.n, "check: %u goroutines in the global queue, counted %u", n,
                w_sched.globq.n);
}

static void walk_queues(void (*own)(struct g *), void (*global)(struct g *))
{
        for (uint32_t i = 0; i < w_n_procs(); i++) {
                walk_runq(&w_sched.all_p[i]->runq, own);
                walk_parents(&w_sched.all_p[i]->parents, own);
        }
        walk_globq(global);
}

/* An M that has lost its P is not stopped, so it is skipped. */
static bool runs_on_a_thread(const struct g *gp)
{
        W_LIST_EACH(n, &w_sched.all_m) {
                struct m *mp = W_CONTAINER_OF(n, struct m, all_link);

                if (!mp->lost_p && mp->curg == gp)
                        return mp->p != NULL;
        }
        return false;
}

static bool runs(enum g_state state)
{
        return state == G_RUNNING || state == G_REGION || state == G_PREEMPTED;
}

/* gp is locked to its thread and waits: the thread sleeps too, or is about to sleep. */
static void check_lockthread(const struct g *gp)
{
        const struct m *mp = w_g_cold(gp)->locked_m;

        W_CHECK(gp->locked && mp->locked_g == gp && mp->dedicated && !mp->curg && !mp->next_g,
                "check: goroutine %ld waits, and its thread %u does not wait for it", (long)gp->id,
                mp->thread.id);
}

struct census {
        int64_t  n_live;
        uint32_t n_unseen;      /* running goroutines on threads that were not checked */
};

static bool check_g(void *record, void *arg)
{
        struct g    *gp = record;
        enum g_state state = w_g_state(gp);
        struct census *census = arg;

        W_CHECK(state < G_N_STATES, "check: goroutine %ld has state %d", (long)gp->id, (int)state);
        if (state == G_RUNNABLE)
                W_CHECK(gp->n_queued == 1, "check: goroutine %ld is runnable and in no queue",
                        (long)gp->id);
        if (runs(state) && !runs_on_a_thread(gp))
                W_CHECK(++census->n_unseen <= w_sched.n_lost,
                        "check: goroutine %ld runs on no thread", (long)gp->id);
        if (state == G_WAITING)
                W_CHECK(gp->reason != W_WAIT_NONE && gp->stack,
                        "check: goroutine %ld waits for nothing", (long)gp->id);
        if (w_lockthread_waits(gp))
                check_lockthread(gp);
        if (w_g_is_alive(state)) {
                W_CHECK(gp->id > 0 && gp->id_page, "check: a live goroutine without an id");
                census->n_live++;
        }
        return true;
}

/* ---- Threads and Ps: I5, I6, I7, I9, I12, I13 ------------------------------------------------ */

struct m_census {
        uint32_t n, n_asleep, n_lost, n_dedicated, n_leaving;
        uint32_t n_spinning;
};

/* Only for an M that has its P: an M without a P is not stopped, and may just lock or unlock. */
static void check_dedicated(const struct m *mp)
{
        const struct g *gp = mp->locked_g;

        W_CHECK(!gp || (gp->locked && w_g_cold(gp)->locked_m == mp),
                "check: thread %u is dedicated to goroutine %ld, which is not locked to it",
                mp->thread.id, (long)gp->id);
        W_CHECK(mp->is_main || mp->dedicated == (gp != NULL),
                "check: thread %u is dedicated without a goroutine, or the reverse", mp->thread.id);
}

static void count_m(const struct m *mp, struct m_census *census)
{
        census->n++;
        census->n_asleep += !w_list_empty(&mp->idle_link);
        census->n_lost += mp->lost_p != NULL;
        census->n_dedicated += mp->dedicated && !mp->lost_p;
        census->n_leaving += mp->leaves;
}

static void check_m_counts(const struct m_census *census)
{
        W_CHECK(census->n == w_sched.n_m, "check: %u threads found, %u counted", census->n,
                w_sched.n_m);
        W_CHECK(census->n_asleep == w_sched.n_idle_m + w_sched.n_dedicated_asleep,
                "check: %u threads sleep, %u counted", census->n_asleep,
                w_sched.n_idle_m + w_sched.n_dedicated_asleep);
        W_CHECK(census->n_lost == w_sched.n_lost, "check: %u threads without their P, %u counted",
                census->n_lost, w_sched.n_lost);
        W_CHECK(census->n_dedicated == w_sched.n_dedicated, "check: %u dedicated Ms, %u counted",
                census->n_dedicated, w_sched.n_dedicated);
        W_CHECK(census->n_leaving == w_sched.n_leaving, "check: %u threads leave, %u counted",
                census->n_leaving, w_sched.n_leaving);
        W_CHECK(census->n_spinning <= w_n_procs(), "check: %u threads spin on %u Ps",
                census->n_spinning, w_n_procs());
}

/* Preempted Ms stop and resume in a stopped world, but do not enter or leave the queue. */
static void check_preempted(void)
{
        W_LIST_EACH(n, &w_sched.preempt.queue) {
                struct m *mp = W_CONTAINER_OF(n, struct m, preempt_link);
                uint32_t  grant = w_load_rlx(&mp->grant);         /* guarded by the lock */

                W_CHECK(grant == W_GRANT_QUEUED || grant == W_GRANT_WAITING,
                        "check: thread %u waits for a P, and its grant is %u", mp->thread.id,
                        grant);
        }
}

static void check_m(struct m *mp, struct m_census *census)
{
        bool idle = !w_list_empty(&mp->idle_link) || w_m_is_event_waiter_locked(mp);

        count_m(mp, census);
        if (mp->lost_p)
                return;
        check_dedicated(mp);
        if (idle)
                W_CHECK(!mp->p && !mp->curg && !mp->spinning,
                        "check: idle thread %u has a P, a goroutine or spins", mp->thread.id);
        if (mp->p)
                W_CHECK(w_load_rlx(&mp->p->m) == mp,              /* guarded: stopped */
                        "check: P %u does not know its thread %u", mp->p->id, mp->thread.id);
        W_CHECK(!mp->p || !w_where_is_user(w_load_acq(&mp->where)), /* [MK1] */
                "check: thread %u holds a P in a stopped world and is in user code", mp->thread.id);
        /* A spinning M without a P is about to stop spinning. */
        census->n_spinning += mp->p && mp->spinning;
}

static void check_p(struct p *pp, struct p *own)
{
        uint32_t status = w_load_rlx(&pp->status);                /* guarded: stopped */

        W_CHECK(status == P_STOPPED, "check: P %u has status %u in a stopped world", pp->id,
                status);
        W_CHECK(pp == own || !w_load_rlx(&pp->m),                 /* guarded: stopped */
                "check: stopped P %u has a thread", pp->id);
        W_CHECK(!pp->timers.closed, "check: P %u takes no timers", pp->id);
}

/* A P that was removed: Ms may still read the record, and must find nothing in it. */
static void check_dead_p(struct p *pp)
{
        uint32_t status = w_load_rlx(&pp->status);                /* guarded: stopped */

        W_CHECK(status == P_DEAD && !w_load_rlx(&pp->m) && !pp->taken_from,     /* guarded */
                "check: P %u was removed and has status %u or a thread", pp->id, status);
        W_CHECK(w_p_has_no_work(pp), "check: P %u was removed and has work", pp->id);
        W_CHECK(pp->timers.closed && pp->free_g.n == 0 && pp->stacks.n == 0,
                "check: P %u was removed and keeps something", pp->id);
}

static void check_locked(struct p *own)
{
        struct census   census = { 0 };
        struct m_census ms = { 0 };

        for (uint32_t i = 0; i < w_n_procs(); i++)
                check_p(w_sched.all_p[i], own);
        for (uint32_t i = w_n_procs(); i < w_n_p(); i++)
                check_dead_p(w_sched.all_p[i]);
        walk_queues(count_in_p_queue, count_in_queue);
        w_g_each(check_g, &census);
        walk_queues(reset_count, reset_count);
        W_LIST_EACH(n, &w_sched.all_m)
                check_m(W_CONTAINER_OF(n, struct m, all_link), &ms);
        check_m_counts(&ms);
        check_preempted();
        W_CHECK(census.n_live == w_g_count_alive(), "check: %ld goroutines found, %ld counted",
                (long)census.n_live, (long)w_g_count_alive());
}

/* Skips most checks if the run is ending: records are being freed, and dedicated Ms are gone. */
void w_check_world(struct p *own)
{
        for (uint32_t i = 0; i < w_n_p(); i++)
                w_timers_check(&w_sched.all_p[i]->timers);
        w_lock(&w_sched.lock);
        if (!w_sched.world.ending)
                check_locked(own);
        w_unlock(&w_sched.lock);
}

W_EXPORT int weft_check(void)
{
        if (!w_foreign_enter())
                return -ESHUTDOWN;
        W_ENTER();
        bool stopped = w_world_stop();

        if (stopped) {
                w_check_world(w_p());
                w_world_start();
        }
        W_LEAVE();
        w_foreign_exit();
        return stopped ? 0 : -ESHUTDOWN;
}
