/* net/close_notify.h - sleeping while using a descriptor, but not in its wait queue.
 *
 * PROTOCOL close-notify stands in net/close_notify.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_NET_CLOSE_NOTIFY_H
#define W_NET_CLOSE_NOTIFY_H

#include "base/list.h"
#include "wait/wake.h"

struct desc;

/* In the sleeper's frame. Key: i immutable   l the list's lock */
struct close_waiter {
        struct list_node link;          /* l */
        struct waiter   *waiter;        /* i */
};

/* The verdict of a sleeper that must check its condition again. */
enum { W_CLOSE_NOTIFIED = W_VERDICT_OTHER };

/* Between join and leave every weft_close that begins or ends claims w. join sets w->sole to false,
 * because several parties can claim w. A sleeper that checks after the join whether its descriptor
 * is being closed, and then parks, misses no close. */
void w_close_notify_join(struct close_waiter *b, struct waiter *w);
void w_close_notify_leave(struct close_waiter *b);

/* Wakes all sleepers. Must be called after a weft_close has begun, and after a close(2). */
void w_close_notify_wake(void);

/* Sleeps until the time `until`, or until the next w_close_notify_wake. try, unless it is NULL, is
 * called when no close can be missed any more; if it returns true there is no need to sleep.
 *
 * Returns
 *   0         the time has come, a descriptor was closed, or try returned true
 *   -EBADF    d is being closed
 *   -ETIMEDOUT, -ECANCELED, -ESHUTDOWN
 * May switch: yes. */
W_MUST_CHECK int w_close_notify_sleep(struct desc *d, int64_t until, bool (*try)(void *arg),
                                      void *arg);

#endif
