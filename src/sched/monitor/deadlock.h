/* sched/monitor/deadlock.h - finds out that all goroutines wait and no thread can wake any.
 *
 * PROTOCOL deadlock: sched/monitor/deadlock.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_MONITOR_DEADLOCK_H
#define W_SCHED_MONITOR_DEADLOCK_H

#include "base/atomic.h"

/* A source that may wake a goroutine although no thread of the process runs: the kernel, by a
 * signal or a descriptor. may_wake is called under sched.lock and takes no lock. */
struct wake_source {
        bool          (*may_wake)(void);
        struct wake_source *next;
};

/* Adds a source, at most once per run for each record. Context: any thread, a run is on. */
void w_deadlock_except(struct wake_source *o);

/* An M has gone to sleep or has ended; it may have been the last M awake. With sched.lock. */
void w_deadlock_asleep_locked(void);

/* Ends the process if no thread can ever use a P again. Returns when it must be called again if
 * nothing happens meanwhile; W_FOREVER: never. Context: the monitor, about to sleep until a P is
 * used (sched.sysmon.sleeps). */
int64_t w_deadlock_check(int64_t now);

/* Something has happened since the last check. Context: the monitor. */
void w_deadlock_begin_anew(void);

#endif
