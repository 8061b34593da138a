/* net/rw.c - bytes from and to any descriptor.
 *
 * Called by   user code.
 * Protocols   cites deferred-error (net/deferred_error.c).
 *
 * A regular file gives all that was asked for, or all that it has; but if it is asked not to wait
 * it gives what happens to be in memory, so it is asked again for the rest. An error behind that is
 * dropped: it is the rest's, and who asks for that hears of it.
 *
 * SPDX-License-Identifier: MIT
 */
#include "net/io.h"
#include "net/iov.h"

#include "weft.h"

#include <errno.h>      /* -Exxx */

enum {
        LONG_BYTES = 256 << 10, /* to copy so many takes longer than a P should be kept */
        MOST_PIECES = 1024,     /* as for the kernel */
};

struct transfer {
        struct io     io;
        struct pieces pieces;
        struct iovec  one;              /* what pieces.v points to if there is one buffer */
        bool          writes;
        bool          whole;            /* it goes on until all is done */
        int64_t       at;               /* in the file; -1: where it stands */
};

static struct transfer *transfer_of(struct io *io)
{
        return W_CONTAINER_OF(io, struct transfer, io);
}

static intptr_t read_it(struct io *io, enum io_how how)
{
        struct transfer    *t = transfer_of(io);
        const struct iovec *v;
        int                 n = (int)w_pieces_next(&t->pieces, &v);

        if (how == W_IO_BLOCKING)
                return w_os_fd_readv_blocking(io->fd, v, n, t->at);
        if (n != 1 || t->at >= 0)
                return w_os_fd_readv(io->fd, v, n, t->at);
        return v->iov_len && w_io_is_tcp(io)
                       ? w_os_fd_read_tcp(io->fd, v->iov_base, v->iov_len, &io->drained)
                       : w_os_fd_read(io->fd, v->iov_base, v->iov_len);
}

/* Nothing at all is a message to write(2), and none to writev(2). */
static intptr_t write_it(struct io *io, enum io_how how)
{
        struct transfer    *t = transfer_of(io);
        const struct iovec *v;
        int                 n = (int)w_pieces_next(&t->pieces, &v);
        bool                is_one = n == 1 && t->at < 0 && (v->iov_len || v == &t->one);

        if (how == W_IO_BLOCKING)
                return is_one ? w_os_fd_write_blocking(io->fd, v->iov_base, v->iov_len)
                              : w_os_fd_writev_blocking(io->fd, v, n, t->at);
        return is_one ? w_os_fd_write(io->fd, v->iov_base, v->iov_len)
                      : w_os_fd_writev(io->fd, v, n, t->at);
}

static bool more(struct io *io, size_t moved)
{
        struct transfer *t = transfer_of(io);

        if (t->at >= 0)
                t->at += (int64_t)moved;
        return w_pieces_advance(&t->pieces, moved) && (t->whole || w_io_is_file(io));
}

/* Large enough a number where the sum is larger. */
static size_t sum_of(const struct iovec *v, size_t n)
{
        size_t bytes = 0;

        for (size_t i = 0; i < n && bytes < LONG_BYTES; i++)
                bytes += v[i].iov_len < LONG_BYTES ? v[i].iov_len : LONG_BYTES;
        return bytes;
}

static intptr_t run(int fd, struct transfer *t)
{
        size_t bytes = sum_of(t->pieces.v, t->pieces.n);

        t->io.fd = fd;
        t->io.events = t->writes ? W_POLL_OUT : W_POLL_IN;
        t->io.never_waits = bytes == 0 || t->at >= 0;
        t->io.is_long = bytes >= LONG_BYTES;
        t->io.defers_error = t->whole;
        t->io.call = t->writes ? write_it : read_it;
        t->io.more = more;
        return w_io_run(&t->io);
}

static intptr_t run_one(int fd, void *buf, size_t n, struct transfer *t)
{
        if (!buf && n > 0)
                return -EFAULT;
        t->one = (struct iovec){ buf, n };
        t->pieces.v = &t->one;
        t->pieces.n = 1;
        return run(fd, t);
}

static intptr_t run_many(int fd, const struct iovec *v, int n, struct transfer *t)
{
        if (n < 0 || n > MOST_PIECES)
                return -EINVAL;
        if (!v && n > 0)
                return -EFAULT;
        t->pieces.v = v;
        t->pieces.n = (size_t)n;
        return run(fd, t);
}

/* ---- Public ---------------------------------------------------------------------------------- */

W_EXPORT ssize_t weft_read(int fd, void *buf, size_t n)
{
        struct transfer t = { .at = -1 };

        return run_one(fd, buf, n, &t);
}

W_EXPORT ssize_t weft_write(int fd, const void *buf, size_t n)
{
        struct transfer t = { .at = -1, .writes = true };

        return run_one(fd, (void *)(uintptr_t)buf, n, &t);
}

W_EXPORT ssize_t weft_read_full(int fd, void *buf, size_t n)
{
        struct transfer t = { .at = -1, .whole = true };

        return run_one(fd, buf, n, &t);
}

W_EXPORT ssize_t weft_write_all(int fd, const void *buf, size_t n)
{
        struct transfer t = { .at = -1, .writes = true, .whole = true };

        return run_one(fd, (void *)(uintptr_t)buf, n, &t);
}

W_EXPORT ssize_t weft_pread(int fd, void *buf, size_t n, off_t at)
{
        struct transfer t = { .at = at };

        return at < 0 ? -EINVAL : run_one(fd, buf, n, &t);
}

W_EXPORT ssize_t weft_pwrite(int fd, const void *buf, size_t n, off_t at)
{
        struct transfer t = { .at = at, .writes = true };

        return at < 0 ? -EINVAL : run_one(fd, (void *)(uintptr_t)buf, n, &t);
}

W_EXPORT ssize_t weft_readv(int fd, const struct iovec *v, int n)
{
        struct transfer t = { .at = -1 };

        return run_many(fd, v, n, &t);
}

W_EXPORT ssize_t weft_writev(int fd, const struct iovec *v, int n)
{
        struct transfer t = { .at = -1, .writes = true };

        return run_many(fd, v, n, &t);
}
