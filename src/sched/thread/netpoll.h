/* sched/thread/netpoll.h - who waits for descriptors, and when.
 *
 * PROTOCOL netpoll stands in sched/thread/netpoll.c; what a descriptor is, and who waits for it, in
 * net/poll.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_THREAD_NETPOLL_H
#define W_SCHED_THREAD_NETPOLL_H

#include "base/list.h"
#include "os/os.h"
#include "sched/m.h"

/* The poller of this run, open from the first call on; NULL: it cannot be opened, *rc says why.
 * Context: any thread, a run is on, no lock held. */
struct w_os_poller *w_netpoll(int *rc);

/* A call begins to wait for a descriptor, or is done. Context: any thread. */
void w_netpoll_wait_begins(void);
void w_netpoll_wait_ends(void);

/* net/poll.c: those who wait for what has happened go to `woken`, claimed; w_ready_many wakes them.
 * Threads that are not weft's go on at once. */
void w_poll_deliver(const struct w_os_event *events, int n, struct queue *woken);

/* ---- For the scheduler ----------------------------------------------------------------------- */

/* mp, about to sleep without a P, does so in the poller if nobody else does. With sched.lock. */
void w_netpoll_begin_locked(struct m *mp);

/* For the M that does, in place of its note. It has orders then, or has lost its office, which is
 * to say that it begins again; or it holds a P, and those it has woken are in its queue. */
void w_netpoll_sleep(struct m *mp);

/* The M in the poller, no longer so, for other duties; NULL: there is none. The caller wakes it, by
 * w_m_wake. With sched.lock. */
struct m *w_netpoll_take_locked(void);
/* The same for an M that is known to be there. */
void w_netpoll_kick_locked(struct m *mp);

/* Wakes an M that sleeps, on its note or in the poller. Its orders are written. Context: the one
 * waker; any thread. */
void w_m_wake(struct m *mp);

/* A P has become idle, and its last owner does not look at descriptors any more: somebody does. */
void w_netpoll_notify(void);

/* Looks, unless somebody waits in the poller or has looked within the last `every` ns. Whom it
 * wakes is in the queue of mp's P or on other Ps; behind: in the global queue. Context: g0 with a
 * P. */
void w_netpoll_poll(struct m *mp, int64_t every, bool behind);
/* The same for who has nothing else to do, and will sleep in the poller if nobody does. */
void w_netpoll_poll_idle(struct m *mp);

/* Does somebody wait for a descriptor? A hint. */
bool w_netpoll_is_waited_for(void);

/* For the monitor: looks if nobody has for too long. */
void w_netpoll_check(int64_t now);

#endif
