/* os/cpu.h - CONTRACT: how many CPUs the process may use.
 *
 * The rules for every call are in os/os.h.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_OS_CPU_H
#define W_OS_CPU_H

#include "base/compiler.h"

/* The number of CPUs that the thread with that w_os_tid may run on (its affinity), at least 1.
 * tid 0: the calling thread. */
int w_os_cpu_count(int tid);

/* The tightest CPU limit of the process's own cgroup and all its ancestors, v2 and v1, in whole
 * CPUs rounded up. 0: no limit. */
int w_os_cpu_quota(void);

#endif
