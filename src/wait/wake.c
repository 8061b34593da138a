/* wait/wake.c - decides which party ends a wait: one word, one winner.
 *
 * PROTOCOL wake
 *
 * Goal      a goroutine that waits for several things (a channel, a deadline, a cancellation) is
 *           woken once, by one of them. The other parties learn that they came too late.
 * Parties   waiter; claimers, each through an object into which the waiter has put a record.
 * Words     waiter.word: ARMING, PARKED, or the verdict of the claimer that won.
 * Waiter
 *   1. Store ARMING.
 *   2. Put the records in place: first scope and timer, then the object itself. Keep the object's
 *      lock.
 *   3. Park. The commit moves ARMING -> PARKED [WK2], then releases the lock.
 *   4. Woken, or refused by the commit: take out every record, each under its own lock.
 *   5. Read the verdict [WK1].
 * Claimer, under the lock of its object
 *   1. PARKED -> verdict [WK1]: won. Do the work (copy an element), release the lock, wake.
 *   2. ARMING -> verdict: won. The commit will refuse to park.
 *   3. Any other value: lost.
 * Sole      a wait with one record under one lock has at most one claimer, and that claimer comes
 *           after the commit. The word of such a wait needs no read-modify-write.
 * Edges     [WK1] what the winner did   claim: word CAS-acqrel -> waiter: word load-acquire
 *           [WK2] saved registers       commit: word CAS-release -> claim: word CAS-acqrel
 * Why one winner   the word leaves ARMING and PARKED once.
 * Why ARMING is safe   a waiter that keeps the object's lock until the commit can be found before
 *           the commit only by timers and scopes. These store their verdict and do not touch the
 *           frame afterwards. Waits in select, cond and park can be found by all parties before
 *           they park, and are never sole. A claimer then hands over under a lock that the waiter
 *           takes in step 4 before it reads the result, or it hands over nothing in the frame. No
 *           claimer wakes a waiter that it claimed in ARMING.
 * Why the frame outlives every claimer   a loser holds the lock of its object while it reads the
 *           record. The waiter takes each of those locks in step 4 before it returns. The winner
 *           keeps the waiter from running until w_wake_up.
 * Why the commit may release the object's lock after the move   a timer may wake the waiter in
 *           between, but the waiter must take that same lock in step 4 before its frame ends.
 * Tests     unit/test_wake.c, explore scenarios wake*, sim scenarios wait_*, mutants wake-*; window
 *           wake-before-park.
 *
 * SPDX-License-Identifier: MIT
 */
#include "wait/wake.h"

#include "base/assert.h"
#include "sched/ready.h"
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
                return W_CLAIM_WON;     /* it parked between the two loads */
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
