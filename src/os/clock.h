/* os/clock.h - CONTRACT: time, and the random seed.
 *
 * The rules for every call are in os/os.h.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_OS_CLOCK_H
#define W_OS_CLOCK_H

#include "base/compiler.h"

#define W_FOREVER INT64_MAX     /* a deadline that never comes */

/* Nanoseconds, monotonic. Async-signal-safe. */
int64_t w_os_now(void);
void    w_os_sleep_until(int64_t at);

/* Not for secrets. Differs from process to process; the simulator derives it from its seed. */
uint64_t w_os_random_seed(void);

#endif
