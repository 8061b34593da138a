/* net/deferred_error.h - errors that came after something had been moved.
 *
 * PROTOCOL deferred-error stands in net/deferred_error.c. The caller is a user of the number: see
 * net/poll.h.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_NET_DEFERRED_ERROR_H
#define W_NET_DEFERRED_ERROR_H

#include "net/desc.h"

/* For the next call in that direction (W_POLL_IN or W_POLL_OUT) on the file that fd leads to. */
void w_deferred_error_put(struct desc *d, int fd, uint32_t direction, int error);

/* The error that is kept for it, no longer; 0: none. */
int w_deferred_error_take_slow(struct desc *d, int fd, uint32_t direction);
W_INLINE int w_deferred_error_take(struct desc *d, int fd, uint32_t direction)
{
        if (W_LIKELY(!(w_load_rlx(&d->deferred) & direction)))        /* hint */
                return 0;
        return w_deferred_error_take_slow(d, fd, direction);
}

#endif
