/* sched/queue/queue.c - step 2: fills a P's queue, and decides which goroutine runs next.
 *
 * Protocols   cites runq (sched/queue/runq.c).
 *
 * A goroutine from `next` inherits the time slice of the goroutine that put it there: the tick does
 * not move. Two goroutines that hand over to each other through `next` would keep all other
 * goroutines from running for ever. Therefore after W_NEXT_HOPS_MAX hops the next goroutine comes
 * from the ring, and the tick moves, which also gives the global queue its turn.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/queue/queue.h"

#include "base/assert.h"
#include "sched/idle.h"
#include "sched/queue/globq.h"
#include "sched/sched.h"

/* The ring is full: half of it and gp go to the global queue. Meanwhile these goroutines are in no
 * queue, and a spinner may give up. So this counts as a submission of work, even if the caller adds
 * no goroutine. */
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

void w_queue_put(struct p *pp, struct g *gp)
{
        struct g *left_over = w_runq_push(&pp->runq, gp);

        if (W_UNLIKELY(left_over != NULL))
                spill(pp, left_over);
}

/* Puts gp into `next`. A parent that stood there goes to the parents, another goroutine to the
 * ring. */
static void put_next(struct p *pp, struct g *gp, bool is_parent)
{
        bool      was_parent = pp->next_is_parent;
        struct g *old = was_parent ? w_runq_replace_next(&pp->runq, gp)
                                   : w_runq_push_next(&pp->runq, gp);

        pp->next_is_parent = is_parent;
        if (W_LIKELY(!old) || (was_parent && w_parents_push(&pp->parents, old)))
                return;
        if (was_parent)
                w_queue_put(pp, old);
        else
                spill(pp, old);
}

void w_queue_put_next(struct p *pp, struct g *gp)
{
        if (W_UNLIKELY(w_sched.config.randomize) && w_rand(&pp->rand) % 2)
                w_queue_put(pp, gp);
        else
                put_next(pp, gp, false);
}

void w_queue_parent(struct p *pp, struct g *gp)
{
        put_next(pp, gp, true);
}

static struct g *take_from_ring(struct p *pp)
{
        pp->hops = 0;
        pp->tick++;
        return w_runq_pop_ring(&pp->runq);
}

/* Takes the newest parent, which continues as if a call had returned. NULL: no parent waits. */
static struct g *take_parent(struct p *pp)
{
        if (W_LIKELY(w_load_rlx(&pp->parents.top) == 0))          /* own word */
                return NULL;
        return w_parents_pop(&pp->parents);
}

/* Too many goroutines in a row inherited their slice: the oldest goroutine of the ring runs next.
 * Goroutines that hand over to each other for ever, or spawn child first for ever, would keep the
 * parents below them from running. So now and then the oldest parent runs next instead. */
static struct g *take_old(struct p *pp)
{
        struct g *gp = NULL;

        if (++pp->n_turns % W_PARENT_EVERY == 0)
                gp = w_parents_take_oldest(&pp->parents);
        if (!gp)
                return take_from_ring(pp);
        pp->hops = 0;
        pp->tick++;
        return gp;
}

struct g *w_queue_take(struct p *pp)
{
        struct g *gp;

        if (W_UNLIKELY(pp->hops >= W_NEXT_HOPS_MAX)) {
                gp = take_old(pp);
                if (gp)
                        return gp;
        }
        gp = w_runq_pop_next(&pp->runq);
        if (!gp)
                gp = take_parent(pp);
        if (gp)
                pp->hops++;
        else
                gp = take_from_ring(pp);
        return gp;
}

struct g *w_queue_take_direct(struct p *pp)
{
        if (W_UNLIKELY(w_load_rlx(&pp->attention) != 0) ||        /* hint */
            pp->tick % W_GLOBAL_EVERY == 0)
                return NULL;
        return w_queue_take(pp);
}
