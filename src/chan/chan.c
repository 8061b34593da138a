/* chan/chan.c - a channel's life: creation, references, close, release.
 *
 * PROTOCOL chan
 *
 * Goal      elements go from senders to receivers in order; none is lost or seen twice. Waiters are
 *           served in the order of arrival. A wait that a deadline or a cancellation has ended has
 *           transferred nothing.
 * Parties   sender, receiver, closer, each alone or through a select; observer (try forms, select),
 *           which reads without the lock.
 * Words     all under the lock, except n_refs. Observers read three kinds of words without the
 *           lock: n, the counts of both sides, closed.
 * Sender
 *   1. Lock.
 *   2. Closed: -EPIPE.
 *   3. A receiver waits, and the sender wins its wake word (PROTOCOL wake, wait/wake.c): copy
 *      straight to the receiver's element, unlock, wake the receiver.
 *   4. There is room: copy into the buffer, unlock.
 *   5. Else enter the queue of senders and park; the commit unlocks.
 * Receiver
 *   1. Lock.
 *   2. An element is in the buffer: take it. A waiting sender gets the room at once. Unlock, wake
 *      that sender.
 *   3. A sender waits: copy from the sender's element, unlock, wake the sender.
 *   4. Closed: zero the element, -EPIPE.
 *   5. Else enter the queue of receivers and park; the commit unlocks.
 * Closer
 *   1. Lock.
 *   2. closed := 1 [CH2].
 *   3. Take all waiters out of both queues, claim them, give them -EPIPE.
 *   4. Unlock, wake the waiters in the order of arrival.
 * Observer
 *   1. Read n, or without a buffer the count of the opposite side [CH1]. Something is available:
 *      stop, the caller takes the lock.
 *   2. Read closed [CH2]. Not closed: the caller would have to wait.
 * Invariants under the lock, not counting waits that another party has ended
 *           If there are elements in the buffer, no receiver waits.
 *           If there is room in the buffer, no sender waits.
 *           If the channel is closed, there is no waiter.
 *           Both queues are non-empty only if one select is in both.
 * Edges     [CH1] n or the count of a side  under the lock: store-release -> observer: load-acquire
 *           [CH2] closed                    closer: store-release -> observer: load-acquire
 *           [CH3] all uses of the channel   unref: n_refs sub-acqrel -> last unref: the same
 *           The lock and the wake hand over elements and all other data.
 * Why an observer is right   a closed channel stays closed. If it is open at the second read, it
 *           was open at the first, and at that moment nothing was available. With a buffer, an
 *           empty (or full) buffer is enough, by the invariants; without a buffer, the opposite
 *           queue was empty. The other order of the reads would be wrong: the closer empties the
 *           queues, so "open" first and "no waiter" second may belong to different times. The
 *           closer stores closed before it empties a queue: an observer that sees an emptied queue
 *           sees closed as well [CH1].
 * Why nothing is lost   an element is handed over only after the claim is won, under the lock. The
 *           claimed wait therefore ends with that element. A party that loses a claim hands its
 *           element to the next waiter. A waiter that got nothing leaves the queue under the same
 *           lock.
 * Why the record in the queue outlives its use   PROTOCOL wake: the claimer holds the lock, and
 *           then the claim.
 * Rejected  waking under the lock (the woken waiter would contend for it); a lock-free ring (close,
 *           direct hand-off and select need the lock anyway).
 * Tests     unit/test_chan.c, flow/chan/test_chan*.c, explore scenarios chan-*, sim scenarios
 *           chan_*, mutants chan-*.
 *
 * SPDX-License-Identifier: MIT
 */
#include "chan/chan.h"

#include "base/assert.h"
#include "base/window.h"
#include "chan/step.h"
#include "sched/sched.h"
#include "wait/wait.h"

#include "sched/ready.h"
#include "sched/run/foreign.h"
#include "weft.h"

/* ---- Create and release ---------------------------------------------------------------------- */

static void side_init(struct chan_side *side)
{
        w_list_init(&side->waiting);
        w_store_rlx(&side->n, 0);                                 /* own word: unpublished */
}

struct chan *w_chan_new(size_t elem_size, size_t cap)
{
        struct chan *c = w_chan_get(elem_size, cap);

        if (!c)
                return NULL;
        w_lock_init(&c->lock, W_LOCK_chan);
        c->elem_size = elem_size;
        c->cap = cap;
        c->head = 0;
        c->feeder = NULL;
        c->fed_at = 0;
        w_store_rlx(&c->n, 0);                                    /* own word: unpublished */
        w_store_rlx(&c->closed, 0);                               /* own word: unpublished */
        w_store_rlx(&c->n_refs, 1);                               /* own word: unpublished */
        side_init(&c->receivers);
        side_init(&c->senders);
        return c;
}

void w_chan_feed(struct chan *c, struct chan_feeder *feeder)
{
        c->feeder = feeder;
}

static void stop_feeder(struct chan_feeder *feeder)
{
        if (feeder)
                feeder->stop(feeder);
}

void w_chan_ref(struct chan *c)
{
        uint32_t before = w_add_rlx(&c->n_refs, 1);               /* counter */

        W_CHECK(before > 0, "reference to channel %p, which was freed", (void *)c);
}

void w_chan_unref(struct chan *c)
{
        uint32_t before = w_sub_acqrel(&c->n_refs, 1);            /* [CH3] */

        W_CHECK(before > 0, "channel %p: more references dropped than taken", (void *)c);
        if (before > 1)
                return;
        W_CHECK(w_list_empty(&c->receivers.waiting) && w_list_empty(&c->senders.waiting),
                "the last reference to channel %p is dropped while a call waits on it",
                (void *)c);
        stop_feeder(c->feeder);
        w_chan_put(c);
}

/* ---- Close ----------------------------------------------------------------------------------- */

/* Ends the waits of one side with -EPIPE, under the lock. Waiters that are asleep go to `woken`. */
static void close_side(struct chan *c, struct chan_side *side, struct list_node *woken)
{
        struct waiter      *asleep;
        struct chan_waiter *cw;

        while ((cw = w_chan_claim(side, &asleep))) {
                if (side == &c->receivers)
                        w_chan_zero(c, cw->elem);
                cw->rc = -EPIPE;
                if (asleep)
                        w_list_push_back(woken, &cw->link);
        }
}

static void wake_all(struct list_node *claimed)
{
        struct queue woken = { 0 };

        for (struct list_node *n; (n = w_list_pop_front(claimed));)
                w_wake_gather(W_CONTAINER_OF(n, struct chan_waiter, link)->waiter, &woken);
        w_ready_many(&woken);
}

int w_chan_close(struct chan *c)
{
        struct list_node    woken;
        struct chan_feeder *feeder;

        w_list_init(&woken);
        w_lock_quick(&c->lock);
        if (w_load_rlx(&c->closed)) {                             /* guarded by the lock */
                w_unlock_quick(&c->lock);
                return -EPIPE;
        }
        w_store_rel(&c->closed, 1);                               /* [CH2] */
        W_WINDOW("chan-closed-before-wake");
        close_side(c, &c->receivers, &woken);
        close_side(c, &c->senders, &woken);
        feeder = c->feeder;
        c->feeder = NULL;
        w_unlock_quick(&c->lock);
        wake_all(&woken);
        stop_feeder(feeder);
        return 0;
}

/* ---- Public ---------------------------------------------------------------------------------- */

W_EXPORT weft_chan *weft_chan_new(size_t elem_size, size_t capacity)
{
        if (!w_foreign_enter())
                return NULL;
        W_ENTER();
        struct chan *c = w_chan_new(elem_size, capacity);

        W_LEAVE();
        w_foreign_exit();
        return (weft_chan *)(void *)c;
}

/* Nothing to do once the run is ending, as in unref. */
W_EXPORT weft_chan *(weft_chan_ref)(weft_chan *c)
{
        if (!c || !w_call_begin())
                return c;
        W_ENTER();
        w_chan_ref(w_chan_of(c));
        W_LEAVE();
        w_call_end();
        return c;
}

/* Nothing to do once the run is ending: the memory of all its channels is freed together. */
W_EXPORT void (weft_chan_unref)(weft_chan *c)
{
        if (!c || !w_foreign_enter())
                return;
        W_ENTER();
        w_chan_unref(w_chan_of(c));
        W_LEAVE();
        w_foreign_exit();
}

W_EXPORT int (weft_chan_close)(weft_chan *c)
{
        if (!c)
                return -EINVAL;
        if (!w_foreign_enter())
                return -ESHUTDOWN;
        W_ENTER();
        int rc = w_chan_close(w_chan_of(c));

        W_LEAVE();
        w_foreign_exit();
        return rc;
}

/* A snapshot: it may be out of date on return, unless the caller excludes other users. */
W_EXPORT size_t (weft_chan_len)(const weft_chan *c)
{
        if (!c || !w_call_begin())
                return 0;
        W_ENTER();
        size_t n = w_load_rlx(&((const struct chan *)(const void *)c)->n);     /* hint */

        W_LEAVE();
        w_call_end();
        return n;
}

W_EXPORT size_t (weft_chan_cap)(const weft_chan *c)
{
        if (!c || !w_call_begin())
                return 0;
        W_ENTER();
        size_t cap = ((const struct chan *)(const void *)c)->cap;

        W_LEAVE();
        w_call_end();
        return cap;
}
