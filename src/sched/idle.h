/* sched/idle.h - spinning, idle Ps, and waking an M for new work.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_IDLE_H
#define W_SCHED_IDLE_H

#include "sched/sched.h"

/* New work was published: an M must find it. See PROTOCOL idle (sched/idle.c), Submit. */
void w_wake_one_slow(void);
W_INLINE void w_wake_one(void)
{
        if (w_n_procs() != 1 || !w_p())         /* else only the caller could run the work */
                w_wake_one_slow();
}

/* True: a goroutine is runnable on some P, or in the global queue. */
bool w_any_queue_has_work(void);
void w_spin_begin(struct m *mp);
void w_spin_end_found(struct m *mp);
/* Releases the P and sleeps. True: mp has a P again and searches on. False: mp must end. */
bool w_idle(struct m *mp);
void w_idle_p_put_locked(struct p *pp);
struct p *w_idle_p_get_locked(void);
/* Takes the idle P with the first timer. */
struct p *w_idle_p_get_timed_locked(void);

#endif
