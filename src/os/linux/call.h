/* os/linux/call.h - how this layer calls the kernel.
 *
 * Called by   os/linux only.
 *
 * W_SYS evaluates a call in libc's manner (-1 and errno) and yields its result or -errno, with
 * errno left as it was found. W_SYS_AT does the same behind an injection point. Both are macros,
 * because the expression may only be evaluated if no failure is injected.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_OS_LINUX_CALL_H
#define W_OS_LINUX_CALL_H

#include "os/inject.h"

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

#endif
