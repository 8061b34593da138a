/* os/membarrier.h - CONTRACT: a memory fence in all threads of the process.
 *
 * The rules for every call are in os/os.h.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_OS_MEMBARRIER_H
#define W_OS_MEMBARRIER_H

#include "base/compiler.h"

/* Prepares w_os_membarrier for this process. -ENOSYS, -EPERM, -EINVAL: the system has none. Callers
 * then use a full fence on the light side. */
W_MUST_CHECK int w_os_membarrier_init(void);

/* On return every other thread of the process has passed a full fence. */
W_MUST_CHECK int w_os_membarrier(void);

#endif
