/* sched/monitor/activity.h - what an M does while it stays in user code.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_MONITOR_ACTIVITY_H
#define W_SCHED_MONITOR_ACTIVITY_H

#include "sched/m.h"
#include "sched/p.h"

/* s->m is at s->where, in user code and in no region, and its P is needed. Sets s->activity to what
 * is known about s->m now. Context: the monitor. */
void w_activity_update(struct sample *s, int64_t now);

/* Returns when the window ends. More is known about s->m then. */
int64_t w_activity_next(const struct sample *s);

/* Begins a new window. The CPU time of s->m so far still counts. Context: the monitor. */
void w_activity_rebase(struct sample *s, int64_t now);

/* Forgets all earlier samples. Context: the monitor. */
void w_activity_forget(struct sample *s, int64_t now);

/* mp ends, or is abandoned. Context: any thread. */
void w_activity_end(struct m *mp);

#endif
