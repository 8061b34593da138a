/* sched/timer/timekeeper.h - the timekeeper: one sleeping M that wakes in time for the first timer
 * of all.
 *
 * PROTOCOL timekeeper stands in sched/timer/timekeeper.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_TIMER_TIMEKEEPER_H
#define W_SCHED_TIMER_TIMEKEEPER_H

#include "sched/m.h"

/* A timer that is due at `first` was armed: if nobody would be awake by then, somebody looks.
 * Context: any thread, no lock that is taken after sched.lock. */
void w_timekeeper_notify(int64_t first);

/* For the monitor: somebody keeps the time, or is woken to. 1: it is. */
uint32_t w_timekeeper_check(int64_t now);

/* For mp that is about to sleep without a P: makes it the timekeeper if nobody else wakes early
 * enough. True: a timer is due and a P was idle; mp holds it and is to look. Context: sched.lock.
 * */
W_MUST_CHECK bool w_timekeeper_begin_locked(struct m *mp);

/* mp slept until its time as the timekeeper. True: it still was, and is no more: it is to begin
 * again. False: somebody has relieved it, so it sleeps on, or a wake is on its way. */
W_MUST_CHECK bool w_timekeeper_time_up(struct m *mp);

/* The timekeeper is so no more: it has done so itself. */
void w_timekeeper_resign_locked(void);

/* The timekeeper, no longer so, for other duties; NULL: there is none. The caller wakes it, by
 * w_m_wake. */
struct m *w_timekeeper_take_locked(void);

#endif
