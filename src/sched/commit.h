/* sched/commit.h - what happens to a goroutine once it is off its stack. See PROTOCOL park
 * (sched/switch.c) for the budget and the rules.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_COMMIT_H
#define W_SCHED_COMMIT_H

#include "sched/m.h"

/* g0 was left: there is no goroutine to publish. */
void w_commit_nothing(struct m *mp, const struct commit *c);
/* To the end of the ring. */
void w_commit_yield(struct m *mp, const struct commit *c);
/* WAITING, then c->unlock(left, c->arg). */
void w_commit_park(struct m *mp, const struct commit *c);
/* A parent whose child runs first: into `next`. */
void w_commit_parent(struct m *mp, const struct commit *c);
/* The same where the child, c->arg, cannot run here: into `next` before it. */
void w_commit_child(struct m *mp, const struct commit *c);
/* Runs c->fn(c->arg) on g0, then back to the goroutine. */
void w_commit_call(struct m *mp, const struct commit *c);
/* blocking.c: the same for a function of the user, in a blocking region. */
void w_commit_blocking(struct m *mp, const struct commit *c);
/* exit.c */
void w_commit_exit(struct m *mp, const struct commit *c);

#endif
