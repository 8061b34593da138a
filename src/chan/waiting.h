/* chan/waiting.h - how a send or a receive waits in the queue of a channel.
 *
 * For send.c, recv.c and select.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_CHAN_WAITING_H
#define W_CHAN_WAITING_H

#include "chan/chan.h"
#include "wait/wait.h"

W_INLINE void w_chan_unlock_wake(struct chan *c, struct waiter *asleep)
{
        w_unlock_quick(&c->lock);
        if (asleep)
                w_wake_up(asleep);
}

/* Waits in the queue of one side, where only the channel can end the wait: see w_wait_is_plain().
 * The lock is held, and released. 0 or -EPIPE. May switch: yes. */
W_MUST_CHECK int w_chan_wait_plain_unlock(struct chan *c, struct chan_side *side, void *elem,
                                          enum wait_reason reason);

/* The same after w_wait_begin(w). 0, -EPIPE, or the error that ended the wait; ends w. */
W_MUST_CHECK int w_chan_wait_unlock(struct chan *c, struct wait *w, struct chan_side *side,
                                    void *elem, enum wait_reason reason);

#endif
