/* sched/monitor/blocked_report.h - reports goroutines that block their threads outside a blocking
 * region.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_MONITOR_BLOCKED_REPORT_H
#define W_SCHED_MONITOR_BLOCKED_REPORT_H

#include "sched/m.h"

/* mp has lost its P because it is blocked: finds out where. `where` and `since` come from the
 * monitor's sample. Context: the monitor, lock `take` held and no other. */
void w_blocked_report_locate(struct m *mp, uint32_t where, int64_t since);

/* Reports an M that is still blocked after a second. Returns 1 if an M was checked. Context: the
 * monitor. */
uint32_t w_blocked_report_check(int64_t now);
/* Returns when w_blocked_report_check must be called again; W_FOREVER: no M is blocked. */
int64_t w_blocked_report_next(void);

/* mp was blocked since mp->blocked_since, and has entered after its P was taken. `frame` is the
 * frame of the function that the entry called. Context: that M, no runtime lock held; may switch:
 * to g0 and back. */
void w_blocked_report_return(struct m *mp, const void *frame);

#endif
