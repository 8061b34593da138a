/* chan/chan.c - a channel's life: made, referred to, closed, gone.
 *
 * Called by   user code; ticks and the like through chan/chan.h.
 *
 * PROTOCOL chan
 *
 * Goal      elements go from senders to receivers in order, none is lost or seen twice; who waits
 *           is served in the order of coming; a wait that a deadline or a cancellation has ended
 *           has transferred nothing.
 * Parties   sender, receiver, closer, each alone or through a select; looker (try forms, select).
 * Words     all under the lock but for three that lookers read: n and the counts of both sides,
 *           closed; n_refs.
 * Sender    1 lock   2 closed: no   3 a receiver waits whose word it wins (PROTOCOL wake,
 *           wait/wake.c): copies straight to its place, unlocks, wakes it   4 room: into the buffer
 *           5 else puts its own record in line and parks; the commit unlocks
 * Receiver  1 lock   2 an element in the buffer: takes it; a sender that waits gets the room at
 *           once   3 a sender waits: copies from its place, unlocks, wakes it   4 closed: zeroes,
 *           no   5 else waits in line likewise
 * Closer    1 lock   2 closed := 1 [CH2]   3 takes everyone out of both lines, claims, tells -EPIPE
 *           4 unlocks, wakes them, so that they run in the order of coming
 * Looker    1 nothing there [CH1]   2 not closed [CH2]: it would have to wait
 * Invariants under the lock, of those in line whose wait has not ended otherwise: elements in the
 *           buffer -> no receiver waits; room in the buffer -> no sender waits; closed -> nobody
 *           waits; both lines are not empty only if one select stands in both.
 * Edges     [CH1] n or the count of a side   under the lock: store-release -> looker: load-acquire
 *           [CH2] closed                     closer: store-release -> looker: load-acquire
 *           [CH3] all uses of the channel    unref: n_refs sub-acqrel -> last unref: the same
 *           Elements and all else are handed over by the lock, and by waking.
 * Why a looker is right   a channel that was closed stays so. If it is open when the looker looks
 *           for the second time it was open at the first look, and at that moment nothing was to be
 *           had: with a buffer, empty (or full) alone says so, by the invariants; without one, the
 *           other line was empty. The other order would be wrong: the closer empties the lines, so
 *           "open" first and "nobody there" second may belong to different times. The closer
 *           stores closed before it empties anything: who sees a line that it has emptied sees
 *           closed as well [CH1].
 * Why nothing is lost   an element is handed over only after the claim is won, under the lock, so
 *           the winner's wait ends with it; a loser of the claim hands its element to the next in
 *           line. Who waited in vain takes itself out under the same lock.
 * Why the record in line outlives its use   PROTOCOL wake: the claimer holds the lock, and then the
 *           claim.
 * Rejected  waking under the lock (the woken one runs into it); a lock-free ring (close, direct
 *           hand-off and select need the lock anyway).
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

#include "weft.h"

/* ---- New and gone ---------------------------------------------------------------------------- */

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

        W_CHECK(before > 0, "reference to channel %p, which is gone", (void *)c);
}

void w_chan_unref(struct chan *c)
{
        uint32_t before = w_sub_acqrel(&c->n_refs, 1);            /* [CH3] */

        W_CHECK(before > 0, "channel %p: more references dropped than taken", (void *)c);
        if (before > 1)
                return;
        W_CHECK(w_list_empty(&c->receivers.waiting) && w_list_empty(&c->senders.waiting),
                "the last reference to channel %p is dropped while somebody waits on it",
                (void *)c);
        stop_feeder(c->feeder);
        w_chan_put(c);
}

/* ---- Close ----------------------------------------------------------------------------------- */

/* Everyone in line hears of the close; those asleep go to `woken`. Under the lock. */
static void tell_side(struct chan *c, struct chan_side *side, struct list_node *woken)
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
        W_WINDOW("chan-closed-before-told");
        tell_side(c, &c->receivers, &woken);
        tell_side(c, &c->senders, &woken);
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

/* As with unref: what belongs to a run that is ending goes as a whole. */
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

/* Once the run is ending there is nothing to do: its memory goes as a whole. */
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

/* What it was a moment ago, unless the caller knows better. */
W_EXPORT size_t (weft_chan_len)(weft_chan *c)
{
        if (!c || !w_call_begin())
                return 0;
        W_ENTER();
        size_t n = w_load_rlx(&w_chan_of(c)->n);                  /* hint */

        W_LEAVE();
        w_call_end();
        return n;
}

W_EXPORT size_t (weft_chan_cap)(weft_chan *c)
{
        if (!c || !w_call_begin())
                return 0;
        W_ENTER();
        size_t cap = w_chan_of(c)->cap;

        W_LEAVE();
        w_call_end();
        return cap;
}
