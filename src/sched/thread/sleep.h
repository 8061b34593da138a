/* sched/thread/sleep.h - an M without a P sleeps until it gets one, or ends.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_THREAD_SLEEP_H
#define W_SCHED_THREAD_SLEEP_H

#include "sched/m.h"

/* Sleeps as an M without a P. True: mp has a P again. False: mp must end. */
bool w_thread_sleep(struct m *mp);
bool w_thread_sleep_unlock(struct m *mp);       /* with sched.lock, which is released */
bool w_thread_sleep_enlisted(struct m *mp);     /* for an M that is in a list already */
void w_thread_enlist_locked(struct m *mp);      /* into the list of idle Ms */
/* Wakes an M that sleeps, on its note or in the poller. Its handoff is written. Context: the only
 * waker, on any thread. */
void w_thread_wake(struct m *mp);
/* Takes the P that the waker, or the creator, left in the record. */
void w_thread_take_handoff(struct m *mp);
/* For the monitor: tries to create a thread that is pending. Returns 1 if it tried, else 0. */
uint32_t w_thread_retry_pending(int64_t now);
/* Hands mp's P to a sleeping M, if there is one, and sleeps. Returns as w_thread_sleep. */
bool w_thread_swap(struct m *mp);
/* For a dedicated M that holds a P without its goroutine: leaves the P to other threads and sleeps,
 * or ends. Returns as w_thread_sleep. m0 keeps the P if there are no other threads. */
bool w_thread_release_dedicated(struct m *mp);

#endif
