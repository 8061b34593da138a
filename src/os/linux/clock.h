/* os/linux/clock.h - from weft's time to the kernel's.
 *
 * Called by   os/linux only.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_OS_LINUX_CLOCK_H
#define W_OS_LINUX_CLOCK_H

#include <stdint.h>
#include <time.h>

/* An absolute time in the kernel's form. The kernel refuses what lies before the clock's start;
 * that has passed in any case, and so has the start. */
struct timespec w_clock_timespec(int64_t at);

#endif
