/* os/linux/membarrier.c - a fence that one thread pays for all. Contract: os/membarrier.h.
 *
 * For the heavy side of a protocol. The light side has only a compiler fence.
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/os.h"

#include "os/linux/errno_call.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

static int membarrier(int command)
{
        return (int)W_SYS_AT(W_CALL_MEMBARRIER, syscall(SYS_membarrier, command, 0, 0));
}

int w_os_membarrier_init(void)
{
        int commands = membarrier(MEMBARRIER_CMD_QUERY);

        if (commands < 0)
                return commands;
        if (!(commands & MEMBARRIER_CMD_PRIVATE_EXPEDITED))
                return -ENOSYS;
        int rc = membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
        return rc < 0 ? rc : membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}

int w_os_membarrier(void)
{
        return membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}
