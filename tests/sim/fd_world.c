/* tests/sim/fd_world.c - what the scenarios with descriptors share.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sim/fd_world.h"

void close_well(int fd)
{
        int rc = weft_close(fd);

        SIM_CHECK(rc == 0, "close of %d: %d", fd, rc);
}

uint32_t n_users(int fd)
{
        struct desc *d = w_desc_find(fd);

        return d ? w_load_rlx(&d->users) & ~W_DESC_CLOSING : 0;   /* hint */
}
