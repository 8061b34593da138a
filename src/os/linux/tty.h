/* os/linux/tty.h - terminals.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_OS_LINUX_TTY_H
#define W_OS_LINUX_TTY_H

#include "base/compiler.h"

/* If fd is a terminal on which writes wait, opens a second, non-blocking descriptor of the same
 * terminal for writing. The caller must close it soon. -Exxx: fd is something else, or no
 * descriptor is available. */
W_MUST_CHECK int w_tty_open(int fd);

#endif
