/* sched/timer/timers.h - what is due when: a heap of timers per P.
 *
 * A timer is a record that its user provides. There are two kinds. A plain timer stands in the
 * frame of a call that waits: it is taken out of its heap before the call returns. An alarm
 * (sched/timer/lazytimer.h) stands in a longer-lived record and is stopped and moved without
 * touching its heap. PROTOCOL timers stands in sched/timer/timers.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_TIMER_TIMERS_H
#define W_SCHED_TIMER_TIMERS_H

#include "base/atomic.h"
#include "base/heap.h"
#include "base/list.h"
#include "base/lock.h"

struct g;
struct p;
struct timers;

/* Key: t the lock of the heap it is in   u the user while it is in none   a edge named */
struct timer {
        W_ATOMIC(struct timers *) home; /* a  [TM1] the heap it is in; NULL: none. Changes under
                                         *    the lock of that heap */
        uint32_t index;                 /* t  in the heap */
        /* When due, out of the heap and still under its lock: decides whether a goroutine is to be
         * woken for it, which happens after the lock. The record is not touched afterwards. See
         * PROTOCOL wake (wait/wake.c). NULL: this is the timer of an alarm. */
        struct g *(*claim)(struct timer *t);                    /* u  */
};

/* One heap: of a P. */
struct timers {
        struct lock   lock;             /* class timers */
        struct heap   heap;             /* t  */
        w_atomic_u64  next_at;          /* a  [TM2] when the first is due; W_FOREVER: none */
        w_atomic_u32  n_dead;           /* a  counter: alarms here that were stopped */
        bool          tight;            /* o  the P's owner has used the last slot */
        bool          closed;           /* t  its P is gone: empty, and takes none */
};

/* A time that never comes too early for any clock: overflow ends at W_FOREVER. */
int64_t w_time_after(int64_t now, int64_t ns);

void w_timers_init(struct timers *ts);
void w_timers_free(struct timers *ts);

/* Makes room for one more, so that w_timer_arm by this P's owner cannot fail. -ENOMEM. Context:
 * before a park, no lock held. */
W_MUST_CHECK int w_timer_reserve(void);

/* t is in no heap. Room was reserved, on this P, with no switch since; or the caller has no P.
 * False: no memory, which cannot happen after w_timer_reserve. Context: any; also in a commit. */
W_MUST_CHECK bool w_timer_arm(struct timer *t, int64_t when);

/* Takes t out of its heap if it is in one: true. Afterwards nobody looks at t any more, whatever
 * the answer. Context: any thread, no lock that a claim takes. Not for alarms. */
bool w_timer_disarm(struct timer *t);

/* ---- For the search -------------------------------------------------------------------------- */

/* When the first of this heap is due. A hint unless a fence says more. */
W_INLINE int64_t w_timers_next_at(struct timers *ts)
{
        return (int64_t)w_load_rlx(&ts->next_at);                 /* guarded by TM2 */
}

/* The earliest of all heaps that is later than `after`; W_FOREVER: none. */
int64_t w_timers_first(int64_t after);

/* False: no heap holds one that will ever fire. Exact while nobody arms or stops any. Context: any
 * thread, sched.lock not held. */
bool w_timers_pending(void);

/* Fires what is due at `now`; those woken go to the caller's queue. How many that are, but for
 * those for whom a thread was woken already. Context: g0 with a P, not necessarily that of ts; no
 * lock held. */
uint32_t w_timers_run(struct timers *ts, int64_t now);

/* ---- When the number of Ps changes; context: the stopper of the world ------------------------ */

/* All timers of `from` move to `to`, and it takes no more. -ENOMEM: nothing has changed. */
W_MUST_CHECK int w_timers_close(struct timers *from, struct timers *to);
void w_timers_open(struct timers *ts);

/* Ends the program if the heap is not in order. Context: any thread, sched.lock not held. */
void w_timers_check(struct timers *ts);

/* ---- For alarms (sched/timer/lazytimer.c)
 * -------------------------------------------------------------- */

/* Locks ts with room for one more, and one beyond that if it is not the caller's own. -ENOMEM: not
 * locked. Context: no lock held, not in a commit. */
W_MUST_CHECK int w_timers_lock_with_room(struct timers *ts);
void w_timers_push_locked(struct timers *ts, struct timer *t, int64_t when);
void w_timers_rekey_locked(struct timers *ts, struct timer *t, int64_t when);
void w_timers_remove_locked(struct timers *ts, struct timer *t);
int64_t w_timers_key_locked(const struct timers *ts, const struct timer *t);
/* After any change of the heap. */
void w_timers_changed_locked(struct timers *ts);
/* Unlocks, and sees to it that somebody is awake in time if the first is earlier than before. */
void w_timers_unlock_told(struct timers *ts, int64_t first_before);

#endif
