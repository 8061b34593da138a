/* sched/queue/parents.h - parents whose child ran first: the newest is the owner's, the oldest a
 * thief's.
 *
 * With child first a P works depth first, as a program of plain calls would: few stacks are alive,
 * and what is needed next is near. The newest parent stands in `next` of the run queue; the one
 * that it displaces comes here and not to the end of the ring, behind all older goroutines.
 * PROTOCOL parents stands in sched/queue/parents.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_QUEUE_PARENTS_H
#define W_SCHED_QUEUE_PARENTS_H

#include "base/atomic.h"

struct g;

/* Deeper than that a displaced parent waits in the ring: FIFO, which costs memory, not progress. */
#if !defined(W_PARENTS_CAP)
#define W_PARENTS_CAP 1024
#endif

/* Key: O owner writes, anyone reads   a edge named.  All zero is empty. */
struct parents {
        w_atomic_u32         top;       /* O  [PA2] all that there are lie below */
        W_ATOMIC(struct g *) slots[W_PARENTS_CAP];      /* a  [PA1] owner fills, anyone takes */
};

/* Context of the first two: the owner of the P; may switch: no. */

/* False: full. */
W_MUST_CHECK bool w_parents_push(struct parents *ps, struct g *gp);
/* The newest, or NULL. */
struct g *w_parents_pop(struct parents *ps);

/* The oldest, or NULL. Context: any thread. */
struct g *w_parents_take_oldest(struct parents *ps);
bool w_parents_is_empty(const struct parents *ps);
uint32_t w_parents_len_hint(const struct parents *ps);

#endif
