/* lib/nowait.h - what a test needs that reads and writes without waiting.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTS_LIB_NOWAIT_H
#define TESTS_LIB_NOWAIT_H

#include "harness/test.h"
#include "os/os.h"

#include <errno.h>
#include <unistd.h>

static inline void skip_without_nowait(void)
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

#endif
