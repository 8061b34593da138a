/* sched/monitor/activity.h - why an M does not come back.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_MONITOR_ACTIVITY_H
#define W_SCHED_MONITOR_ACTIVITY_H

#include "sched/m.h"
#include "sched/p.h"

/* w->m is at w->mark, outside and in no region, and somebody needs its P. w->verdict is what is
 * known about it now. Context: the monitor. */
void w_activity_update(struct sample *w, int64_t now);

/* When to look again: more is known about it then. */
int64_t w_activity_next(const struct sample *w);

/* What the clock said before counts no more, but what w->m has run does. Context: the monitor. */
void w_activity_rebase(struct sample *w, int64_t now);

/* What was seen before counts no more. Context: the monitor. */
void w_activity_forget(struct sample *w, int64_t now);

/* mp ends, or is left behind. Context: any thread. */
void w_activity_end(struct m *mp);

#endif
