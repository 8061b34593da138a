/* sched/schedule.h - an M's loop: find a goroutine, run it, repeat.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_SCHEDULE_H
#define W_SCHED_SCHEDULE_H

#include "sched/m.h"

/* Runs on g0. Returns when the M must end; mp has no P then. */
void w_schedule(struct m *mp);
/* The next goroutine for mp, which holds a P. NULL: mp must end; it has no P then. Context: g0. */
struct g *w_schedule_find(struct m *mp);

#endif
