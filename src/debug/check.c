/* debug/check.c - weft_check: stops the world and looks at every goroutine, thread and P.
 *
 * Called by   user code; tests; WEFT_DEBUG=check=1 at the end of a run.
 * Protocols   cites stop (sched/stop.c), mark (sched/m.c).
 *
 * The invariants are numbered in sched/sched.h. A violation is fatal and says what was found.
 *
 * SPDX-License-Identifier: MIT
 */
#include "debug/check.h"

#include "base/assert.h"
#include "sched/sched.h"

#include "weft.h"

#include <errno.h>      /* EPERM */

/* ---- Goroutines: I1, I2, I3, I11 ------------------------------------------------------------- */

/* Only who stands in a queue is marked: anything else may be in the hands of a thread that is not
 * stopped. */
static void forget(struct g *gp)
{
        gp->n_queued = 0;
}

static void meet_in_queue(struct g *gp)
{
        W_CHECK(w_g_state(gp) == G_RUNNABLE, "check: goroutine %ld is %s and stands in a queue",
                (long)gp->id, w_g_state_name(w_g_state(gp)));
        W_CHECK(++gp->n_queued == 1, "check: goroutine %ld stands in two queues", (long)gp->id);
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

static void walk_queues(void (*fn)(struct g *))
{
        for (uint32_t i = 0; i < w_sched.n_procs; i++) {
                walk_runq(&w_sched.all_p[i]->runq, fn);
                walk_parents(&w_sched.all_p[i]->parents, fn);
        }
        walk_globq(fn);
}

/* Who goes on without its P is not stopped, so its M is not looked at. */
static bool runs_on_a_thread(const struct g *gp)
{
        W_LIST_EACH(n, &w_sched.all_m) {
                struct m *mp = W_CONTAINER_OF(n, struct m, all_link);

                if (!mp->lost_p && mp->curg == gp)
                        return mp->p != NULL;
        }
        return false;
}

struct census {
        int64_t  n_live;
        uint32_t n_unseen;      /* run, but not on a thread that was looked at */
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
        if ((state == G_RUNNING || state == G_REGION) && !runs_on_a_thread(gp))
                W_CHECK(++census->n_unseen <= w_sched.n_lost,
                        "check: goroutine %ld runs on no thread", (long)gp->id);
        if (state == G_WAITING)
                W_CHECK(gp->reason != W_WAIT_NONE && gp->stack,
                        "check: goroutine %ld waits for nothing", (long)gp->id);
        if (w_g_is_alive(state)) {
                W_CHECK(gp->id > 0 && gp->id_page, "check: a live goroutine without an id");
                census->n_live++;
        }
        return true;
}

/* ---- Threads and Ps: I5, I6, I7, I9 ---------------------------------------------------------- */

static void check_m(struct m *mp, uint32_t *n_spinning)
{
        bool idle = !w_list_empty(&mp->idle_link) || w_sched.keeper == mp;

        if (mp->lost_p)
                return;
        if (idle)
                W_CHECK(!mp->p && !mp->curg && !mp->spinning,
                        "check: idle thread %u has a P, a goroutine or spins", mp->thread.id);
        if (mp->p)
                W_CHECK(w_load_rlx(&mp->p->m) == mp,              /* guarded: stopped */
                        "check: P %u does not know its thread %u", mp->p->id, mp->thread.id);
        W_CHECK(!mp->p || !w_mark_is_outside(w_load_acq(&mp->mark)), /* [MK1] */
                "check: thread %u holds a P in a stopped world and is outside", mp->thread.id);
        *n_spinning += mp->p && mp->spinning;   /* without a P it is about to stop looking */
}

static void check_p(struct p *pp, struct p *own)
{
        uint32_t status = w_load_rlx(&pp->status);                /* guarded: stopped */

        W_CHECK(status == P_STOPPED, "check: P %u has status %u in a stopped world", pp->id,
                status);
        W_CHECK(pp == own || !w_load_rlx(&pp->m),                 /* guarded: stopped */
                "check: stopped P %u has a thread", pp->id);
}

void w_check_world(struct p *own)
{
        uint32_t      n_spinning = 0;
        struct census census = { 0 };

        for (uint32_t i = 0; i < w_sched.n_procs; i++)
                w_timers_check(&w_sched.all_p[i]->timers);
        w_lock(&w_sched.lock);
        for (uint32_t i = 0; i < w_sched.n_procs; i++)
                check_p(w_sched.all_p[i], own);
        walk_queues(meet_in_queue);
        w_g_each(check_g, &census);
        walk_queues(forget);
        W_LIST_EACH(n, &w_sched.all_m)
                check_m(W_CONTAINER_OF(n, struct m, all_link), &n_spinning);
        W_CHECK(census.n_live == w_live_count(), "check: %ld goroutines found, %ld counted",
                (long)census.n_live, (long)w_live_count());
        W_CHECK(n_spinning <= w_sched.n_procs, "check: %u threads spin on %u Ps", n_spinning,
                w_sched.n_procs);
        w_unlock(&w_sched.lock);
}

W_EXPORT int weft_check(void)
{
        if (!w_run_is_on())
                return -ESHUTDOWN;
        if (!w_g())
                return -EPERM;
        W_ENTER();
        w_world_stop();
        w_check_world(w_p());
        w_world_start();
        W_LEAVE();
        return 0;
}
