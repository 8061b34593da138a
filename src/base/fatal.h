/* base/fatal.h - the end of a program that weft must not let continue.
 *
 * One line `weft: fatal: <what>`, then the dump that was registered, if any, then abort. Everything
 * here is async-signal-safe: no allocation, no stdio, no lock.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_BASE_FATAL_H
#define W_BASE_FATAL_H

#include "base/compiler.h"

#include <stdarg.h>

/* Formats %s %c %d %u %x %p %% with the length modifiers l, ll and z, and field widths; always
 * terminates the text with 0. Returns the length that the whole text would have. For places where
 * stdio must not be used because of its locks or the stack it needs (up to 47 KiB). */
size_t w_format(char *buf, size_t size, const char *fmt, ...) W_PRINTF(3, 4);
size_t w_vformat(char *buf, size_t size, const char *fmt, va_list args) W_PRINTF(3, 0);

/* The name of an error number, positive or negative: "EAGAIN". "unknown error" for numbers that no
 * report needs. */
const char *w_error_name(int error);

/* Writes one line to stderr, with the prefix `weft: ` and a newline, in a single write. */
void w_say(const char *fmt, ...) W_PRINTF(1, 2);

/* Writes a line as w_say does, with the prefix `weft: fatal: `, then dumps, then aborts. A second
 * fatal error while the first is being reported skips the dump. */
W_NORETURN void w_fatal(const char *fmt, ...) W_PRINTF(1, 2);

/* The two halves of w_fatal, for a report of several lines: w_fatal_begin writes the first line,
 * w_say adds lines, w_fatal_end dumps and aborts. */
void w_fatal_begin(const char *fmt, ...) W_PRINTF(1, 2);
W_NORETURN void w_fatal_end(void);

/* Registers the dump: a function that is called between the line and the abort. NULL: none. */
void w_fatal_set_dump(void (*dump)(void));

#endif
