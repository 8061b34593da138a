/* sched/monitor/blocked_report.h - tells of a goroutine that blocks its thread without saying so.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_MONITOR_BLOCKED_REPORT_H
#define W_SCHED_MONITOR_BLOCKED_REPORT_H

#include "sched/m.h"

/* mp has blocked since then, at `mark`, and has lost its P for that: where? Context: the monitor,
 * lock `take` held and no other. */
void w_blocked_report_locate(struct m *mp, uint32_t where, int64_t since);

/* Tells of one that has blocked for very long and goes on. How many it has seen to. Context: the
 * monitor. */
uint32_t w_blocked_report_check(int64_t now);
/* When that has to be called again; W_FOREVER: nobody blocks. */
int64_t w_blocked_report_next(void);

/* mp has come back after mp->blocked_since, its P taken meanwhile; `frame` is the frame of the
 * function that its entry called. Context: that M, no runtime lock held; may switch: to g0 and
 * back. */
void w_blocked_report_return(struct m *mp, const void *frame);

#endif
