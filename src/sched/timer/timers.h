/* sched/timer/timers.h - a heap of timers per P.
 *
 * A timer is a record that its user provides. There are two kinds. A plain timer stands in the
 * frame of a call that waits: it is taken out of its heap before the call returns. A lazy timer
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

/* Key: t the lock of the timer's heap   u the user, while the timer is in no heap   a edge named */
struct timer {
        W_ATOMIC(struct timers *) home; /* a  [TM1] the heap that it is in; NULL: none. Changes
                                         *    under the lock of that heap */
        uint32_t index;                 /* t  in the heap */
        /* Called when the timer is due and out of the heap, still under the heap's lock. Returns
         * the goroutine to wake once the lock is released, or NULL. The record is not touched
         * afterwards. See PROTOCOL wake (wait/wake.c). NULL: this is a lazy timer. */
        struct g *(*claim)(struct timer *t);                    /* u  */
};

/* The heap of a P. */
struct timers {
        struct lock   lock;             /* class timers */
        struct heap   heap;             /* t  */
        w_atomic_u64  next_at;          /* a  [TM2] when the first timer is due; W_FOREVER: none */
        w_atomic_u32  n_dead;           /* a  counter: stopped lazy timers in the heap */
        bool          tight;            /* o  the M of the P has used the last slot */
        bool          closed;           /* t  its P is removed: empty, takes no timers */
};

/* Returns now + ns, or W_FOREVER on overflow. */
int64_t w_time_after(int64_t now, int64_t ns);

void w_timers_init(struct timers *ts);
void w_timers_free(struct timers *ts);

/* Makes room for one more timer, so that w_timer_arm by the M of this P cannot fail. Returns 0 or
 * -ENOMEM. Context: before a park, no lock held. */
W_MUST_CHECK int w_timer_reserve(void);

/* Arms t, which is in no heap. The caller has reserved room on this P and has not switched since,
 * or it has no P. False: no memory, which cannot happen after w_timer_reserve. Context: any; also
 * in a commit. */
W_MUST_CHECK bool w_timer_arm(struct timer *t, int64_t when);

/* Takes t out of its heap. True: t was in a heap. In both cases no other thread touches t
 * afterwards. Context: any thread, no lock that a claim takes. Not for lazy timers. */
bool w_timer_disarm(struct timer *t);

/* ---- For the search -------------------------------------------------------------------------- */

/* Returns when the first timer of this heap is due. A hint, unless a fence orders it. */
W_INLINE int64_t w_timers_next_at(struct timers *ts)
{
        return (int64_t)w_load_rlx(&ts->next_at);                 /* guarded by TM2 */
}

/* Returns the earliest time in all heaps that is later than `after`; W_FOREVER: none. */
int64_t w_timers_first(int64_t after);

/* False: no heap holds a timer that will ever fire. Exact while no thread arms or stops timers.
 * Context: any thread, sched.lock not held. */
bool w_timers_pending(void);

/* Fires the timers that are due at `now`; the woken goroutines go to the caller's queue. Returns
 * how many goroutines were woken. Context: g0 with a P, not necessarily the P of ts; no lock
 * held. */
uint32_t w_timers_run(struct timers *ts, int64_t now);

/* ---- When the number of Ps changes; context: the stopper of the world ------------------------ */

/* Moves all timers of `from` to `to`; `from` takes no more timers. -ENOMEM: nothing has changed. */
W_MUST_CHECK int w_timers_close(struct timers *from, struct timers *to);
void w_timers_open(struct timers *ts);

/* Ends the program if the heap is not in order. Context: any thread, sched.lock not held. */
void w_timers_check(struct timers *ts);

/* ---- For lazy timers (sched/timer/lazytimer.c) ----------------------------------------------- */

/* Locks ts, with room for one more timer, or for two more if ts is not the heap of the caller's P.
 * -ENOMEM: ts is not locked. Context: no lock held, not in a commit. */
W_MUST_CHECK int w_timers_lock_with_room(struct timers *ts);
void w_timers_push_locked(struct timers *ts, struct timer *t, int64_t when);
void w_timers_rekey_locked(struct timers *ts, struct timer *t, int64_t when);
void w_timers_remove_locked(struct timers *ts, struct timer *t);
int64_t w_timers_key_locked(const struct timers *ts, const struct timer *t);
/* Updates next_at. Must follow any change of the heap. */
void w_timers_changed_locked(struct timers *ts);
/* Unlocks. If the first timer is earlier than before, makes sure that an M is awake in time. */
void w_timers_unlock_told(struct timers *ts, int64_t first_before);

#endif
