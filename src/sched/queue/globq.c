/* sched/queue/globq.c - step 2': the global queue, which all Ps share. Full rings spill into it,
 * and threads without a P put goroutines there.
 *
 * A FIFO under sched.lock. Its length can be read without the lock.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/queue/globq.h"

#include "base/assert.h"
#include "sched/sched.h"

static void publish_length(void)
{
        w_store_rlx(&w_sched.n_globq, w_sched.globq.n);           /* hint */
}

void w_globq_put_locked(struct g *gp)
{
        W_ASSERT(w_lock_held(W_LOCK_sched));
        w_queue_push(&w_sched.globq, &gp->link);
        publish_length();
}

void w_globq_put_batch_locked(struct queue *batch)
{
        W_ASSERT(w_lock_held(W_LOCK_sched));
        w_queue_append(&w_sched.globq, batch);
        publish_length();
}

void w_globq_put_first_locked(struct queue *batch)
{
        W_ASSERT(w_lock_held(W_LOCK_sched));
        w_queue_move_front(&w_sched.globq, batch, batch->n);
        publish_length();
}

struct g *w_globq_get_batch_locked(struct queue *rest, uint32_t most)
{
        W_ASSERT(w_lock_held(W_LOCK_sched));
        uint32_t           share = w_sched.globq.n / w_n_procs() + 1;
        struct queue_node *first = w_queue_pop(&w_sched.globq), *node;

        for (uint32_t i = 1; i < share && i < most; i++) {
                node = w_queue_pop(&w_sched.globq);
                if (!node)
                        break;
                w_queue_push(rest, node);
        }
        publish_length();
        return first ? W_CONTAINER_OF(first, struct g, link) : NULL;
}

void w_globq_publish_locked(struct g *gp, enum g_state from)
{
        if (from == G_DEAD)
                w_add_rlx(&w_sched.without_p.spawned, 1);         /* counter */
        w_g_move(gp, from, G_RUNNABLE);
        w_latency_begin(gp);    /* always timed: such a wake is rare, and its latency matters */
        w_globq_put_locked(gp);
}

void w_globq_publish(struct g *gp, enum g_state from)
{
        w_lock(&w_sched.lock);
        w_globq_publish_locked(gp, from);
        w_unlock(&w_sched.lock);
}

void w_globq_put(struct g *gp)
{
        w_lock(&w_sched.lock);
        w_globq_put_locked(gp);
        w_unlock(&w_sched.lock);
}
