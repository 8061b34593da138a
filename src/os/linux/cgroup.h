/* os/linux/cgroup.h - the CPU limit that control groups put on this process.
 *
 * Tests call it with file trees of their own.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_OS_LINUX_CGROUP_H
#define W_OS_LINUX_CGROUP_H

/* The tightest limit of the process's own group and all its visible ancestors, in whole CPUs
 * rounded up; 0: none. `root` is prepended to every path that is read, "" for the real system. A
 * file that cannot be read or parsed limits nothing. */
int w_cgroup_quota(const char *root);

/* The root that w_os_cpu_quota passes. Tests set it before the run. */
extern const char *w_cgroup_root;

#endif
