/* debug/check.h - the invariants of a stopped world.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_DEBUG_CHECK_H
#define W_DEBUG_CHECK_H

struct p;

/* Fatal if anything is not as sched/sched.h says. Context: the stopper, whose P is `own`. */
void w_check_world(struct p *own);

#endif
