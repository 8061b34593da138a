/* weft/io.h - reading, writing and closing descriptors; sockets. Part of weft.h, which includes it.
 *
 * The calls work on any descriptor, made by weft or not, and never change its flags. All of them
 * but weft_close are cancellable and may switch. A goroutine that waits for a descriptor gives up
 * its processor. For files that cannot be waited for (regular files), or that cannot be read
 * without waiting (terminals), the call runs in a blocking region.
 *
 * Beside its own results, and what the system call of its name reports, each call can return
 *   -ETIMEDOUT, -ECANCELED   a scope ended the call
 *   -EBADF       fd is not open, or was closed by weft_close during the call
 *   -EMFILE, -ENFILE, -ENOMEM, -ENOSPC   the wait is not possible. It needs memory, two descriptors
 *                for the whole runtime, and an entry in the kernel's table of watched descriptors
 *   -ESHUTDOWN   no runtime runs
 *
 * Calls that a scope or weft_close cannot end. The kernel alone ends these, once they have begun:
 *   - a write to a blocking eventfd, if its counter has too little room
 *   - a write to the master of a pty or to /dev/tty, after it has taken a part
 *   - a read of a terminal with VMIN 0, for at most its VTIME
 *   - a call on a descriptor that blocks and cannot be asked not to (a terminal, for example), if
 *     code that does not use weft takes the data first. The call then takes what comes next
 * At most one weft call for each direction is in that state; other calls that wait for the same
 * descriptor can be ended.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WEFT_IO_H
#define WEFT_IO_H

#include <stddef.h>
#include <sys/types.h>          /* ssize_t */

#ifdef __cplusplus
extern "C" {
#endif

/* Defined in <sys/uio.h> and <sys/socket.h>, which are not included because of the many names that
 * they define. Where POSIX has socklen_t these functions have unsigned. */
struct iovec;
struct msghdr;
struct sockaddr;

/* As read(2) and write(2): transfer up to n bytes, and wait only while no byte can be transferred.
 *
 * Returns
 *   > 0       the number of bytes
 *     0       weft_read: end of file; or n is 0
 *   -EPIPE    weft_write: the other end is closed. No SIGPIPE is sent
 *   -Exxx     another error of read(2) or write(2), or one from the top of this file */
WEFT_API WEFT_MUST_CHECK ssize_t weft_read(int fd, void *buf, size_t n);
WEFT_API WEFT_MUST_CHECK ssize_t weft_write(int fd, const void *buf, size_t n);

/* Transfer all n bytes; weft_read_full transfers fewer at the end of the file.
 *
 * Returns
 *   n              all bytes were transferred
 *   0 to n - 1     only these: weft_read_full found the end of the file, or an error or a scope
 *                  stopped the transfer. The next call tells which, see below
 *   -Exxx          an error or a scope stopped the transfer before its first byte
 *
 * Errors after the first byte. Assume that 1000 of n bytes were transferred, and then an error
 * occurred: the call returns 1000. What happens to the error depends on the descriptor:
 *   socket         weft saves the error with the descriptor. The next weft call that reads the
 *                  descriptor (after weft_read_full), or writes it (after weft_write_all), returns
 *                  it once, in this or another goroutine. The error is dropped if the descriptor is
 *                  closed first, so a new file with the same number never reports it. An error of
 *                  the arguments (-EFAULT, -EINVAL) is not saved
 *   other file     the error is not saved. If its cause still exists, the next call finds it again
 * If a scope stopped the transfer, the goroutine's next cancellable call in the scope returns
 * -ETIMEDOUT or -ECANCELED. */
WEFT_API WEFT_MUST_CHECK ssize_t weft_read_full(int fd, void *buf, size_t n);
WEFT_API WEFT_MUST_CHECK ssize_t weft_write_all(int fd, const void *buf, size_t n);

/* As weft_read and weft_write, with n buffers. -EINVAL: n is negative or more than 1024. */
WEFT_API WEFT_MUST_CHECK ssize_t weft_readv(int fd, const struct iovec *v, int n);
WEFT_API WEFT_MUST_CHECK ssize_t weft_writev(int fd, const struct iovec *v, int n);

/* As pread(2) and pwrite(2): transfer n bytes at offset `at`; the file position does not change.
 *
 * Returns
 *   > 0       the number of bytes; fewer than n at the end of the file
 *     0       weft_pread: `at` is at the end of the file or beyond it
 *   -EINVAL   `at` is negative
 *   -ESPIPE   the file has no offsets
 *   -Exxx     another error of pread(2) or pwrite(2), or one from the top of this file
 *
 * Regular files. This holds for all calls above. Writes, long reads, and reads of data that is not
 * in memory run in a blocking region, for at most file_threads goroutines (weft_config) at the same
 * time. Further goroutines wait for their turn, and a scope can end this wait. A scope cannot end
 * the transfer itself. The calls transfer all that was asked for, up to the end of the file; but if
 * the first part of a read was in memory and a scope or an error stops the rest, the call returns
 * that part. */
WEFT_API WEFT_MUST_CHECK ssize_t weft_pread(int fd, void *buf, size_t n, off_t at);
WEFT_API WEFT_MUST_CHECK ssize_t weft_pwrite(int fd, const void *buf, size_t n, off_t at);

/* As recvfrom(2), sendto(2), recvmsg(2) and sendmsg(2) on a blocking socket. They return the number
 * of bytes or -Exxx; -EPIPE comes without SIGPIPE. Flags with a special meaning:
 *   MSG_DONTWAIT       -EAGAIN instead of a wait
 *   MSG_WAITALL        (without MSG_PEEK) a receive on a stream fills the buffers. It stops behind
 *                      ancillary data that came with the bytes, such as a descriptor
 *   MSG_CMSG_CLOEXEC   descriptors that are received are close-on-exec. They are not without it
 * A send on a stream sends all bytes. If the end of the stream, an error or a scope stops a send or
 * a MSG_WAITALL after some bytes, the call returns their number, and the error comes with a later
 * call, as for weft_read_full. */
WEFT_API WEFT_MUST_CHECK ssize_t weft_recvfrom(int fd, void *buf, size_t n, int flags,
                                               struct sockaddr *sa, unsigned *len);
WEFT_API WEFT_MUST_CHECK ssize_t weft_sendto(int fd, const void *buf, size_t n, int flags,
                                             const struct sockaddr *sa, unsigned len);
WEFT_API WEFT_MUST_CHECK ssize_t weft_recvmsg(int fd, struct msghdr *msg, int flags);
WEFT_API WEFT_MUST_CHECK ssize_t weft_sendmsg(int fd, const struct msghdr *msg, int flags);

/* As waitpid(2): waits until a child process has ended.
 *
 * Returns
 *   > 0       the pid of the child; *status is set unless status is NULL
 *     0       WNOHANG: no child has ended yet
 *   -ECHILD   there is no such child
 *   -Exxx     another error of waitpid(2), or one from the top of this file
 *
 * The call waits on a pidfd. Where there is none (pid <= 0, WUNTRACED or WCONTINUED, Linux before
 * 5.3, no descriptor left) it asks the kernel again after pauses that grow to 20 ms. */
WEFT_API int weft_waitpid(pid_t pid, int *status, int options);

/* Closes fd. weft calls that wait for fd return -EBADF. The number becomes free when the last call
 * that uses it has returned. Not cancellable.
 *
 * Returns
 *    0       fd is closed, or will be when the last call has returned
 *   -EBADF   fd is not open, or another weft_close is closing it
 *   -Exxx    another error of close(2)
 *
 * Use weft_close, not close(2), for every descriptor that weft has made, and for every descriptor
 * that a weft call may be using. After a close(2) calls that wait for the descriptor may wait for
 * ever; if weft had made it, later waits for a new file with the same number may, too. */
WEFT_API int weft_close(int fd);

/* Waits until at least one of the events is true of fd, as poll(2) does for one descriptor.
 * Transfers nothing: for libraries that do their own reading and writing.
 *
 * Returns
 *   > 0      poll(2)'s revents: those of `events` that are true, POLLERR and POLLHUP
 *   -EPERM   fd is of a kind that cannot be waited for
 *   -Exxx    an error from the top of this file */
WEFT_API int weft_fd_wait(int fd, short events);

/* Cases of weft_select: fd can be read, or written, without waiting, or has an error. A regular
 * file is always ready. Nothing is transferred, so another thread may take the data first. The
 * result of the case is poll(2)'s revents; -EBADF: fd is not open or was closed during the wait;
 * another -Exxx: fd cannot be waited for. */
#define WEFT_READABLE(fd) weft_case_number_(WEFT_CASE_READABLE, fd)
#define WEFT_WRITABLE(fd) weft_case_number_(WEFT_CASE_WRITABLE, fd)

enum {
        WEFT_CASE_READABLE = 6,
        WEFT_CASE_WRITABLE = 7
};

WEFT_API void weft_case_readable(weft_case *out, int fd);
WEFT_API void weft_case_writable(weft_case *out, int fd);

/* ---- Sockets ----------------------------------------------------------------------------------
 *
 * Networks are "tcp", "tcp4", "tcp6", "udp", "udp4", "udp6", "unix" (streams) and "unixgram"
 * (packets). An address for the first six is host:port. The host is "127.0.0.1", "[::1]",
 * "[fe80::1%eth0]", a name, or empty; the port is a number or the name of a service. The address of
 * a unix socket is a path, or @ and a name that is not in the file system. New sockets are
 * close-on-exec and have O_NONBLOCK, which must stay set.
 *
 * weft_listen, weft_listen_packet and weft_dial return
 *   >= 0             a new socket
 *   -EINVAL          an unknown network or service, a malformed address, a port above 65535
 *   -ENAMETOOLONG    a unix path of more than 107 bytes
 *   -ENODEV          the zone of an IPv6 address is unknown
 *   -ENOENT          the name of the host is unknown
 *   -EADDRNOTAVAIL   the host has no address in this network
 *   -EAGAIN          no name server has answered
 *   -EIO             the lookup of the name failed in another way
 *   -Exxx            an error of socket(2), bind(2), listen(2) or connect(2), or one from the top
 *                    of this file */

/* Makes a socket that listens for connections, for weft_accept. ":80" listens on IPv6 and IPv4, or
 * on IPv4 alone if the system has no IPv6. Port 0 is a free port. A unix path that exists is
 * -EADDRINUSE. weft_close removes the file of a unix socket, if a runtime runs and the path still
 * leads to this file. */
WEFT_API WEFT_MUST_CHECK int weft_listen(const char *net, const char *addr);
/* The same for packets: for weft_recvfrom, weft_read and so on. */
WEFT_API WEFT_MUST_CHECK int weft_listen_packet(const char *net, const char *addr);

/* Waits for the next connection to a listening socket, made by weft or not, and returns its
 * descriptor (TCP with TCP_NODELAY), or -Exxx. If the process has no free descriptor, or the system
 * no memory, the call goes on waiting: it tries again after 5 to 100 ms, and after each weft_close.
 *
 * No connection is lost. If there was a descriptor for a connection but no memory to wait for it,
 * and a scope or weft_close ends the call, the call returns this descriptor. */
WEFT_API WEFT_MUST_CHECK int weft_accept(int fd);

/* Connects to an address and returns the socket, or -Exxx. TCP sockets have TCP_NODELAY. An empty
 * host is this machine. A packet socket sends to the address and receives from it alone.
 *
 * All addresses of a name are tried, IPv6 and IPv4 in turn. The next attempt starts when one has
 * failed or after 250 ms, or less if a deadline is near. The first stream connection wins. If all
 * attempts fail, the first error is returned; errors that mean that there is no route (such as
 * -ENETUNREACH) only if all attempts ended with such an error. */
WEFT_API WEFT_MUST_CHECK int weft_dial(const char *net, const char *addr);

/* As connect(2), on any socket. Returns 0 or -Exxx. After an error or a cancellation the socket
 * should be closed.
 *
 * Blocking sockets. connect(2) runs on another thread, at most 256 at the same time; further calls
 * wait for their turn. A cancelled call returns at once. Its thread and the descriptor may stay in
 * use, even after weft_close, until the kernel ends connect(2); for a unix stream to a
 * listener with a full queue, that is when the listener accepts or is closed. */
struct sockaddr;
WEFT_API WEFT_MUST_CHECK int weft_connect(int fd, const struct sockaddr *sa, unsigned len);

/* As getaddrinfo(3). The resolver runs on another thread, at most 32 at the same time; further
 * calls wait for their turn.
 *
 * Returns
 *   0              *res is the list, for freeaddrinfo(3)
 *   EAI_CANCELED   a scope ended the call; weft_cancelled() tells -ETIMEDOUT or -ECANCELED
 *   EAI_SYSTEM     a system error, in errno
 *   EAI_...        another error of getaddrinfo(3)
 *   -ESHUTDOWN     no runtime runs. This is the only -Exxx; it differs from all EAI_ numbers */
struct addrinfo;
WEFT_API WEFT_MUST_CHECK int weft_getaddrinfo(const char *node, const char *service,
                                              const struct addrinfo *hints, struct addrinfo **res);

#ifdef __cplusplus
}
#endif
#endif
