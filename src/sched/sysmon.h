/* sched/sysmon.h - the monitor: a thread that sees to what no M gets round to.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_SYSMON_H
#define W_SCHED_SYSMON_H

#include "sched/p.h"

/* run.c: -EAGAIN, -ENOMEM: no thread. */
W_MUST_CHECK int w_sysmon_start(void);
void w_sysmon_stop(void);

/* A P is taken out of the idle list. With sched.lock. */
void w_sysmon_awaken_locked(void);

/* retake.c: Ps of goroutines that are outside for too long go to those who need them; how many.
 * `rested` is false if the monitor itself has come late: then it only looks. */
uint32_t w_retake(int64_t now, bool rested);

/* schedtrace.c: nothing unless WEFT_DEBUG asked for it. */
void w_schedtrace_begin(int64_t now);
void w_schedtrace(int64_t now);
/* When it wants to be called next; W_FOREVER: never. */
int64_t w_schedtrace_next(void);

#endif
