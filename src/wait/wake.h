/* wait/wake.h - one wait of one party, and the word that decides which party ends it.
 *
 * PROTOCOL wake stands in wait/wake.c. A waiter lives in the frame of the call that waits. Its
 * claimer keeps that frame alive until w_wake_up.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_WAIT_WAKE_H
#define W_WAIT_WAKE_H

#include "base/atomic.h"
#include "base/list.h"
#include "base/note.h"

struct g;

/* What ends a wait. The waiting call defines the values from W_VERDICT_OTHER on: a select numbers
 * its cases from there. */
enum verdict {
        W_VERDICT_ARMING,       /* no verdict yet, and the waiter still runs */
        W_VERDICT_PARKED,       /* no verdict yet */
        W_VERDICT_TIMEOUT,
        W_VERDICT_CANCELED,
        W_VERDICT_SHUTDOWN,
        W_VERDICT_OTHER,
};

enum claim {
        W_CLAIM_LOST,           /* another party ends this wait: do not touch it */
        W_CLAIM_WON,            /* the caller ends it: call w_wake_up once */
        W_CLAIM_EARLY,          /* won before the waiter parked: do not wake it */
};

/* Key: i immutable while it waits   a atomic, edge named */
struct waiter {
        struct g    *gp;        /* i  NULL: a foreign thread, asleep on `note` */
        bool         sole;      /* i  only one party can find it, under one lock: no race */
        w_atomic_u32 word;      /* a  [WK1] enum verdict */
        struct note  note;
};

/* Tries to end the wait. Context: any thread; the caller has found w through an object and holds
 * the lock of that object. */
enum claim w_wake_claim(struct waiter *w, uint32_t verdict);
/* The same, inline where there is no race. */
W_INLINE enum claim w_wake_claim_quick(struct waiter *w, uint32_t verdict)
{
        if (W_UNLIKELY(!w->sole))
                return w_wake_claim(w, verdict);
        w_store_rlx(&w->word, verdict);                           /* guarded by the object's lock */
        return W_CLAIM_WON;
}

/* Resumes a claimed waiter; w is gone when this returns. Context: the claimer, any thread, with or
 * without a P; preferably with no lock held. */
void w_wake_up(struct waiter *w);

/* For a claimer of many waiters: gathers each, then w_ready_many resumes all of them together. A
 * foreign thread is woken at once. The caller must not touch w afterwards. */
void w_wake_gather(struct waiter *w, struct queue *woken);

/* Claims, and wakes if the claim was won: for parties that hand nothing over. True if the verdict
 * counts. */
bool w_wake(struct waiter *w, uint32_t verdict);

#endif
