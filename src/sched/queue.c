/* sched/queue.c - step 2: into a P's queue and out of it, with the policy of who goes first.
 *
 * Called by   spawn, ready and yield (in), switch and find (out).
 * Protocols   cites runq (sched/runq.c).
 *
 * A goroutine from `next` inherits the slice of who put it there: the tick stands still. Two that
 * hand over to each other through `next` would so keep everyone else out for ever; after
 * W_NEXT_HOPS_MAX hops one comes from the ring, and the tick moves, so that the global queue gets
 * its look too.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/assert.h"
#include "sched/sched.h"

/* gp found the ring full: half of it and gp go to the global queue. In between they stand in no
 * queue and a looker may give up, so this counts as new work also where the caller adds none. */
static W_NOINLINE void spill(struct p *pp, struct g *gp)
{
        struct queue batch = { 0 };
        uint32_t     n = w_runq_spill(&pp->runq, gp, pp->spill);

        if (n == 0)
                return;
        for (uint32_t i = 0; i < n; i++)
                w_queue_push(&batch, &pp->spill[i]->link);
        w_p_count(&pp->stats.spills, 1);
        w_lock(&w_sched.lock);
        w_globq_put_batch_locked(&batch);
        w_unlock(&w_sched.lock);
        w_wake_one();
}

void w_queue_ring(struct p *pp, struct g *gp)
{
        struct g *left_over = w_runq_push(&pp->runq, gp);

        if (W_UNLIKELY(left_over != NULL))
                spill(pp, left_over);
}

void w_queue_next(struct p *pp, struct g *gp)
{
        if (W_UNLIKELY(w_sched.config.randomize) && w_rand(&pp->rand) % 2) {
                w_queue_ring(pp, gp);
                return;
        }
        struct g *left_over = w_runq_push_next(&pp->runq, gp);

        if (W_UNLIKELY(left_over != NULL))
                spill(pp, left_over);
}

/* Too many through `next`: the oldest of the ring has its turn. */
static struct g *take_from_ring(struct p *pp)
{
        pp->hops = 0;
        pp->tick++;
        return w_runq_pop_ring(&pp->runq);
}

struct g *w_queue_take(struct p *pp)
{
        bool      inherits;
        struct g *gp;

        if (W_UNLIKELY(pp->hops >= W_NEXT_HOPS_MAX)) {
                gp = take_from_ring(pp);
                if (gp)
                        return gp;
        }
        gp = w_runq_pop(&pp->runq, &inherits);
        if (!gp)
                return NULL;
        if (inherits) {
                pp->hops++;
        } else {
                pp->hops = 0;
                pp->tick++;
        }
        return gp;
}
