/* sched/monitor/sysmon.h - the monitor: a thread that does what no M may have the time for.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_MONITOR_SYSMON_H
#define W_SCHED_MONITOR_SYSMON_H

#include "sched/p.h"

/* run.c: -EAGAIN, -ENOMEM: no thread. */
W_MUST_CHECK int w_sysmon_start(void);
void w_sysmon_stop(void);

/* Returns the thread id of the monitor; 0: there is no monitor. */
int w_sysmon_tid(void);

/* Wakes the monitor, because a P is taken out of the idle list. With sched.lock. */
void w_sysmon_awaken_locked(void);

/* Asks the monitor to deliver signals. Any thread, async-signal-safe. */
void w_sysmon_poke(void);

/* Asks the monitor for a round of its duties. Any thread, async-signal-safe. */
void w_sysmon_request(void);

/* Wakes the monitor at once, for a round of its duties. With sched.lock. */
void w_sysmon_hurry_locked(void);

/* retake.c: takes Ps from Ms that are in user code for too long. Returns how many Ps were taken.
 * `rested` is false if the monitor itself has come late: then it only samples. */
uint32_t w_retake(int64_t now, bool rested);

/* schedtrace.c: does nothing unless WEFT_DEBUG asks for it. */
void w_schedtrace_begin(int64_t now);
void w_schedtrace(int64_t now);
/* Returns when w_schedtrace must be called next; W_FOREVER: never. */
int64_t w_schedtrace_next(void);

#endif
