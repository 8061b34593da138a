/* chan/send.c - send to a channel.
 *
 * Protocols   cites chan (chan/chan.c), wake (wait/wake.c).
 *
 * SPDX-License-Identifier: MIT
 */
#include "chan/step.h"
#include "chan/waiting.h"

#include "weft.h"

/* For a caller in a scope, or a foreign thread. The wait must be registered with the other parties
 * that may end it, with no lock held. The channel must then be checked again. */
static W_NOINLINE int send_wait_shared(struct chan *c, const void *elem)
{
        struct wait    w;
        struct waiter *asleep;

        w_wait_begin(&w, W_FOREVER, W_CANCELLABLE);
        w_lock_quick(&c->lock);
        int rc = w_chan_send_locked(c, elem, &asleep);

        if (rc == -EAGAIN)
                return w_chan_wait_unlock(c, &w, &c->senders, (void *)(uintptr_t)elem,
                                          W_WAIT_CHAN_SEND);
        w_chan_unlock_wake(c, asleep);
        w_wait_end(&w);
        return rc;
}

/* The first check found no room and no receiver. The lock is held, and released in every case. */
static W_NOINLINE int send_wait_unlock(struct chan *c, const void *elem)
{
        if (W_LIKELY(w_wait_is_plain()))
                return w_chan_wait_plain_unlock(c, &c->senders, (void *)(uintptr_t)elem,
                                                W_WAIT_CHAN_SEND);
        w_unlock_quick(&c->lock);
        return send_wait_shared(c, elem);
}

W_INLINE int send(struct chan *c, const void *elem)
{
        struct waiter *asleep;
        int            rc = w_call_check();

        if (W_UNLIKELY(rc < 0))
                return rc;
        w_lock_quick(&c->lock);
        rc = w_chan_send_locked(c, elem, &asleep);
        if (rc == -EAGAIN)
                return send_wait_unlock(c, elem);
        w_chan_unlock_wake(c, asleep);
        return rc;
}

int w_chan_send(struct chan *c, const void *elem)
{
        return send(c, elem);
}

int w_chan_try_send(struct chan *c, const void *elem)
{
        struct waiter *asleep;

        if (w_chan_send_would_wait(c))
                return -EAGAIN;
        w_lock_quick(&c->lock);
        int rc = w_chan_send_locked(c, elem, &asleep);

        w_chan_unlock_wake(c, asleep);
        return rc;
}

int w_chan_try_send_time(struct chan *c, int64_t at)
{
        struct waiter *asleep = NULL;
        int            rc = -EAGAIN;

        if (w_chan_send_would_wait(c))
                return rc;
        w_lock_quick(&c->lock);
        if (at > c->fed_at)
                rc = w_chan_send_locked(c, &at, &asleep);
        if (rc == 0)
                c->fed_at = at;
        w_chan_unlock_wake(c, asleep);
        return rc;
}

int w_chan_try_send_gather(struct chan *c, const void *elem, struct queue *woken)
{
        struct waiter *asleep;

        w_lock_quick(&c->lock);
        int rc = w_chan_send_locked(c, elem, &asleep);

        w_unlock_quick(&c->lock);
        if (asleep)
                w_wake_gather(asleep, woken);
        return rc;
}

/* ---- Public ---------------------------------------------------------------------------------- */

/* The channel's elements have a size, and the caller gave no element: -EINVAL. */
W_INLINE bool lacks_elem(const struct chan *c, const void *elem)
{
        return W_UNLIKELY(!elem) && c->elem_size > 0;
}

/* No channel, or a foreign thread, or no element. */
static W_NOINLINE int send_unusual(struct chan *c, const void *elem)
{
        if (!w_call_begin())
                return -ESHUTDOWN;
        W_ENTER();
        int rc;

        if (!c)
                rc = w_chan_wait_for_ever(W_WAIT_CHAN_SEND);
        else
                rc = lacks_elem(c, elem) ? -EINVAL : send(c, elem);

        W_LEAVE();
        w_call_end();
        return rc;
}

W_EXPORT int weft_chan_send(weft_chan *ch, const void *elem)
{
        struct chan *c = w_chan_of(ch);
        struct m    *mp = w_m();

        if (W_UNLIKELY(!c || !mp || !elem))
                return send_unusual(c, elem);
        (void)w_enter_from_user(mp);
        int rc = send(c, elem);

        w_leave_to_user(w_m());
        return rc;
}

W_EXPORT int weft_chan_try_send(weft_chan *ch, const void *elem)
{
        struct chan *c = w_chan_of(ch);

        if (W_UNLIKELY(!w_call_begin()))
                return -ESHUTDOWN;
        W_ENTER();
        int rc = -EAGAIN;

        if (W_LIKELY(c != NULL))
                rc = lacks_elem(c, elem) ? -EINVAL : w_chan_try_send(c, elem);

        W_LEAVE();
        w_call_end();
        return rc;
}
