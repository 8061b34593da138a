/* chan/recv.c - receive from a channel.
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
static W_NOINLINE int recv_wait_shared(struct chan *c, void *elem)
{
        struct wait    w;
        struct waiter *asleep;

        w_wait_begin(&w, W_FOREVER, W_CANCELLABLE);
        w_lock_quick(&c->lock);
        int rc = w_chan_recv_locked(c, elem, &asleep);

        if (rc == -EAGAIN)
                return w_chan_wait_unlock(c, &w, &c->receivers, elem,
                                          W_WAIT_CHAN_RECV);
        w_chan_unlock_wake(c, asleep);
        w_wait_end(&w);
        return rc;
}

/* The first check found nothing. The lock is held, and released in every case. */
static W_NOINLINE int recv_wait_unlock(struct chan *c, void *elem)
{
        if (W_LIKELY(w_wait_is_plain()))
                return w_chan_wait_plain_unlock(c, &c->receivers, elem,
                                                W_WAIT_CHAN_RECV);
        w_unlock_quick(&c->lock);
        return recv_wait_shared(c, elem);
}

W_INLINE int recv(struct chan *c, void *elem)
{
        struct waiter *asleep;
        int            rc = w_call_check();

        if (W_UNLIKELY(rc < 0))
                return rc;
        w_lock_quick(&c->lock);
        rc = w_chan_recv_locked(c, elem, &asleep);
        if (rc == -EAGAIN)
                return recv_wait_unlock(c, elem);
        w_chan_unlock_wake(c, asleep);
        return rc;
}

int w_chan_recv(struct chan *c, void *elem)
{
        return recv(c, elem);
}

int w_chan_try_recv(struct chan *c, void *elem)
{
        struct waiter *asleep;

        if (w_chan_recv_would_wait(c))
                return -EAGAIN;
        w_lock_quick(&c->lock);
        int rc = w_chan_recv_locked(c, elem, &asleep);

        w_chan_unlock_wake(c, asleep);
        return rc;
}

/* ---- Public ---------------------------------------------------------------------------------- */

/* No channel, or a foreign thread. */
static W_NOINLINE int recv_unusual(struct chan *c, void *elem)
{
        if (!w_call_begin())
                return -ESHUTDOWN;
        W_ENTER();
        int rc = c ? recv(c, elem) : w_chan_wait_for_ever(W_WAIT_CHAN_RECV);

        W_LEAVE();
        w_call_end();
        return rc;
}

W_EXPORT int weft_chan_recv(weft_chan *ch, void *elem)
{
        struct chan *c = w_chan_of(ch);
        struct m    *mp = w_m();

        if (W_UNLIKELY(!c || !mp))
                return recv_unusual(c, elem);
        (void)w_enter_from_user(mp);
        int rc = recv(c, elem);

        w_leave_to_user(w_m());
        return rc;
}

W_EXPORT int weft_chan_try_recv(weft_chan *ch, void *elem)
{
        struct chan *c = w_chan_of(ch);

        if (W_UNLIKELY(!w_call_begin()))
                return -ESHUTDOWN;
        W_ENTER();
        int rc = W_LIKELY(c != NULL) ? w_chan_try_recv(c, elem) : -EAGAIN;

        W_LEAVE();
        w_call_end();
        return rc;
}
