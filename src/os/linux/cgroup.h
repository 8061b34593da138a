/* os/linux/cgroup.h - the CPU limit that control groups put on this process.
 *
 * Called by   cpu.c; tests, on trees of their own.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_OS_LINUX_CGROUP_H
#define W_OS_LINUX_CGROUP_H

/* The tightest limit of the process's own group and all its ancestors that can be seen, in whole
 * CPUs rounded up; 0: none. `root` stands before every path that is read, "" for the real system.
 * What cannot be read or understood limits nothing. */
int w_cgroup_quota(const char *root);

/* What w_os_cpu_quota passes. For tests: set before the run. */
extern const char *w_cgroup_root;

#endif
