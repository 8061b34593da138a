/* os/linux/cpu_usage.c - what a thread has had of the CPUs. Contract: os/os.h.
 *
 * Called by   the monitor, for threads that do not come back.
 *
 * schedstat is read through a descriptor that is kept: 1 us, where opening it costs ten times as
 * much. The descriptor stands for the thread, not for its number: once the thread has ended it says
 * so, also if the number belongs to another. The letter in stat is asked for much more rarely.
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

/* "run wait slices", the first two in ns. A kernel that keeps no such figures says 0 throughout;
 * of a thread that is young run and wait may be, slices not. */
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

/* "tid (name) letter ...". The name may hold anything, brackets too. */
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
