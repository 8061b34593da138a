/* chan/waiting.c - the wait of one send or receive.
 *
 * Protocols   cites chan (chan/chan.c), wake (wait/wake.c).
 *
 * SPDX-License-Identifier: MIT
 */
#include "chan/waiting.h"

#include "chan/step.h"

int w_chan_wait_plain_unlock(struct chan *c, struct chan_side *side, void *elem,
                             enum wait_reason reason)
{
        struct waiter      waiter;
        struct chan_waiter me = { .waiter = &waiter, .elem = elem, .verdict = W_VERDICT_OTHER };

        w_wait_begin_plain(&waiter);
        w_chan_enqueue(side, &me);
        w_wait_park_plain(reason, &c->lock);
        return me.rc;
}

static void unlock(void *lock)
{
        w_unlock_quick((struct lock *)lock);
}

int w_chan_wait_unlock(struct chan *c, struct wait *w, struct chan_side *side, void *elem,
                       enum wait_reason reason)
{
        struct chan_waiter me = { .waiter = &w->waiter, .elem = elem,
                                  .verdict = W_VERDICT_OTHER };

        w_chan_enqueue(side, &me);
        uint32_t verdict = w_wait_park(w, reason, unlock, &c->lock);
        int      rc;

        if (W_LIKELY(verdict == W_VERDICT_OTHER)) {
                rc = me.rc;
        } else {
                w_lock_quick(&c->lock);
                w_chan_unlink(side, &me);
                w_unlock_quick(&c->lock);
                rc = w_wait_error(w, verdict);
        }
        w_wait_end(w);
        return rc;
}

static void unlock_nothing(void *arg)
{
        (void)arg;
}

int w_chan_wait_for_ever(enum wait_reason reason)
{
        struct wait w;
        int         rc = w_call_check();

        if (rc < 0)
                return rc;
        w_wait_begin(&w, W_FOREVER, W_CANCELLABLE);
        uint32_t verdict = w_wait_park(&w, reason, unlock_nothing, NULL);

        w_wait_end(&w);
        return w_wait_error(&w, verdict);
}
