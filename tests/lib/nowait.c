/* tests/lib/nowait.c - reads and writes of a test that do not wait.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/nowait.h"

void nowait_need(void)
{
        int  fds[2];
        char c;

        CHECK_EQ(pipe(fds), 0);
        intptr_t rc = w_os_fd_read(fds[0], &c, 1);

        CHECK_EQ(close(fds[0]), 0);
        CHECK_EQ(close(fds[1]), 0);
        if (rc == -EOPNOTSUPP)
                test_skip("this kernel or emulator cannot read a pipe without waiting");
}
