/* os/linux/procfs.h - small text files of the kernel's: read whole, or line by line.
 *
 * Called by   os/linux only. No call allocates or is a point where the thread may be cancelled.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_OS_LINUX_PROCFS_H
#define W_OS_LINUX_PROCFS_H

#include "base/compiler.h"

#include <stdbool.h>

/* Reads at most size - 1 bytes from the start of the file and terminates them; the length, or
 * -errno with an empty text. */
int w_file_read(const char *path, char *text, size_t size);

/* The same in pieces: a descriptor that is closed on exec, or -errno; the text at its start, at
 * most size - 1 bytes by one call, as w_file_read. */
W_MUST_CHECK int w_file_open(const char *path);
W_MUST_CHECK int w_file_read_at_start(int fd, char *text, size_t size);
void w_file_close(int fd);

/* A decimal number at the start of text, with blanks before and a blank or the end behind it.
 * False if there is none or it does not fit. */
W_MUST_CHECK bool w_file_number(const char *text, int64_t *out);

struct w_lines {
        int    fd;
        size_t at, len;         /* what of buf is not handed out yet */
        char   buf[4096];
};

W_MUST_CHECK int w_lines_open(struct w_lines *l, const char *path);

/* The next line without its newline, terminated; false at the end. Lines that do not fit into size
 * are passed over. */
W_MUST_CHECK bool w_lines_next(struct w_lines *l, char *line, size_t size);
void w_lines_close(struct w_lines *l);

#endif
