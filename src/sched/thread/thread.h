/* sched/thread/thread.h - threads for Ps: started, deferred, ended.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_THREAD_THREAD_H
#define W_SCHED_THREAD_THREAD_H

#include "sched/sched.h"

/* Returns how many event waiters there are: Ms that sleep for timers or descriptors, and are in no
 * list of sleeping Ms. With sched.lock. */
W_INLINE uint32_t w_n_event_waiters_locked(void)
{
        return (w_sched.timekeeper.m ? 1u : 0u) +
               (w_sched.poller.m && w_sched.poller.m != w_sched.timekeeper.m ? 1u : 0u);
}

W_INLINE bool w_m_is_event_waiter_locked(const struct m *mp)
{
        return w_sched.timekeeper.m == mp || w_sched.poller.m == mp;
}

/* Returns how many Ms have a P, sleep or are about to sleep, and may run every goroutine. With
 * sched.lock. */
W_INLINE uint32_t w_threads_available_locked(void)
{
        return w_sched.n_m - w_sched.n_leaving - w_sched.n_lost - w_sched.n_dedicated;
}

/* Creates a thread for pp, which the caller owns; pp NULL: an M that begins in the idle list.
 * Failure is reported, and pp goes back. Returns 0, or -Exxx. */
int  w_thread_create(struct p *pp, bool spinning);
/* Finds or creates a thread for pp, which the caller owns. A commit must not create threads: there
 * the creation is deferred until the commit is over. */
void w_thread_for(struct p *pp, bool spinning);
/* As w_thread_for, for each P of a list linked by idle_next. These Ps have work: their Ms do not
 * spin. */
void w_threads_for(struct p *list);
/* Creates the threads that mp deferred. Context: the goroutine that mp runs, or g0; no commit. */
void w_thread_create_deferred(struct m *mp);
/* Joins the threads that have ended. Context: the end of the run. */
void w_threads_join_ended(void);
/* pp has work and no thread: puts pp back into the idle list and notes that a thread is pending.
 * The next M that goes idle takes pp, or the M that is woken here takes it. With sched.lock. */
void w_thread_defer_locked(struct p *pp, bool spinning, enum thread_pending why);
/* Asks the monitor to create a thread for pp, which the caller owns: PROTOCOL thread-request. */
void w_thread_request(struct p *pp, bool spinning);

#endif
