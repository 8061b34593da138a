/* sched/thread/netpoll.h - which M waits for descriptors, and when.
 *
 * PROTOCOL netpoll stands in sched/thread/netpoll.c. What a descriptor is, and which goroutine
 * waits for it: net/poll.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_THREAD_NETPOLL_H
#define W_SCHED_THREAD_NETPOLL_H

#include "base/list.h"
#include "os/os.h"
#include "sched/m.h"

/* The poller of this run; the first call opens it. NULL: it cannot be opened, and *rc says why.
 * Context: any thread, a run is on, no lock held. */
struct w_os_poller *w_netpoll(int *rc);

/* A call begins, or ends, to wait for a descriptor. Context: any thread. */
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
 * must wake it by w_m_wake. With sched.lock. */
struct m *w_netpoll_take_locked(void);
/* The same for an M that is known to be in the poller. */
void w_netpoll_kick_locked(struct m *mp);

/* Ends the wait of the M in the poller. */
void w_netpoll_wake(void);

/* A P has become idle, and the M that held it will not poll. Wakes an M to poll, if there is no
 * poller. */
void w_netpoll_notify(void);

/* Polls without waiting, unless an M waits in the poller or the last poll is less than `every` ns
 * ago. Woken goroutines go to the queue of mp's P or to other Ps; behind: to the global queue.
 * Context: g0 with a P. */
void w_netpoll_poll(struct m *mp, int64_t every, bool behind);
/* The same for an M that has found no work, and will sleep in the poller if there is none. */
void w_netpoll_poll_idle(struct m *mp);

/* True: a call waits for a descriptor. A hint. */
bool w_netpoll_is_waited_for(void);

/* For the monitor: polls if the last poll is too long ago. */
void w_netpoll_check(int64_t now);

#endif
