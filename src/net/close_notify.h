/* net/close_notify.h - those who use a descriptor and sleep, but not in its line.
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

/* In the frame of who waits. Key: i immutable   l the list's lock */
struct close_waiter {
        struct list_node link;          /* l */
        struct waiter   *waiter;        /* i */
};

/* What a waiter is told: to look again. */
enum { W_CLOSE_NOTIFIED = W_VERDICT_OTHER };

/* From join to leave w is claimed by whatever weft_close begins or ends; it is not sole. Who looks
 * after the join whether its descriptor is being closed, and then parks, misses nothing. */
void w_close_notify_join(struct close_waiter *b, struct waiter *w);
void w_close_notify_leave(struct close_waiter *b);

/* A weft_close has begun, or a descriptor is closed. */
void w_close_notify_wake(void);

/* Waits until then, or until somebody calls w_close_notify_wake: 0. -EBADF: d is being closed;
 * -ETIMEDOUT and the like. try, unless it is NULL, is called once nothing can be missed any more;
 * true: there is no need to wait. May switch: yes. */
W_MUST_CHECK int w_close_notify_sleep(struct desc *d, int64_t until, bool (*try)(void *arg),
                                      void *arg);

#endif
