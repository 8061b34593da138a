/* os/linux/errno_call.h - how this layer calls the kernel.
 *
 * W_SYS evaluates a call in libc's manner (-1 and errno) and yields its result or -errno, with
 * errno left as it was found. W_SYS_AT does the same behind an injection point. Both are macros,
 * because the expression may only be evaluated if no failure is injected.
 *
 * W_SYSCALL makes a call without libc, on the fastest paths. Under a sanitizer it evaluates `expr`,
 * the same call through libc, because the sanitizer must see it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_OS_LINUX_ERRNO_CALL_H
#define W_OS_LINUX_ERRNO_CALL_H

#include "base/sanitizer.h"
#include "os/inject.h"
#include "os/linux/syscall.h"

#include <errno.h>
#include <stdint.h>

#define W_SYS(expr) __extension__ ({                                                            \
        int      sys_saved_ = errno;                                                            \
        intptr_t sys_rc_ = (intptr_t)(expr);                                                    \
        if (sys_rc_ == -1)                                                                      \
                sys_rc_ = -errno;                                                               \
        errno = sys_saved_;                                                                     \
        sys_rc_;                                                                                \
})

#define W_SYS_AT(kind, expr) __extension__ ({                                                   \
        intptr_t sys_at_rc_ = w_inject_point(kind);                                             \
        if (sys_at_rc_ == 0)                                                                    \
                sys_at_rc_ = W_SYS(expr);                                                       \
        sys_at_rc_;                                                                             \
})

#if defined(W_ASAN) || defined(W_TSAN)
#define W_SYSCALL(expr, number, a, b, c, d) W_SYS(expr)
#else
#define W_SYSCALL(expr, number, a, b, c, d)                                                      \
        w_syscall((number), (intptr_t)(a), (intptr_t)(b), (intptr_t)(c), (intptr_t)(d))
#endif

#endif
