/* tests/lib/fd_waiters.h - how many waiters a descriptor has, for tests in which the order counts.
 *
 * A header only: the tests, the simulator and the explorer compile it with their own settings.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTS_LIB_FD_WAITERS_H
#define TESTS_LIB_FD_WAITERS_H

#include "net/desc.h"
#include "sched/m.h"

/* The number of waiters in the direction W_DIR_IN or W_DIR_OUT; in both directions for a descriptor
 * that weft did not make. An address in the word of a direction is its only waiter. */
static inline uint32_t fd_waiters_count(int fd, int way)
{
        struct desc *d = w_desc_find(fd);
        uint32_t     n = 0;

        if (!d)
                return 0;
        W_ENTER();
        w_lock(&d->lock);
        W_LIST_EACH(node, &d->waits)
                n++;
        W_LIST_EACH(node, &d->dirs[way].waits)
                n++;
        n += w_load_rlx(&d->dirs[way].word) > UINT16_MAX;         /* guarded, or a hint */
        w_unlock(&d->lock);
        W_LEAVE();
        return n;
}

#endif
