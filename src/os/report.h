/* os/report.h - CONTRACT: writing messages, and the end of the process.
 *
 * The rules for every call are in os/os.h.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_OS_REPORT_H
#define W_OS_REPORT_H

#include "base/compiler.h"

#include <stdbool.h>

/* Writes all of `text`, without ever raising SIGPIPE. Where a non-blocking descriptor is full, the
 * call waits up to `timeout` ns for a reader. Returns false if some of the text was not written.
 * Async-signal-safe. */
bool w_os_write(int fd, const char *text, size_t len, int64_t timeout);
void w_os_write_err(const char *text, size_t len);      /* the same to stderr, with 20 ms */
W_NORETURN void w_os_abort(void);

#endif
