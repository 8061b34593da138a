/* sched/preempt/nopreempt.h - park, yield and requeue for a goroutine that is between
 * weft_nopreempt_begin and _end. They do what w_park, w_yield and w_switch_requeue_self do. See
 * sched/preempt/nopreempt.c.
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
