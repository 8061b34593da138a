/* os/linux/tty.h - terminals.
 *
 * Called by   os/linux only.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_OS_LINUX_TTY_H
#define W_OS_LINUX_TTY_H

#include "base/compiler.h"

/* Where fd is a terminal that writes wait for: a descriptor of its own for the same one, to write
 * to without waiting, and to be closed soon. -Exxx: it is something else, or none is to be had. */
W_MUST_CHECK int w_tty_open(int fd);

#endif
