/* os/linux/cpu_usage.c - the CPU time of a thread. Contract: os/thread_state.h.
 *
 * schedstat is read through a descriptor that stays open. A read takes 1 us; opening the file takes
 * ten times as long. The descriptor belongs to the thread, not to its number: once the thread has
 * ended a read fails, even if another thread has the number. The state letter in stat is read much
 * more rarely.
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/os.h"

#include "base/fatal.h"
#include "os/linux/errno_call.h"
#include "os/linux/procfs.h"

#include <string.h>

static int open_file_of(int tid, const char *file)
{
        char path[64];

        w_format(path, sizeof(path), "/proc/self/task/%d/%s", tid, file);
        return w_file_open(path);
}

int w_os_cpu_usage_open(int tid)
{
        return open_file_of(tid, "schedstat");
}

/* "run wait slices", the first two in ns. A kernel without these figures reports 0 for all three. A
 * young thread may have 0 for run and wait, but not for slices. */
int w_os_cpu_usage_read(int fd, struct w_os_cpu_usage *out)
{
        char text[96];
        int  n = w_file_read_at_start(fd, text, sizeof(text));

        if (n < 0)
                return n;
        const char *second = strchr(text, ' ');
        const char *third = second ? strchr(second + 1, ' ') : NULL;
        int64_t     slices;

        if (!third || !w_file_number(text, &out->run) || !w_file_number(second, &out->wait) ||
            !w_file_number(third, &slices))
                return -EINVAL;
        return slices > 0 ? 0 : -EOPNOTSUPP;
}

void w_os_cpu_usage_close(int fd)
{
        w_file_close(fd);
}

/* "tid (name) letter ...". The name may contain any byte, also brackets. */
int w_os_thread_is_ready(int tid)
{
        char text[512];
        int  fd = open_file_of(tid, "stat");

        if (fd < 0)
                return fd;
        int n = w_file_read_at_start(fd, text, sizeof(text));

        w_file_close(fd);
        if (n < 0)
                return n;
        const char *end = strrchr(text, ')');

        return end && end[1] == ' ' ? end[2] == 'R' : -EINVAL;
}
