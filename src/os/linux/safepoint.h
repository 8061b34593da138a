/* os/linux/safepoint.h - where in its code a thread may be preempted. See os/linux/safepoint.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_OS_LINUX_SAFEPOINT_H
#define W_OS_LINUX_SAFEPOINT_H

/* Reads once which objects are loaded, and where. */
void w_safepoint_init(void);

#endif
