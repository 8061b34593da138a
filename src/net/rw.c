/* net/rw.c - bytes from and to any descriptor.
 *
 * Protocols   cites deferred-error (net/deferred_error.c).
 *
 * A regular file returns all bytes asked for, or all that it has. A call that must not block gets
 * only what is in memory, so the rest is asked for again. An error after the first bytes is
 * dropped: a later call for the rest gets it anyway.
 *
 * SPDX-License-Identifier: MIT
 */
#include "net/desc.h"
#include "net/io.h"
#include "net/iov.h"

#include "weft.h"

#include <errno.h>      /* -Exxx */

enum {
        LONG_BYTES = 256 << 10, /* copying that many takes longer than a P should be held */
        IOV_MAX_N = 1024,       /* as in the kernel */
};

struct transfer {
        struct io       io;
        struct iov_iter iov;
        struct iovec    one;            /* the buffer, if there is only one */
        bool            writes;
        bool            whole;          /* goes on until all is done */
        int64_t         at;             /* offset in the file; -1: the current position */
};

static intptr_t read_it(struct io *io, enum io_how how)
{
        struct transfer    *t = W_CONTAINER_OF(io, struct transfer, io);
        const struct iovec *v;
        int                 n = (int)w_iov_next(&t->iov, &v);

        if (how == W_IO_BLOCKING)
                return w_os_fd_readv_blocking(io->fd, v, n, t->at);
        if (n != 1 || t->at >= 0)
                return w_os_fd_readv(io->fd, v, n, t->at);
        return v->iov_len && w_desc_is_tcp(io->d)
                       ? w_os_fd_read_tcp(io->fd, v->iov_base, v->iov_len, &io->drained)
                       : w_os_fd_read(io->fd, v->iov_base, v->iov_len);
}

/* An empty buffer is a message to write(2), but not to writev(2). */
static intptr_t write_it(struct io *io, enum io_how how)
{
        struct transfer    *t = W_CONTAINER_OF(io, struct transfer, io);
        const struct iovec *v;
        int                 n = (int)w_iov_next(&t->iov, &v);
        bool                is_one = n == 1 && t->at < 0 && (v->iov_len || v == &t->one);

        if (how == W_IO_BLOCKING)
                return is_one ? w_os_fd_write_blocking(io->fd, v->iov_base, v->iov_len)
                              : w_os_fd_writev_blocking(io->fd, v, n, t->at);
        return is_one ? w_os_fd_write(io->fd, v->iov_base, v->iov_len)
                      : w_os_fd_writev(io->fd, v, n, t->at);
}

static bool more(struct io *io, size_t moved)
{
        struct transfer *t = W_CONTAINER_OF(io, struct transfer, io);

        if (t->at >= 0)
                t->at += (int64_t)moved;
        return w_iov_advance(&t->iov, moved) && (t->whole || w_io_is_file(io));
}

/* Completes t, which says how to transfer, and runs it. The sum stops at LONG_BYTES, so that it
 * cannot overflow. */
static intptr_t run(int fd, const struct iovec *v, size_t n, struct transfer *t)
{
        size_t bytes = 0;

        for (size_t i = 0; i < n && bytes < LONG_BYTES; i++)
                bytes += v[i].iov_len < LONG_BYTES ? v[i].iov_len : LONG_BYTES;
        t->iov.v = v;
        t->iov.n = n;
        t->io.fd = fd;
        t->io.events = t->writes ? W_POLL_OUT : W_POLL_IN;
        t->io.never_waits = bytes == 0 || t->at >= 0;
        t->io.is_long = bytes >= LONG_BYTES;
        t->io.defers_error = t->whole;
        t->io.call = t->writes ? write_it : read_it;
        t->io.more = more;
        return w_io_run(&t->io);
}

/* ---- Public ---------------------------------------------------------------------------------- */

W_EXPORT ssize_t weft_read(int fd, void *buf, size_t n)
{
        struct transfer t = { .at = -1, .one = { buf, n } };

        return buf || n == 0 ? run(fd, &t.one, 1, &t) : -EFAULT;
}

W_EXPORT ssize_t weft_write(int fd, const void *buf, size_t n)
{
        struct transfer t = { .at = -1, .one = { (void *)(uintptr_t)buf, n }, .writes = true };

        return buf || n == 0 ? run(fd, &t.one, 1, &t) : -EFAULT;
}

W_EXPORT ssize_t weft_read_full(int fd, void *buf, size_t n)
{
        struct transfer t = { .at = -1, .one = { buf, n }, .whole = true };

        return buf || n == 0 ? run(fd, &t.one, 1, &t) : -EFAULT;
}

W_EXPORT ssize_t weft_write_all(int fd, const void *buf, size_t n)
{
        struct transfer t = { .at = -1, .one = { (void *)(uintptr_t)buf, n }, .writes = true,
                              .whole = true };

        return buf || n == 0 ? run(fd, &t.one, 1, &t) : -EFAULT;
}

W_EXPORT ssize_t weft_pread(int fd, void *buf, size_t n, off_t at)
{
        struct transfer t = { .at = at, .one = { buf, n } };

        if (at < 0)
                return -EINVAL;
        return buf || n == 0 ? run(fd, &t.one, 1, &t) : -EFAULT;
}

W_EXPORT ssize_t weft_pwrite(int fd, const void *buf, size_t n, off_t at)
{
        struct transfer t = { .at = at, .one = { (void *)(uintptr_t)buf, n }, .writes = true };

        if (at < 0)
                return -EINVAL;
        return buf || n == 0 ? run(fd, &t.one, 1, &t) : -EFAULT;
}

static intptr_t run_many(int fd, const struct iovec *v, int n, struct transfer *t)
{
        if (n < 0 || n > IOV_MAX_N)
                return -EINVAL;
        return v || n == 0 ? run(fd, v, (size_t)n, t) : -EFAULT;
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
