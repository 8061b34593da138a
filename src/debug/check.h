/* debug/check.h - the invariants of a stopped world.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_DEBUG_CHECK_H
#define W_DEBUG_CHECK_H

struct p;

/* Fatal if an invariant of sched/sched.h is violated. Context: the stopper; `own` is its P. */
void w_check_world(struct p *own);

#endif
