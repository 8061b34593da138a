/* sched/monitor/sysmon.h - the monitor: a thread that sees to what no M gets round to.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_MONITOR_SYSMON_H
#define W_SCHED_MONITOR_SYSMON_H

#include "sched/p.h"

/* run.c: -EAGAIN, -ENOMEM: no thread. */
W_MUST_CHECK int w_sysmon_start(void);
void w_sysmon_stop(void);

/* 0: there is none. */
int w_sysmon_tid(void);

/* A P is taken out of the idle list. With sched.lock. */
void w_sysmon_awaken_locked(void);

/* There is something for w_signals_deliver to do. Any thread, async-signal-safe. */
void w_sysmon_poke(void);
/* signal/: sends what has arrived to those who asked for it. Context: the monitor. */
void w_signals_deliver(void);

/* There is something for a round of its to do. Any thread, async-signal-safe. */
void w_sysmon_request(void);

/* There is something for it to do at once. With sched.lock. */
void w_sysmon_hurry_locked(void);

/* retake.c: Ps of goroutines that are outside for too long go to those who need them; how many.
 * `rested` is false if the monitor itself has come late: then it only looks. */
uint32_t w_retake(int64_t now, bool rested);

/* follow.c: the number of Ps follows the machine; 1 if it was changed. */
void w_follow_begin(int64_t now);
uint32_t w_follow(int64_t now);

/* schedtrace.c: nothing unless WEFT_DEBUG asked for it. */
void w_schedtrace_begin(int64_t now);
void w_schedtrace(int64_t now);
/* When it wants to be called next; W_FOREVER: never. */
int64_t w_schedtrace_next(void);

#endif
