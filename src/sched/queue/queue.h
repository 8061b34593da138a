/* sched/queue/queue.h - a P's own queue, with overflow to the global queue.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_QUEUE_QUEUE_H
#define W_SCHED_QUEUE_QUEUE_H

#include "sched/p.h"

/* Context of all: the owner of pp. */
void w_queue_put(struct p *pp, struct g *gp);
void w_queue_put_next(struct p *pp, struct g *gp);
/* Puts the parent gp into `next`: its child runs first. */
void w_queue_parent(struct p *pp, struct g *gp);
/* Takes the goroutine that runs next, from `next`, the parents or the ring. NULL: all are empty. */
struct g *w_queue_take(struct p *pp);
/* Takes a goroutine that may run at once, without a search of the other queues. NULL: g0 must
 * search. */
struct g *w_queue_take_direct(struct p *pp);

#endif
