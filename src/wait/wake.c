/* wait/wake.c - who ends a wait: one word, one winner.
 *
 * Called by   everything that wakes: channels, semaphores, timers, scopes, the end of a run.
 *
 * PROTOCOL wake
 *
 * Goal      a goroutine that waits for several things (a channel, a deadline, a cancellation) is
 *           woken once, by one of them, and the others know that they came too late.
 * Parties   waiter; claimers, each through an object that the waiter has put a record into.
 * Words     waiter.word: ARMING, PARKED, or the verdict of the one who won.
 * Waiter    1 word := ARMING   2 puts its records in place: scope and timer first, then the object
 *           itself, whose lock it keeps   3 parks; the commit moves ARMING -> PARKED [WK2], then
 *           releases the lock   4 woken, or refused by the commit: takes out every record, each
 *           under its own lock   5 reads the verdict [WK1]
 * Claimer   under the lock of its object: 1 PARKED -> verdict [WK1]: won. It does what it came for
 *           (copies an element), releases its lock, wakes. ARMING -> verdict: won, and the commit
 *           will refuse to park. Anything else: lost
 * Sole      a wait with one record under one lock has one claimer at most, and it comes after the
 *           commit: the word needs no read-modify-write.
 * Edges     [WK1] what the winner did   claim: word CAS-acqrel -> waiter: word load-acquire
 *           [WK2] saved registers       commit: word CAS-release -> claim: word CAS-acqrel
 * Why one winner   the word leaves ARMING and PARKED once.
 * Why ARMING is safe   who keeps the object's lock until the commit is found before only by timers
 *           and scopes, who say that they struck and touch the frame no more. Select, cond and park
 *           can be found by all parties before they sleep, and are never sole: what is handed over
 *           then is handed over under a lock that the waiter takes in step 4 before it looks, or
 *           not into the frame; and nobody wakes it.
 * Why the frame outlives every claimer   a loser still holds the lock of its object while it looks,
 *           and the waiter cannot return before it has taken each of those locks in step 4. The
 *           winner keeps it from running until w_wake_up.
 * Why the commit may release a lock in a frame's object after the move   woken by a timer in
 *           between, the waiter must take that very lock in step 4 before it can go away.
 * Tests     unit/test_wake.c, explore scenarios wake*, sim scenarios wait_*, mutants wake-*; window
 *           wake-before-park.
 *
 * SPDX-License-Identifier: MIT
 */
#include "wait/wake.h"

#include "base/assert.h"
#include "sched/sched.h"

enum claim w_wake_claim(struct waiter *w, uint32_t verdict)
{
        W_ASSERT(verdict >= W_VERDICT_TIMEOUT);
        if (W_LIKELY(w->sole)) {
                w_store_rlx(&w->word, verdict);                   /* guarded by the object's lock */
                return W_CLAIM_WON;
        }
        uint32_t seen = W_VERDICT_PARKED;

        if (w_cas_acqrel(&w->word, &seen, verdict))               /* [WK1][WK2] */
                return W_CLAIM_WON;
        if (seen == W_VERDICT_ARMING && w_cas_acqrel(&w->word, &seen, verdict)) /* [WK1] */
                return W_CLAIM_EARLY;
        if (seen == W_VERDICT_PARKED && w_cas_acqrel(&w->word, &seen, verdict)) /* [WK1][WK2] */
                return W_CLAIM_WON;     /* it went to sleep between the two looks */
        return W_CLAIM_LOST;
}

void w_wake_up(struct waiter *w)
{
        if (W_LIKELY(w->gp != NULL))
                w_ready(w->gp);
        else
                w_note_wake(&w->note);
}

void w_wake_gather(struct waiter *w, struct queue *woken)
{
        if (W_LIKELY(w->gp != NULL))
                w_queue_push(woken, &w->gp->link);
        else
                w_note_wake(&w->note);
}

bool w_wake(struct waiter *w, uint32_t verdict)
{
        enum claim claim = w_wake_claim(w, verdict);

        if (claim == W_CLAIM_WON)
                w_wake_up(w);
        return claim != W_CLAIM_LOST;
}
