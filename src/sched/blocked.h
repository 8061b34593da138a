/* sched/blocked.h - tells of a goroutine that has blocked its thread without saying so.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_BLOCKED_H
#define W_SCHED_BLOCKED_H

#include "sched/m.h"

/* mp has come back after mp->blocked_since, its P taken meanwhile; `frame` is the frame of the
 * function that its entry called. Context: that M, no runtime lock held; may switch: to g0 and
 * back. */
void w_blocked_report(struct m *mp, const void *frame);

#endif
