/* net/message.c - messages: bytes with an address and ancillary data.
 *
 * Protocols   cites deferred-error (net/deferred_error.c).
 *
 * The kernel is always asked not to block. What a blocking socket does beyond one such call is done
 * here: sending all bytes of a stream, and filling the buffers if the caller asks for that.
 *
 * SPDX-License-Identifier: MIT
 */
#include "net/io.h"
#include "net/iov.h"
#include "os/socket_types.h"

#include "weft.h"

#include <errno.h>      /* -Exxx */

struct message {
        struct io            io;
        struct msghdr       *in;        /* the caller's message; NULL: it sends */
        const struct msghdr *out;
        struct iov_iter      iov;
        int                  flags;
        bool                 begun;     /* some bytes were moved */
        bool                 is_stream; /* set once it matters */
        size_t               room;      /* for ancillary data */
};

static struct message *message_of(struct io *io)
{
        return W_CONTAINER_OF(io, struct message, io);
}

/* ---- Receiving ------------------------------------------------------------------------------- */

/* Receives into the rest of the buffers; ancillary data goes to the caller as well. */
static intptr_t recv_rest(struct message *m)
{
        struct msghdr       msg = *m->in;
        const struct iovec *v;

        msg.msg_name = NULL;
        msg.msg_namelen = 0;
        msg.msg_controllen = m->room;
        msg.msg_iovlen = w_iov_next(&m->iov, &v);
        msg.msg_iov = (struct iovec *)(uintptr_t)v;
        intptr_t rc = w_os_fd_recv(m->io.fd, &msg, m->flags);

        if (rc > 0) {
                m->in->msg_controllen = msg.msg_controllen;
                m->in->msg_flags = msg.msg_flags;
        }
        return rc;
}

static intptr_t recv_it(struct io *io, enum io_how how)
{
        struct message *m = message_of(io);

        (void)how;
        return m->begun ? recv_rest(m) : w_os_fd_recv(io->fd, m->in, m->flags);
}

static bool is_stream(struct message *m)
{
        if (!m->begun)
                m->is_stream = w_os_fd_is_stream(m->io.fd);
        return m->is_stream;
}

/* Stops after ancillary data, as the kernel does: that data belongs to these bytes. */
static bool recv_more(struct io *io, size_t moved)
{
        struct message *m = message_of(io);

        if (!(m->flags & MSG_WAITALL) || m->flags & MSG_PEEK || io->nowait)
                return false;
        if (m->in->msg_controllen > 0 || m->in->msg_flags & (MSG_CTRUNC | MSG_EOR))
                return false;
        if (!w_iov_advance(&m->iov, moved) || !is_stream(m))
                return false;
        m->begun = true;
        return true;
}

static intptr_t run_recv(int fd, struct msghdr *msg, int flags)
{
        struct message m = {
                .io = { .fd = fd, .events = W_POLL_IN, .call = recv_it, .more = recv_more,
                        .defers_error = true,
                        /* these never wait for data */
                        .nowait = flags & (MSG_DONTWAIT | MSG_ERRQUEUE | MSG_OOB) },
                .in = msg,
                .iov = { .v = msg->msg_iov, .n = msg->msg_iovlen },
                .flags = flags,
                .room = msg->msg_controllen,
        };

        return w_io_run(&m.io);
}

/* ---- Sending --------------------------------------------------------------------------------- */

/* Ancillary data and the address went with the first byte. */
static intptr_t send_rest(struct message *m)
{
        struct msghdr       msg = { 0 };
        const struct iovec *v;

        msg.msg_iovlen = w_iov_next(&m->iov, &v);
        msg.msg_iov = (struct iovec *)(uintptr_t)v;
        return w_os_fd_send(m->io.fd, &msg, m->flags & ~MSG_FASTOPEN);
}

static intptr_t send_it(struct io *io, enum io_how how)
{
        struct message *m = message_of(io);

        (void)how;
        return m->begun ? send_rest(m) : w_os_fd_send(io->fd, m->out, m->flags);
}

/* Only a stream sends a part of a message. */
static bool send_more(struct io *io, size_t moved)
{
        struct message *m = message_of(io);

        m->begun = true;
        return w_iov_advance(&m->iov, moved) && !io->nowait;
}

static intptr_t run_send(int fd, const struct msghdr *msg, int flags)
{
        struct message m = {
                .io = { .fd = fd, .events = W_POLL_OUT, .call = send_it, .more = send_more,
                        .nowait = flags & MSG_DONTWAIT, .defers_error = true,
                        .is_addressed = msg->msg_namelen > 0 },
                .out = msg,
                .iov = { .v = msg->msg_iov, .n = msg->msg_iovlen },
                .flags = flags,
        };

        return w_io_run(&m.io);
}

/* ---- Public ---------------------------------------------------------------------------------- */

W_EXPORT ssize_t weft_recvmsg(int fd, struct msghdr *msg, int flags)
{
        return msg ? run_recv(fd, msg, flags) : -EFAULT;
}

W_EXPORT ssize_t weft_sendmsg(int fd, const struct msghdr *msg, int flags)
{
        return msg ? run_send(fd, msg, flags) : -EFAULT;
}

W_EXPORT ssize_t weft_recvfrom(int fd, void *buf, size_t n, int flags, struct sockaddr *sa,
                               socklen_t *len)
{
        struct iovec  v = { buf, n };
        struct msghdr msg = { .msg_iov = &v, .msg_iovlen = 1 };

        if ((sa && !len) || (!buf && n > 0))
                return -EFAULT;
        if (sa) {
                msg.msg_name = sa;
                msg.msg_namelen = *len;
        }
        intptr_t rc = run_recv(fd, &msg, flags);

        if (rc >= 0 && sa)
                *len = msg.msg_namelen;
        return rc;
}

W_EXPORT ssize_t weft_sendto(int fd, const void *buf, size_t n, int flags,
                             const struct sockaddr *sa, socklen_t len)
{
        struct iovec  v = { (void *)(uintptr_t)buf, n };
        struct msghdr msg = { .msg_iov = &v, .msg_iovlen = 1,
                              .msg_name = (void *)(uintptr_t)sa, .msg_namelen = sa ? len : 0 };

        return buf || n == 0 ? run_send(fd, &msg, flags) : -EFAULT;
}
