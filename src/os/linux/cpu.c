/* os/linux/cpu.c - how many CPUs the process may use. Contract: os/cpu.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/os.h"

#include "os/linux/errno_call.h"
#include "os/linux/cgroup.h"

#include <sys/syscall.h>
#include <unistd.h>

const char *w_cgroup_root = "";

enum {
        SMALL_MASK = 1024,              /* bytes: 8,192 CPUs, as many as kernels have */
        LARGEST_MASK = 1024 * 1024,
};

/* Bytes written, or -EINVAL if the kernel's own mask is longer. The raw call, because libc's does
 * not tell how much was written. */
static intptr_t read_affinity(int tid, unsigned long *mask, size_t size)
{
        return W_SYS_AT(W_CALL_AFFINITY, syscall(SYS_sched_getaffinity, tid, size, mask));
}

static int count_bits(const unsigned long *mask, size_t bytes)
{
        int n = 0;

        for (size_t i = 0; i < bytes / sizeof(*mask); i++)
                n += __builtin_popcountl(mask[i]);
        return n;
}

static int count_with_large_mask(int tid)
{
        for (size_t size = 8 * SMALL_MASK; size <= LARGEST_MASK; size *= 2) {
                size_t page = w_os_page_size();
                size_t mapped = size > page ? size : page;
                void  *mask;

                if (w_os_vm_map(&mask, mapped) < 0)
                        return 0;
                intptr_t bytes = read_affinity(tid, mask, size);
                int      n = bytes > 0 ? count_bits(mask, (size_t)bytes) : 0;
                w_os_vm_unmap(mask, mapped);
                if (bytes != -EINVAL)
                        return n;
        }
        return 0;
}

int w_os_cpu_count(int tid)
{
        unsigned long mask[SMALL_MASK / sizeof(unsigned long)];
        intptr_t      bytes = read_affinity(tid, mask, sizeof(mask));
        int           n = bytes > 0 ? count_bits(mask, (size_t)bytes) : 0;

        if (bytes == -EINVAL)
                n = count_with_large_mask(tid);
        return n > 0 ? n : 1;   /* unknown: at least the CPU that runs this code */
}

int w_os_cpu_quota(void)
{
        return w_cgroup_quota(w_cgroup_root);
}
