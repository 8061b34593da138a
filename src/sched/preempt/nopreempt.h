/* sched/preempt/nopreempt.h - for a goroutine between weft_nopreempt_begin and _end that gives its
 * P up itself. They do what their namesakes do. See sched/preempt/nopreempt.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_PREEMPT_NOPREEMPT_H
#define W_SCHED_PREEMPT_NOPREEMPT_H

#include "sched/sched.h"

void w_nopreempt_park(enum wait_reason reason, bool (*unlock)(struct g *gp, void *arg), void *arg);
void w_nopreempt_yield(void);
void w_nopreempt_requeue_self(void);

#endif
