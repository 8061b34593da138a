/* net/deferred_error.h - errors after a partial transfer.
 *
 * PROTOCOL deferred-error stands in net/deferred_error.c. The caller is a user of the number: see
 * net/desc_ref.h.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_NET_DEFERRED_ERROR_H
#define W_NET_DEFERRED_ERROR_H

#include "net/desc.h"

/* Saves the error for the next call in that direction (W_POLL_IN or W_POLL_OUT) on fd's file. */
void w_deferred_error_put(struct desc *d, int fd, uint32_t direction, int error);

/* Takes the error that is saved for a call in that direction; 0: none. */
int w_deferred_error_take_slow(struct desc *d, int fd, uint32_t direction);
W_INLINE int w_deferred_error_take(struct desc *d, int fd, uint32_t direction)
{
        if (W_LIKELY(!(w_load_rlx(&d->deferred) & direction)))        /* hint */
                return 0;
        return w_deferred_error_take_slow(d, fd, direction);
}

#endif
