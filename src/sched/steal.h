/* sched/steal.h - work from other Ps.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_STEAL_H
#define W_SCHED_STEAL_H

#include "sched/m.h"

struct g *w_steal(struct m *mp);
/* Fires the timers that are due on other Ps. Returns a goroutine that they woke, or NULL. */
struct g *w_steal_timers(struct m *mp);

#endif
