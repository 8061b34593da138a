/* os/linux/procfs.h - the kernel's small text files: read whole, or line by line.
 *
 * No call allocates or is a cancellation point.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_OS_LINUX_PROCFS_H
#define W_OS_LINUX_PROCFS_H

#include "base/compiler.h"

#include <stdbool.h>

/* Reads at most size - 1 bytes from the start of the file and terminates them. Returns the length,
 * or -errno with an empty text. */
int w_file_read(const char *path, char *text, size_t size);

/* The same in steps. w_file_open returns a descriptor that is closed on exec, or -errno.
 * w_file_read_at_start reads as w_file_read, by one call of the kernel. */
W_MUST_CHECK int w_file_open(const char *path);
W_MUST_CHECK int w_file_read_at_start(int fd, char *text, size_t size);
void w_file_close(int fd);

/* A decimal number at the start of text, with blanks before and a blank or the end behind it.
 * False if there is none or it does not fit. */
W_MUST_CHECK bool w_file_number(const char *text, int64_t *out);

struct w_lines {
        int    fd;
        size_t at, len;         /* the part of buf that was not returned yet */
        char   buf[4096];
};

W_MUST_CHECK int w_lines_open(struct w_lines *l, const char *path);

/* Reads the next line without its newline and terminates it; false at the end. Skips lines that do
 * not fit into size. */
W_MUST_CHECK bool w_lines_next(struct w_lines *l, char *line, size_t size);
void w_lines_close(struct w_lines *l);

#endif
