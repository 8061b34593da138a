/* sched/queue/parents.h - parents that wait while their child runs first. The owner takes the
 * newest parent, a thief takes the oldest.
 *
 * With child first a P works depth first, as a program of plain calls does: few stacks are alive,
 * and what is needed next is near. The newest parent stands in `next` of the run queue. The parent
 * that it displaces comes here. At the end of the ring it would wait behind all older goroutines.
 * PROTOCOL parents stands in sched/queue/parents.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_QUEUE_PARENTS_H
#define W_SCHED_QUEUE_PARENTS_H

#include "base/atomic.h"

struct g;

/* If this many parents wait already, a displaced parent goes to the ring. There it waits in FIFO
 * order: that costs memory, but every goroutine still makes progress. */
#if !defined(W_PARENTS_CAP)
#define W_PARENTS_CAP 1024
#endif

/* Key: O owner writes, any thread reads   a edge named.  All zero is empty. */
struct parents {
        w_atomic_u32         top;       /* O  [PA2] all parents lie below it */
        W_ATOMIC(struct g *) slots[W_PARENTS_CAP];      /* a  [PA1] owner fills, any thread takes */
};

/* Context of the first two: the owner of the P; may switch: no. */

/* False: there is no room. */
W_MUST_CHECK bool w_parents_push(struct parents *ps, struct g *gp);
/* Takes the newest parent, or NULL. */
struct g *w_parents_pop(struct parents *ps);

/* Takes the oldest parent, or NULL. Context: any thread. */
struct g *w_parents_take_oldest(struct parents *ps);
bool w_parents_is_empty(const struct parents *ps);
uint32_t w_parents_len_hint(const struct parents *ps);

#endif
