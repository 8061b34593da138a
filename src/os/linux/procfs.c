/* os/linux/procfs.c - the kernel's small text files. Contract: os/linux/procfs.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/linux/procfs.h"

#include "os/linux/errno_call.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

int w_file_open(const char *path)
{
        return (int)W_SYS_AT(W_CALL_OPEN,
                             syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC));
}

int w_file_read_at_start(int fd, char *text, size_t size)
{
        intptr_t n;

        do
                n = W_SYS(syscall(SYS_pread64, fd, text, size - 1, 0));
        while (n == -EINTR);
        text[n < 0 ? 0 : n] = '\0';
        return (int)n;
}

static intptr_t read_some(int fd, char *buf, size_t size)
{
        intptr_t n;

        do
                n = W_SYS(syscall(SYS_read, fd, buf, size));
        while (n == -EINTR);
        return n;
}

void w_file_close(int fd)
{
        (void)W_SYS(syscall(SYS_close, fd));    /* nothing was written: nothing can be lost */
}

int w_file_read(const char *path, char *text, size_t size)
{
        size_t   have = 0;
        intptr_t n = 0;

        text[0] = '\0';
        int fd = w_file_open(path);
        if (fd < 0)
                return fd;
        while (have < size - 1 && (n = read_some(fd, text + have, size - 1 - have)) > 0)
                have += (size_t)n;
        w_file_close(fd);
        text[n < 0 ? 0 : have] = '\0';
        return n < 0 ? (int)n : (int)have;
}

bool w_file_number(const char *text, int64_t *out)
{
        int64_t value = 0;

        while (*text == ' ' || *text == '\t')
                text++;
        bool negative = *text == '-';
        if (negative)
                text++;
        if (*text < '0' || *text > '9')
                return false;
        for (; *text >= '0' && *text <= '9'; text++)
                if (__builtin_mul_overflow(value, 10, &value) ||
                    __builtin_add_overflow(value, *text - '0', &value))
                        return false;
        if (*text != '\0' && *text != '\n' && *text != ' ' && *text != '\t')
                return false;
        *out = negative ? -value : value;
        return true;
}

int w_lines_open(struct w_lines *l, const char *path)
{
        l->at = l->len = 0;
        l->fd = w_file_open(path);
        return l->fd < 0 ? l->fd : 0;
}

void w_lines_close(struct w_lines *l)
{
        w_file_close(l->fd);
}

/* The next byte, or -1 at the end; an error is an end. */
static int next_byte(struct w_lines *l)
{
        if (l->at == l->len) {
                intptr_t n = read_some(l->fd, l->buf, sizeof(l->buf));

                if (n <= 0)
                        return -1;
                l->at = 0;
                l->len = (size_t)n;
        }
        return (unsigned char)l->buf[l->at++];
}

bool w_lines_next(struct w_lines *l, char *line, size_t size)
{
        size_t n = 0;
        int    c;

        while ((c = next_byte(l)) >= 0) {
                if (c != '\n') {
                        if (n < size)
                                line[n] = (char)c;
                        n++;
                } else if (n < size) {
                        line[n] = '\0';
                        return true;
                } else {
                        n = 0;
                }
        }
        if (n == 0 || n >= size)
                return false;
        line[n] = '\0';
        return true;
}
