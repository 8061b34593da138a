/* chan/step.h - the steps on a channel under its lock, for send, receive and select alike.
 *
 * Inline, because these few lines are most of what a channel operation costs, and each function has
 * two callers. A step returns the waiter that must be woken. The caller wakes it after it has
 * released the lock. See PROTOCOL chan (chan/chan.c).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_CHAN_STEP_H
#define W_CHAN_STEP_H

#include "chan/chan.h"

#include <errno.h>      /* -Exxx */
#include <string.h>

/* ---- Elements -------------------------------------------------------------------------------- */

/* Most elements are a word; a call of memcpy would cost as much as the rest. */
W_INLINE void w_chan_copy(const struct chan *c, void *to, const void *from)
{
        if (W_UNLIKELY(!to) || c->elem_size == 0)
                return;
        if (W_LIKELY(c->elem_size == 8))
                memcpy(to, from, 8);
        else if (c->elem_size == 4)
                memcpy(to, from, 4);
        else
                memcpy(to, from, c->elem_size);
}

W_INLINE void w_chan_zero(const struct chan *c, void *elem)
{
        if (elem && c->elem_size)
                memset(elem, 0, c->elem_size);
}

W_INLINE void *w_chan_slot(const struct chan *c, size_t index)
{
        return c->buffer + index * c->elem_size;
}

/* ---- Waiters --------------------------------------------------------------------------------- */

W_INLINE void w_chan_side_count(struct chan_side *side, uint32_t by)
{
        w_store_rel(&side->n, w_load_rlx(&side->n) + by);         /* [CH1]; own word: lock held */
}

W_INLINE void w_chan_enqueue(struct chan_side *side, struct chan_waiter *cw)
{
        w_list_init(&cw->link);
        w_list_push_back(&side->waiting, &cw->link);
        w_chan_side_count(side, 1);
}

/* Does nothing if another party has taken cw out already. */
W_INLINE void w_chan_unlink(struct chan_side *side, struct chan_waiter *cw)
{
        if (w_list_empty(&cw->link))
                return;
        w_list_unlink(&cw->link);
        w_chan_side_count(side, (uint32_t)-1);
}

/* Takes out and claims the oldest waiter of a side that can be claimed; NULL: none. *asleep is NULL
 * if that waiter has not parked yet: its park will be refused. */
W_INLINE struct chan_waiter *w_chan_claim(struct chan_side *side, struct waiter **asleep)
{
        for (struct list_node *n; (n = w_list_first(&side->waiting));) {
                struct chan_waiter *cw = W_CONTAINER_OF(n, struct chan_waiter, link);

                w_list_unlink(n);
                w_chan_side_count(side, (uint32_t)-1);
                enum claim claim = w_wake_claim_quick(cw->waiter, cw->verdict);

                if (W_UNLIKELY(claim == W_CLAIM_LOST))
                        continue;       /* another party has ended its wait */
                *asleep = W_LIKELY(claim == W_CLAIM_WON) ? cw->waiter : NULL;
                return cw;
        }
        return NULL;
}

/* ---- Send ------------------------------------------------------------------------------------ */

W_INLINE void w_chan_buffer_put(struct chan *c, uint64_t n, const void *elem)
{
        size_t tail = c->head + n;

        if (tail >= c->cap)
                tail -= c->cap;
        w_chan_copy(c, w_chan_slot(c, tail), elem);
}

/* 0, -EPIPE or -EAGAIN. *asleep: the waiter to wake with w_wake_up after the unlock, or NULL. */
W_INLINE int w_chan_send_locked(struct chan *c, const void *elem, struct waiter **asleep)
{
        *asleep = NULL;
        if (W_UNLIKELY(w_load_rlx(&c->closed)))                   /* guarded by the lock */
                return -EPIPE;
        struct chan_waiter *receiver = w_chan_claim(&c->receivers, asleep);

        if (receiver) {
                w_chan_copy(c, receiver->elem, elem);
                receiver->rc = 0;
                return 0;
        }
        uint64_t n = w_load_rlx(&c->n);                           /* guarded by the lock */

        if (n == c->cap)
                return -EAGAIN;
        w_chan_buffer_put(c, n, elem);
        w_store_rel(&c->n, n + 1);                                /* [CH1] */
        return 0;
}

/* ---- Receive --------------------------------------------------------------------------------- */

/* Takes the oldest element of a buffer that has n > 0. A sender that waits for room gets it. */
W_INLINE void w_chan_buffer_take(struct chan *c, uint64_t n, void *elem, struct waiter **asleep)
{
        w_chan_copy(c, elem, w_chan_slot(c, c->head));
        if (++c->head == c->cap)
                c->head = 0;
        struct chan_waiter *sender = w_chan_claim(&c->senders, asleep);

        if (sender) {
                w_chan_buffer_put(c, n - 1, sender->elem);
                sender->rc = 0;
        } else {
                w_store_rel(&c->n, n - 1);                        /* [CH1] */
        }
}

W_INLINE int w_chan_recv_locked(struct chan *c, void *elem, struct waiter **asleep)
{
        uint64_t n = w_load_rlx(&c->n);                           /* guarded by the lock */

        *asleep = NULL;
        if (n > 0) {
                w_chan_buffer_take(c, n, elem, asleep);
                return 0;
        }
        struct chan_waiter *sender = w_chan_claim(&c->senders, asleep);

        if (sender) {
                w_chan_copy(c, elem, sender->elem);
                sender->rc = 0;
                return 0;
        }
        if (W_UNLIKELY(w_load_rlx(&c->closed))) {                 /* guarded by the lock */
                w_chan_zero(c, elem);
                return -EPIPE;
        }
        return -EAGAIN;
}

/* ---- Without the lock ------------------------------------------------------------------------ */

/* True: there was a moment during this call at which the channel was open and a send, or a receive,
 * would have had to wait. PROTOCOL chan says why the order of the two reads matters. */
W_INLINE bool w_chan_send_would_wait(struct chan *c)
{
        bool none = c->cap ? w_load_acq(&c->n) == c->cap          /* [CH1] */
                           : w_load_acq(&c->receivers.n) == 0;    /* [CH1] */

        return none && !w_load_acq(&c->closed);                   /* [CH2] */
}

W_INLINE bool w_chan_recv_would_wait(struct chan *c)
{
        bool none = c->cap ? w_load_acq(&c->n) == 0               /* [CH1] */
                           : w_load_acq(&c->senders.n) == 0;      /* [CH1] */

        return none && !w_load_acq(&c->closed);                   /* [CH2] */
}

#endif
