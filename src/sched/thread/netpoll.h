/* sched/thread/netpoll.h - which M waits for descriptors, and when.
 *
 * PROTOCOL netpoll stands in sched/thread/netpoll.c. net/poll.c knows what a descriptor is, and
 * which goroutine waits for it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_THREAD_NETPOLL_H
#define W_SCHED_THREAD_NETPOLL_H

#include "base/list.h"
#include "os/os.h"
#include "sched/m.h"

/* Returns the poller of this run; the first call opens it. NULL: it cannot be opened, and *rc says
 * why. Context: any thread, a run is on, no lock held. */
struct w_os_poller *w_netpoll(int *rc);

/* Tell that a call begins to wait for a descriptor, and that its wait has ended. Context: any
 * thread. */
void w_netpoll_wait_begins(void);
void w_netpoll_wait_ends(void);

/* ---- For the scheduler ----------------------------------------------------------------------- */

/* Makes mp, which is about to sleep without a P, the poller if there is none. With sched.lock. */
void w_netpoll_begin_locked(struct m *mp);

/* Sleeps in the poller instead of on the note. Context: the M that w_netpoll_begin_locked made the
 * poller. Afterwards mp has a handoff; or holds a P, and the goroutines that it woke are in its
 * queue; or has neither and begins again as a sleeper. */
void w_netpoll_sleep(struct m *mp);

/* Kicks the M out of the poller for another duty, and returns it; NULL: there is none. The caller
 * must wake it by w_thread_wake. With sched.lock. */
struct m *w_netpoll_take_locked(void);
/* Kicks mp, which is known to be in the poller, out of it. The rest is as above. */
void w_netpoll_kick_locked(struct m *mp);

/* Ends the wait of the M in the poller. */
void w_netpoll_wake(void);

/* A P has become idle, and the M that held it will not poll. Wakes an M to poll, if there is no
 * poller. */
void w_netpoll_notify(void);

/* Polls without waiting, unless an M waits in the poller or the last poll is less than `every` ns
 * ago. Woken goroutines go to the queue of mp's P or to other Ps; with `behind`, to the global
 * queue. Context: g0 with a P. */
void w_netpoll_poll(struct m *mp, int64_t every, bool behind);
/* As w_netpoll_poll, for an M that has found no work, and will sleep as the poller if there is
 * none. */
void w_netpoll_poll_idle(struct m *mp);

/* True: a call waits for a descriptor. A hint. */
bool w_netpoll_is_waited_for(void);

/* For the monitor: polls if the last poll is too long ago. */
void w_netpoll_check(int64_t now);

#endif
