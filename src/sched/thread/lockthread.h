/* sched/thread/lockthread.h - goroutines that are locked to their threads. PROTOCOL lockthread:
 * sched/thread/lockthread.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_THREAD_LOCKTHREAD_H
#define W_SCHED_THREAD_LOCKTHREAD_H

#include "sched/m.h"

/* The goroutine that is locked to mp is about to leave for g0: replaces mp->commit by the commit
 * for locked goroutines. Context: the goroutine, its commit is set. */
void w_lockthread_leave(struct m *mp);

/* Returns the goroutine that mp was woken to run; if the run ends, what the search finds instead.
 * NULL: mp ends, without a P. */
struct g *w_lockthread_next(struct m *mp);

/* gp, which mp has found, is locked to a thread. False: gp is locked to mp itself. True: gp's M has
 * mp's P now and runs gp; mp needs another P. */
W_MUST_CHECK bool w_lockthread_give(struct m *mp, struct g *gp);

/* True: gp waits and is locked to its thread. Context: the only waker. */
W_INLINE bool w_lockthread_waits(const struct g *gp)
{
        return w_load_rlx(&gp->state) == G_WAITING_LOCKED;        /* own word: one mover */
}

/* If gp waits and is locked, makes it runnable and returns true. Context: as w_ready. */
W_MUST_CHECK bool w_lockthread_ready(struct g *gp);

/* Takes the locked goroutines out of a batch of goroutines that run next, and submits them. Locked
 * goroutines that still wait become runnable. Context: no runtime lock held. */
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
