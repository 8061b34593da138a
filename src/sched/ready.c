/* sched/ready.c - step 6: waiting goroutines become runnable, one or many at a time.
 *
 * Protocols   cites park (sched/switch.c), idle (sched/idle.c), whose "Submit many" is here.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/ready.h"

#include "base/assert.h"
#include "base/window.h"
#include "sched/idle.h"
#include "sched/queue/globq.h"
#include "sched/queue/queue.h"
#include "sched/sched.h"
#include "sched/thread/lockthread.h"
#include "sched/thread/thread.h"

enum { PORTION = 128 };         /* moved under sched.lock at once, at most */

/* Not into the caller's queue: the caller has no P, or gp is locked to its thread. */
static W_NOINLINE void ready_elsewhere(struct g *gp)
{
        if (!w_lockthread_ready(gp))
                w_globq_publish(gp, G_WAITING);
}

void w_ready(struct g *gp)
{
        struct p *pp = w_p();

        if (W_LIKELY(pp && w_g_try_move(gp, G_WAITING, G_RUNNABLE))) {
                w_ready_time(pp, gp);
                w_queue_put_next(pp, gp);
        } else {
                ready_elsewhere(gp);
        }
        w_wake_one();
}

/* ---- Many ------------------------------------------------------------------------------------ */

static struct g *pop(struct queue *batch)
{
        struct queue_node *n = w_queue_pop(batch);

        return n ? W_CONTAINER_OF(n, struct g, link) : NULL;
}

/* Takes up to n idle Ps, linked by idle_next. */
static struct p *take_idle_ps_locked(uint32_t n)
{
        struct p *taken = NULL;

        if (w_load_rlx(&w_sched.world.stopping))                        /* guarded by the lock */
                return NULL;
        for (struct p *pp; n > 0 && (pp = w_idle_p_get_locked()); n--) {
                pp->idle_next = taken;
                taken = pp;
        }
        return taken;
}

/* Moves the oldest to the global queue, one for each idle P, and returns these Ps. */
static struct p *share(struct queue *batch)
{
        struct queue shared = { 0 };
        uint32_t     n_idle = w_load_rlx(&w_sched.n_idle_p);      /* hint: the last wake is sure */

        if (n_idle == 0)
                return NULL;
        w_lock(&w_sched.lock);
        uint32_t n = w_load_rlx(&w_sched.n_idle_p);               /* guarded by the lock */

        w_queue_move_front(&shared, batch, n);
        struct p *taken = take_idle_ps_locked(shared.n);

        w_globq_put_batch_locked(&shared);
        w_unlock(&w_sched.lock);
        return taken;
}

/* Appends in order behind the goroutines of the ring; overflow goes to the global queue. */
static void queue_in_order(struct p *pp, struct queue *batch)
{
        for (struct g *gp; (gp = pop(batch));) {
                if (W_LIKELY(!w_runq_push(&pp->runq, gp)))
                        continue;
                w_queue_push_front(batch, &gp->link);
                w_lock(&w_sched.lock);
                w_globq_put_batch_locked(batch);
                w_unlock(&w_sched.lock);
        }
}

/* WEFT_DEBUG=randomize: any order is possible. */
static void queue_at_random(struct p *pp, struct queue *batch)
{
        for (struct g *gp; (gp = pop(batch));)
                w_queue_put_next(pp, gp);
}

void w_ready_publish(struct p *pp, struct queue *batch)
{
        struct p *taken = share(batch);

        W_WINDOW("batch-shared");
        if (W_UNLIKELY(w_sched.config.randomize))
                queue_at_random(pp, batch);
        else
                queue_in_order(pp, batch);
        w_threads_for(taken);
        w_wake_one();
}

static W_NOINLINE void ready_many_here(struct p *pp, struct queue *batch)
{
        bool all = true;

        for (struct queue_node *n = batch->head; n; n = n->next) {
                struct g *gp = W_CONTAINER_OF(n, struct g, link);

                all &= w_g_try_move(gp, G_WAITING, G_RUNNABLE);
                w_ready_time(pp, gp);
        }
        if (W_UNLIKELY(!all))
                w_lockthread_sort_out(batch);
        w_ready_publish(pp, batch);
}

/* State and queue change in one critical section: weft_check sees both or neither. */
static struct p *publish_portion(struct queue *batch)
{
        uint32_t  n = 0;
        struct g *gp;

        w_lock(&w_sched.lock);
        while (n < PORTION && (gp = pop(batch))) {
                w_globq_publish_locked(gp, w_lockthread_waits(gp) ? G_WAITING_LOCKED : G_WAITING);
                n++;
        }
        struct p *taken = take_idle_ps_locked(n);

        w_unlock(&w_sched.lock);
        return taken;
}

W_NOINLINE void w_ready_many_global(struct queue *batch)
{
        while (batch->n) {
                w_threads_for(publish_portion(batch));
                w_wake_one();
        }
}

void w_ready_many(struct queue *batch)
{
        struct p *pp = w_p();

        if (batch->n == 1)
                w_ready(pop(batch));
        else if (pp && batch->n)
                ready_many_here(pp, batch);
        else
                w_ready_many_global(batch);
}
