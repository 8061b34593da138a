/* sched/timer/lazytimer.h - lazy timers: timers in separate records, for any thread.
 *
 * A lazy timer belongs to the heap of the P where it was made. It moves to another heap only when
 * that P is removed. Stopping it and postponing it are one change of its word and leave the heap
 * alone. PROTOCOL lazytimer stands in sched/timer/lazytimer.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_TIMER_LAZYTIMER_H
#define W_SCHED_TIMER_LAZYTIMER_H

#include "sched/timer/timers.h"

struct lazytimer;

/* The call that must be made for a due lazy timer after its heap is unlocked. */
struct timer_call {
        void  (*call)(const struct timer_call *r);    /* NULL: nothing */
        void   *arg;
        int64_t due;
};

/* Key: i immutable once made   a edge named */
struct lazytimer {
        struct timer   timer;           /*    must be first; .claim is NULL */
        w_atomic_u64   word;            /* a  [AL1] when, and enum lazytimer_bit */
        W_ATOMIC(struct timers *) heap; /* a  [AL2] changes under its lock */
        int64_t        period;          /* i  0: once */
        void         (*fn)(void *);     /* i  runs in a goroutine of its own, or NULL */
        void          *arg;             /* i  */
        void          *created_at;      /* i  return address */
        /* Used if fn is NULL: fills in *r when the timer is due. With the heap's lock. */
        void         (*hold)(struct lazytimer *a, struct timer_call *r);  /* i  */
        void          *room[1];         /*    for the maker of the timer */
};

void w_lazytimers_init(void);
void w_lazytimers_destroy(void);
/* Gives pp's cached records to the central list. */
void w_lazytimer_cache_drain(struct p *pp);

/* Returns a lazy timer with fn, arg, period, hold and created_at as in *like; it is not set. NULL:
 * no memory. Context: any thread. */
W_MUST_CHECK struct lazytimer *w_lazytimer_new(const struct lazytimer *like);

/* Sets `a` to fire at `when`, whatever it was set to before. Context: no lock held, not in a
 * commit. Returns
 *    1        it was set before
 *    0        it was not set before
 *   -ENOMEM   nothing has changed */
W_MUST_CHECK int w_lazytimer_set(struct lazytimer *a, int64_t when);

/* Stops `a`. True: it was set, and will not fire now. Context: any thread, no lock held. */
bool w_lazytimer_stop(struct lazytimer *a);

/* False: t, the timer of a lazy timer, was stopped. With the lock of its heap. */
bool w_lazytimer_is_set(const struct timer *t);

/* Stops `a`; its record is reused once it is out of its heap. Context: as w_lazytimer_stop. */
void w_lazytimer_free(struct lazytimer *a);

/* As w_lazytimer_free; afterwards no firer is in `hold`, or will be. */
void w_lazytimer_free_now(struct lazytimer *a);

/* t is in the heap `to` now. Context: with the locks of the old heap and the new heap. */
void w_lazytimer_moved(struct timer *t, struct timers *to);

/* The key of a lazy timer is due: fires, moves or drops it. Returns a goroutine that is RUNNABLE
 * and in no queue, or NULL. Context: firer, the heap's lock held. */
struct g *w_lazytimer_due_locked(struct timer *t, int64_t now, struct timer_call *r);

#endif
