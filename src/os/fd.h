/* os/fd.h - CONTRACT: reading, writing and polling one descriptor.
 *
 * The rules for every call are in os/os.h.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_OS_FD_H
#define W_OS_FD_H

#include "base/compiler.h"

#include <stdbool.h>

/* Events on a descriptor: the values of poll(2). */
enum {
        W_POLL_IN = 0x001,
        W_POLL_PRI = 0x002,
        W_POLL_OUT = 0x004,
        W_POLL_ERR = 0x008,
        W_POLL_HUP = 0x010,
        W_POLL_NVAL = 0x020,
        W_POLL_RDHUP = 0x2000,
};

struct iovec;
struct msghdr;

/* Returns those of `events` that hold now, and NVAL, ERR and HUP, as poll(2) reports them. */
W_MUST_CHECK int w_os_fd_poll(int fd, uint32_t events);

/* As read(2) and write(2), but SIGPIPE is never sent. The first two do not wait, whatever the
 * descriptor's flags are, and leave the flags alone. -EAGAIN: the call would have to wait;
 * -EOPNOTSUPP: this file cannot be used without waiting. The calls with _blocking wait as long as
 * it takes, but a write to a terminal that is full may return -EAGAIN. */
W_MUST_CHECK intptr_t w_os_fd_read(int fd, void *buf, size_t n);
W_MUST_CHECK intptr_t w_os_fd_write(int fd, const void *buf, size_t n);
/* Reads from a socket for which w_os_fd_is_tcp returned 1; n > 0. *drained: the call can tell that
 * it took all data that had arrived. Later data, and the end of the stream, are reported later. */
W_MUST_CHECK intptr_t w_os_fd_read_tcp(int fd, void *buf, size_t n, bool *drained);
W_MUST_CHECK int w_os_fd_is_tcp(int fd);
W_MUST_CHECK intptr_t w_os_fd_write_blocking(int fd, const void *buf, size_t n);
/* The same for several buffers, at offset `at` of the file. at -1: at the file's own offset, which
 * moves. */
W_MUST_CHECK intptr_t w_os_fd_readv(int fd, const struct iovec *v, int n, int64_t at);
W_MUST_CHECK intptr_t w_os_fd_writev(int fd, const struct iovec *v, int n, int64_t at);
W_MUST_CHECK intptr_t w_os_fd_readv_blocking(int fd, const struct iovec *v, int n, int64_t at);
W_MUST_CHECK intptr_t w_os_fd_writev_blocking(int fd, const struct iovec *v, int n, int64_t at);
/* As recvmsg(2) and sendmsg(2), without SIGPIPE. They never wait: -EAGAIN. */
W_MUST_CHECK intptr_t w_os_fd_recv(int fd, struct msghdr *msg, int flags);
W_MUST_CHECK intptr_t w_os_fd_send(int fd, const struct msghdr *msg, int flags);
/* The number is free again, whatever the result. */
int w_os_fd_close(int fd);

struct w_os_file {
        uint64_t device, number;        /* equal for the same file only */
        bool     is_file;               /* poll(2) says always ready, though a call may take long */
        bool     tells_once;            /* a socket: only one call gets an error */
};

/* What kind of file it is. -EBADF and others as fstat(2). */
W_MUST_CHECK int w_os_fd_ask(int fd, struct w_os_file *out);
/* True for a terminal that was told not to wait for input, or not long: read(2) returns 0. */
bool w_os_tty_may_read_empty(int fd);
/* True for a socket that keeps no message boundaries. */
bool w_os_fd_is_stream(int fd);

#endif
