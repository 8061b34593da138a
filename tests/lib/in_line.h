/* tests/lib/in_line.h - who stands in line for a descriptor, for tests in which the order counts.
 *
 * A header only: the tests, the simulator and the explorer compile it with their own settings.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTS_LIB_IN_LINE_H
#define TESTS_LIB_IN_LINE_H

#include "net/desc.h"
#include "sched/m.h"

/* How many wait for it, way W_DIR_IN or W_DIR_OUT; of those who have not been made by weft, both.
 * An address in the word of a way: one who is alone. */
static inline uint32_t in_line_count(int fd, int way)
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
