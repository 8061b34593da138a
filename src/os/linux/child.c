/* os/linux/child.c - child processes. Contract: os/child.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/os.h"

#include "os/linux/errno_call.h"

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

_Static_assert((int)W_CHILD_NOWAIT == WNOHANG, "the values of waitpid");

int w_os_child_wait(int pid, int *status, int options)
{
        return (int)W_SYS(waitpid(pid, status, options | WNOHANG));
}

int w_os_child_open(int pid)
{
#if defined(SYS_pidfd_open)
        return (int)W_SYS_AT(W_CALL_OPEN, syscall(SYS_pidfd_open, pid, 0));
#else
        (void)pid;
        return -ENOSYS;
#endif
}
