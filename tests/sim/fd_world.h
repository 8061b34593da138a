/* tests/sim/fd_world.h - what the scenarios with descriptors share.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTS_SIM_FD_WORLD_H
#define TESTS_SIM_FD_WORLD_H

#include "net/desc.h"
#include "sim/sched_world.h"

static inline void close_well(int fd)
{
        int rc = weft_close(fd);

        SIM_CHECK(rc == 0, "close of %d: %d", fd, rc);
}

/* How many calls are under way with it. */
static inline uint32_t n_users(int fd)
{
        struct desc *d = w_desc_find(fd);

        return d ? w_load_rlx(&d->users) & ~W_DESC_CLOSING : 0;   /* hint */
}

#endif
