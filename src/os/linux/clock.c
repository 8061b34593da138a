/* os/linux/clock.c - the monotonic clock. Contract: os/clock.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/linux/clock.h"

#include "base/assert.h"
#include "os/linux/errno_call.h"
#include "os/os.h"

#include <sys/syscall.h>
#include <unistd.h>

enum { NS_PER_S = 1000000000 };

struct timespec w_clock_timespec(int64_t at)
{
        if (at < 0)
                at = 0;
        return (struct timespec){ .tv_sec = at / NS_PER_S, .tv_nsec = at % NS_PER_S };
}

int64_t w_os_now(void)
{
        struct timespec now;
        intptr_t        rc = W_SYS(clock_gettime(CLOCK_MONOTONIC, &now));

        W_CHECK(rc == 0, "the monotonic clock cannot be read: %s", w_error_name((int)rc));
        return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

/* The raw call, because libc's is a cancellation point. */
void w_os_sleep_until(int64_t at)
{
        struct timespec until = w_clock_timespec(at);
        intptr_t        rc;

        do
                rc = W_SYS(syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, &until,
                                   NULL));
        while (rc == -EINTR);
        W_CHECK(rc == 0, "sleeping failed: %s", w_error_name((int)rc));
}
