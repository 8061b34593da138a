/* sched/timer/timekeeper.h - the timekeeper: one sleeping M that wakes in time for the first timer
 * of all heaps.
 *
 * PROTOCOL timekeeper stands in sched/timer/timekeeper.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_TIMER_TIMEKEEPER_H
#define W_SCHED_TIMER_TIMEKEEPER_H

#include "sched/m.h"

/* A timer that is due at `first` was armed: wakes an M to search, if no M would be awake by that
 * time. Context: any thread, no lock that is taken after sched.lock. */
void w_timekeeper_notify(int64_t first);

/* For the monitor: wakes an M if there must be a timekeeper and there is none. Returns 1 if it woke
 * an M, else 0. */
uint32_t w_timekeeper_check(int64_t now);

/* Makes mp, which is about to sleep without a P, the timekeeper if no other M wakes early enough.
 * True: a timer is due and a P was idle; mp holds that P and must search. With sched.lock. */
W_MUST_CHECK bool w_timekeeper_begin_locked(struct m *mp);

/* mp slept until its time as the timekeeper. True: mp was still the timekeeper. From now on it is
 * not, and must begin again as a sleeper. False: another M has relieved mp, or a wake is on its
 * way: mp must continue to sleep. */
W_MUST_CHECK bool w_timekeeper_time_up(struct m *mp);

/* From here on there is no timekeeper. Context: the timekeeper itself, with sched.lock. */
void w_timekeeper_resign_locked(void);

/* Takes the timekeeper for another duty, and returns it; NULL: there is none. The caller must wake
 * it by w_thread_wake. With sched.lock. */
struct m *w_timekeeper_take_locked(void);

#endif
