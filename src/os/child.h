/* os/child.h - CONTRACT: child processes.
 *
 * The rules for every call are in os/os.h.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_OS_CHILD_H
#define W_OS_CHILD_H

#include "base/compiler.h"

enum { W_CHILD_NOWAIT = 1 };    /* one of the options of waitpid(2), with its value */

/* As waitpid(2), but never waits. 0: no change to report yet. -ECHILD, -EINVAL. */
W_MUST_CHECK int w_os_child_wait(int pid, int *status, int options);
/* A descriptor that is readable once the child has ended. -ENOSYS, -EMFILE and others: none is
 * available. */
W_MUST_CHECK int w_os_child_open(int pid);

#endif
