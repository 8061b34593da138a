/* sched/monitor/deadlock.h - has everybody gone to sleep, and is nobody left to wake them?
 *
 * PROTOCOL deadlock stands in sched/monitor/deadlock.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_MONITOR_DEADLOCK_H
#define W_SCHED_MONITOR_DEADLOCK_H

#include "base/atomic.h"

/* Something that may wake a goroutine though no thread of the process does anything: the kernel, by
 * a signal or a descriptor. Asked under sched.lock; takes no lock. */
struct wake_source {
        bool          (*may_wake)(void);
        struct wake_source *next;
};

/* Once per run and record. Context: any thread, a run is on. */
void w_deadlock_except(struct wake_source *o);

/* An M has gone to sleep, or is gone: it may have been the last. With sched.lock. */
void w_deadlock_asleep_locked(void);

/* For the monitor, which is about to sleep until a P is used (sysmon_sleeps): fatal if nobody can
 * use one any more. When it wants to be called again if nothing happens; W_FOREVER: no need to. */
int64_t w_deadlock_check(int64_t now);

/* For the monitor: something has happened since. */
void w_deadlock_begin_anew(void);

#endif
