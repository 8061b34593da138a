/* sched/queue/globq.h - the queue that all Ps share, under sched.lock.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_QUEUE_GLOBQ_H
#define W_SCHED_QUEUE_GLOBQ_H

#include "sched/sched.h"

void w_globq_put_locked(struct g *gp);
void w_globq_put_batch_locked(struct queue *batch);
/* Puts the batch before all other goroutines; leaves the batch empty. */
void w_globq_put_first_locked(struct queue *batch);
/* Takes this P's share, at most `most` goroutines. Returns the first; the rest goes to `rest`.
 * NULL: the queue is empty. */
struct g *w_globq_get_batch_locked(struct queue *rest, uint32_t most);
void w_globq_put(struct g *gp);
/* For a thread without a P. State, count and queue change in one critical section, so weft_check
 * sees all of the change or none of it. */
void w_globq_publish(struct g *gp, enum g_state from);
void w_globq_publish_locked(struct g *gp, enum g_state from);

#endif
