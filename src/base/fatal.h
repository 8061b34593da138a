/* base/fatal.h - the end of a program that weft cannot let go on.
 *
 * One line `weft: fatal: <what>`, then whatever dump was registered, then abort. Everything here
 * is async-signal-safe: no allocation, no stdio, no lock.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_BASE_FATAL_H
#define W_BASE_FATAL_H

#include "base/compiler.h"

#include <stdarg.h>

/* Formats %s %c %d %u %x %p %% with the length modifiers l, ll and z, and field widths; always
 * terminates. Returns the length the whole text would have had. For places where stdio's stack
 * appetite (up to 47 KiB) or locks are not welcome. */
size_t w_format(char *buf, size_t size, const char *fmt, ...) W_PRINTF(3, 4);
size_t w_vformat(char *buf, size_t size, const char *fmt, va_list args) W_PRINTF(3, 0);

/* The name of an error number, with or without its sign: "EAGAIN". "unknown error" for numbers that
 * no report needs. */
const char *w_error_name(int error);

/* One line on stderr, `weft: ` in front and a newline behind, in a single write. */
void w_say(const char *fmt, ...) W_PRINTF(1, 2);

/* As w_say with `fatal: `, then the dump, then abort. A second fatal error while the first is
 * being reported skips the dump. */
W_NORETURN void w_fatal(const char *fmt, ...) W_PRINTF(1, 2);

/* The two halves of w_fatal, for a report of several lines: the first line, then what w_say adds,
 * then dump and abort. */
void w_fatal_begin(const char *fmt, ...) W_PRINTF(1, 2);
W_NORETURN void w_fatal_end(void);

/* Called between the line and the abort; NULL for none. */
void w_fatal_set_dump(void (*dump)(void));

#endif
