/* wait/wake.h - one wait of one party, and the word that decides who ends it.
 *
 * PROTOCOL wake stands in wait/wake.c. A waiter lives in the frame of the call that waits; whoever
 * claims it keeps that frame alive until w_wake_up.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_WAIT_WAKE_H
#define W_WAIT_WAKE_H

#include "base/atomic.h"
#include "base/list.h"
#include "base/note.h"

struct g;

/* What ends a wait. From W_VERDICT_OTHER on the meaning is the waiting call's own: a select counts
 * its cases from there. */
enum verdict {
        W_VERDICT_ARMING,       /* none yet, and the waiter still runs */
        W_VERDICT_PARKED,       /* none yet */
        W_VERDICT_TIMEOUT,
        W_VERDICT_CANCELED,
        W_VERDICT_SHUTDOWN,
        W_VERDICT_OTHER,
};

enum claim {
        W_CLAIM_LOST,           /* somebody else ends this wait: hands off */
        W_CLAIM_WON,            /* the caller ends it: w_wake_up, once */
        W_CLAIM_EARLY,          /* won before it slept: it will see, nothing is left to do */
};

/* Key: i immutable while it waits   a atomic, edge named */
struct waiter {
        struct g    *gp;        /* i  NULL: a thread that is not weft's, asleep on `note` */
        bool         sole;      /* i  one party only can find it, under one lock: no race */
        w_atomic_u32 word;      /* a  [WK1] enum verdict */
        struct note  note;
};

/* Tries to be the one who ends the wait. Context: any thread; the caller has found w through an
 * object and holds the lock of that object. */
enum claim w_wake_claim(struct waiter *w, uint32_t verdict);
/* The same, in line where there is no race. */
W_INLINE enum claim w_wake_claim_quick(struct waiter *w, uint32_t verdict)
{
        if (W_UNLIKELY(!w->sole))
                return w_wake_claim(w, verdict);
        w_store_rlx(&w->word, verdict);                           /* guarded by the object's lock */
        return W_CLAIM_WON;
}

/* Lets a claimed waiter go on; w is gone when this returns. Context: the claimer, any thread, with
 * or without a P; preferably with no lock held. */
void w_wake_up(struct waiter *w);

/* For who has claimed many: each is gathered, then w_ready_many lets them go together. A thread
 * that is not weft's goes on at once. w is not looked at again by the caller. */
void w_wake_gather(struct waiter *w, struct queue *woken);

/* Claims, and wakes if that was won: for parties that hand nothing over. True if the verdict
 * counts. */
bool w_wake(struct waiter *w, uint32_t verdict);

#endif
