/* sched/thread/lockthread.h - goroutines that are locked to their threads. PROTOCOL lockthread:
 * sched/thread/lockthread.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_THREAD_LOCKTHREAD_H
#define W_SCHED_THREAD_LOCKTHREAD_H

#include "sched/m.h"

/* The goroutine that is locked to mp leaves it for g0: what is to happen then, mp->commit, is done
 * as it must be for such a one. Context: the goroutine, its commit is set. */
void w_lockthread_leave(struct m *mp);

/* For an M that was woken with a goroutine to run; NULL: the M ends, without a P. */
struct g *w_lockthread_next(struct m *mp);

/* gp, which mp has found, is locked to a thread. False: to mp itself. True: its thread has mp's P
 * now, and runs it; mp looks for another P. */
W_MUST_CHECK bool w_lockthread_give(struct m *mp, struct g *gp);

/* Waits, and is locked to its thread. Context: the one waker. */
W_INLINE bool w_lockthread_waits(const struct g *gp)
{
        return w_load_rlx(&gp->state) == G_WAITING_LOCKED;        /* own word: one mover */
}

/* If gp waits and is locked: makes it runnable, and true. Context: as w_ready. */
W_MUST_CHECK bool w_lockthread_ready(struct g *gp);

/* Takes out of a batch of goroutines that run next those that are locked, and sees to them. Those
 * among them that still wait become runnable. Context: no runtime lock held. */
void w_lockthread_sort_out_slow(struct queue *batch);
W_INLINE void w_lockthread_sort_out(struct queue *batch)
{
        for (struct queue_node *n = batch->head; n; n = n->next) {
                if (W_UNLIKELY(W_CONTAINER_OF(n, struct g, link)->locked)) {
                        w_lockthread_sort_out_slow(batch);
                        return;
                }
        }
}

#endif
