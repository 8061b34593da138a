/* os/linux/syscall.h - a call of the kernel, without libc.
 *
 * Called by   os/linux only, through W_SYSCALL (os/linux/errno_call.h), where every nanosecond
 *             counts.
 *
 * What libc does besides is left out: its calls are points where a thread may be cancelled, which
 * takes two atomic operations each, and they write errno.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_OS_LINUX_SYSCALL_H
#define W_OS_LINUX_SYSCALL_H

#include <stdint.h>

/* What the kernel says: a result, or -Exxx. The fifth and sixth arguments are 0. */
intptr_t w_syscall(long number, intptr_t a, intptr_t b, intptr_t c, intptr_t d);

#endif
