/* os/linux/syscall.h - a system call without libc.
 *
 * For the fastest paths only, through W_SYSCALL (os/linux/errno_call.h). It leaves out two things
 * that libc does: libc's calls are cancellation points, which cost two atomic operations each, and
 * they write errno.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_OS_LINUX_SYSCALL_H
#define W_OS_LINUX_SYSCALL_H

#include <stdint.h>

/* Returns the kernel's result, or -Exxx. The fifth and sixth arguments are 0. */
intptr_t w_syscall(long number, intptr_t a, intptr_t b, intptr_t c, intptr_t d);

#endif
