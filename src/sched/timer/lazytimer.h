/* sched/timer/lazytimer.h - alarms: timers in records of their own, stopped and moved from
 * anywhere.
 *
 * An alarm belongs to the heap of the P where it was made, and to another one only when that P is
 * removed. Stopping it and putting it off are one change of its word and leave the heap alone.
 * PROTOCOL lazytimer stands in sched/timer/lazytimer.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_TIMER_LAZYTIMER_H
#define W_SCHED_TIMER_LAZYTIMER_H

#include "sched/timer/timers.h"

struct lazytimer;

/* What is left to do for an alarm that was due, once its heap is unlocked. */
struct timer_call {
        void  (*call)(const struct timer_call *r);    /* NULL: nothing */
        void   *arg;
        int64_t due;
};

/* Key: i immutable once made   a edge named */
struct lazytimer {
        struct timer   timer;           /*    must be first; .claim is NULL */
        w_atomic_u64   word;            /* a  [AL1] when, and enum lazytimer_bit */
        W_ATOMIC(struct timers *) heap; /* a  [AL2] changes under the lock of the old one */
        int64_t        period;          /* i  0: once */
        void         (*fn)(void *);     /* i  to run in a goroutine of its own, or NULL */
        void          *arg;             /* i  */
        void          *created_at;      /* i  return address */
        /* With no fn. Under the heap's lock, the alarm being due: says what to do after it. */
        void         (*hold)(struct lazytimer *a, struct timer_call *r);  /* i  */
        void          *room[1];         /*    for whoever made it */
};

void w_lazytimers_init(void);
void w_lazytimers_destroy(void);
/* Gives pp's cached records to the central list. */
void w_lazytimer_cache_drain(struct p *pp);

/* A record with fn, arg, period, hold and created_at as in *like, not set. NULL: no memory.
 * Context: any thread. */
W_MUST_CHECK struct lazytimer *w_lazytimer_new(const struct lazytimer *like);

/* Sets it to go off at `when`, whatever it was set to before: 1 if it was set, 0 if not, -ENOMEM
 * and unchanged. Context: no lock held, not in a commit. */
W_MUST_CHECK int w_lazytimer_set(struct lazytimer *a, int64_t when);

/* True if it was set, and now will not go off. Context: any thread, no lock held. */
bool w_lazytimer_stop(struct lazytimer *a);

/* t is the timer of an alarm: false, it was stopped. With the lock of its heap. */
bool w_lazytimer_is_set(const struct timer *t);

/* Stops it; the record is reused once its heap has forgotten it. Context: as w_lazytimer_stop. */
void w_lazytimer_free(struct lazytimer *a);

/* The same, and nobody is or will be in `hold` afterwards. */
void w_lazytimer_free_now(struct lazytimer *a);

/* It is in that heap now. Context: with the locks of the old one and the new one. */
void w_lazytimer_moved(struct timer *t, struct timers *to);

/* An alarm's timer is due, or was when its key was set: fires, moves or drops it. A goroutine that
 * is RUNNABLE and in no queue, or NULL. Context: firer, the heap's lock held. */
struct g *w_lazytimer_due_locked(struct timer *t, int64_t now, struct timer_call *r);

#endif
