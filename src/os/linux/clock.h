/* os/linux/clock.h - weft's time as the kernel's struct timespec.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_OS_LINUX_CLOCK_H
#define W_OS_LINUX_CLOCK_H

#include <stdint.h>
#include <time.h>

/* An absolute time in the kernel's form. The kernel refuses times before the clock's start; the
 * start itself is returned for these, which has passed too. */
struct timespec w_clock_timespec(int64_t at);

#endif
