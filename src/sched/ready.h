/* sched/ready.h - waiting goroutines become runnable.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_READY_H
#define W_SCHED_READY_H

#include "sched/p.h"

/* Makes a WAITING goroutine runnable. Context: its only waker, on any thread, also without a P. */
void w_ready(struct g *gp);
/* Makes all goroutines of the batch runnable, in the order of their links (g.link), and leaves the
 * batch empty. One goroutine goes to each idle P, with a thread; the rest to the caller's P. */
void w_ready_many(struct queue *batch);
/* The same, but all goroutines go to the global queue. Context: any thread, also without a P. */
void w_ready_many_global(struct queue *batch);
/* As w_ready_many, for goroutines that are RUNNABLE already and in no queue. Context: the owner of
 * pp. */
void w_ready_publish(struct p *pp, struct queue *batch);

#endif
