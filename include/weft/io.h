/* weft/io.h - reading, writing and closing descriptors; sockets. Part of weft.h, which includes it.
 *
 * The calls work on any descriptor, made by weft or not, and never change its flags. All calls are
 * cancellable except weft_close. All calls may switch. A goroutine that waits for a descriptor
 * gives up its processor. Some files cannot be waited for (regular files), or cannot be read
 * without waiting (terminals). On such files the call runs in a blocking region.
 *
 * Each call has its own results, and the errors of the system call of the same name. Each call
 * except weft_close, weft_waitpid and weft_getaddrinfo can also return
 *   -ETIMEDOUT, -ECANCELED   a scope ended the call
 *   -EBADF       fd is not open, or weft_close closed fd during the call
 *   -EFAULT      a pointer is NULL where the system call needs one
 *   -EMFILE, -ENFILE, -ENOMEM, -ENOSPC   the call cannot wait. A wait needs memory, two descriptors
 *                for the whole runtime, and an entry in the kernel's table of watched descriptors
 *   -ESHUTDOWN   no runtime runs
 *
 * Neither a scope nor weft_close can end these calls once they have begun. Only the kernel can:
 *   - a write to a blocking eventfd, if its counter has too little room
 *   - a write to the master of a pty or to /dev/tty, after the kernel has taken a part of the data
 *   - a read of a terminal with VMIN 0, for at most its VTIME
 *   - a call on a descriptor that always blocks (a terminal, for example), if code that does not
 *     use weft takes the data first. The call then waits for the next data
 * At most one weft call for each direction of a descriptor is in that state. Scopes and weft_close
 * can end the other calls that wait for the descriptor.
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

/* These structs are defined in <sys/uio.h> and <sys/socket.h>. This header does not include them,
 * because they define many names. Where POSIX has socklen_t, these functions have unsigned. */
struct iovec;
struct msghdr;
struct sockaddr;

/* As read(2) and write(2). They transfer up to n bytes, and wait only while no byte can be
 * transferred.
 *
 * Returns
 *   > 0       the number of bytes that were transferred
 *     0       weft_read: the end of the file. Both: n is 0
 *   -EPIPE    weft_write: the other end is closed. No SIGPIPE is sent
 *   -Exxx     another error of read(2) or write(2), or one from the top of this file */
WEFT_API WEFT_MUST_CHECK ssize_t weft_read(int fd, void *buf, size_t n);
WEFT_API WEFT_MUST_CHECK ssize_t weft_write(int fd, const void *buf, size_t n);

/* As weft_read and weft_write, but they go on until all n bytes are transferred. weft_read_full
 * also stops at the end of the file.
 *
 * Returns
 *   n            all bytes were transferred
 *   1 to n - 1   only this number of bytes was transferred. Then weft_read_full found the end of
 *                the file, or an error or a scope stopped the transfer. The next call tells which
 *   0            weft_read_full: the end of the file, before the first byte
 *   -Exxx        an error or a scope stopped the transfer before the first byte
 *
 * Errors after the first byte. For example, 1000 of 5000 bytes are transferred, and then an error
 * occurs. The call returns 1000, not the error. What happens to the error depends on its origin:
 *   Socket       weft saves the error. After weft_read_full, the next weft call that reads the
 *                socket returns the saved error. After weft_write_all, the next weft call that
 *                writes the socket returns the saved error. Any goroutine may make this call. The
 *                error is returned once. If the socket is closed first, the error is dropped: a new
 *                file with the same number never gets it
 *   Other file   weft does not save the error. If the cause still exists, the next call fails with
 *                the same error. This is also true of some errors of sockets: -EBADF, -EFAULT,
 *                -EINVAL, and the errors of a call that cannot wait (see the top of this file)
 *   Scope        weft does not save the error. The next cancellable call in the scope returns
 *                -ETIMEDOUT or -ECANCELED */
WEFT_API WEFT_MUST_CHECK ssize_t weft_read_full(int fd, void *buf, size_t n);
WEFT_API WEFT_MUST_CHECK ssize_t weft_write_all(int fd, const void *buf, size_t n);

/* As readv(2) and writev(2). They wait and return as weft_read and weft_write do. v is an array of
 * n buffers. They return -EINVAL if n is negative or more than 1024. */
WEFT_API WEFT_MUST_CHECK ssize_t weft_readv(int fd, const struct iovec *v, int n);
WEFT_API WEFT_MUST_CHECK ssize_t weft_writev(int fd, const struct iovec *v, int n);

/* As pread(2) and pwrite(2). They transfer n bytes at offset `at`. The file position does not
 * change.
 *
 * Returns
 *   > 0       the number of bytes. It is less than n at the end of the file
 *     0       weft_pread: `at` is at the end of the file or beyond it. Both: n is 0
 *   -EINVAL   `at` is negative
 *   -ESPIPE   the file has no offsets
 *   -Exxx     another error of pread(2) or pwrite(2), or one from the top of this file
 *
 * Regular files. These rules hold for all calls above. Some calls run in a blocking region: writes,
 * long reads, and reads of data that is not in memory. At most file_threads goroutines (see
 * weft_config) are in such a region at the same time. Further goroutines wait for their turn. A
 * scope can end this wait, but not the transfer. A call transfers all n bytes, or all bytes up to
 * the end of the file. There is one exception: the first part of a read was in memory, and a scope
 * or an error stops the rest. The call then returns the size of the first part. */
WEFT_API WEFT_MUST_CHECK ssize_t weft_pread(int fd, void *buf, size_t n, off_t at);
WEFT_API WEFT_MUST_CHECK ssize_t weft_pwrite(int fd, const void *buf, size_t n, off_t at);

/* As recvfrom(2), sendto(2), recvmsg(2) and sendmsg(2) on a blocking socket.
 *
 * Returns
 *   > 0       the number of bytes that were transferred
 *     0       the end of a stream, or a message without data
 *   -EPIPE    a send: the other end is closed. No SIGPIPE is sent
 *   -EAGAIN   MSG_DONTWAIT: the call would have to wait
 *   -Exxx     another error of the system call, or one from the top of this file
 *
 * Flags with a special meaning:
 *   MSG_DONTWAIT       the call does not wait
 *   MSG_WAITALL        (without MSG_PEEK) a receive on a stream fills the buffers. It stops earlier
 *                      after bytes with ancillary data, such as a descriptor
 *   MSG_CMSG_CLOEXEC   received descriptors are close-on-exec. Without the flag they are not
 *
 * A send on a stream sends all bytes. A send, or a receive with MSG_WAITALL, may stop after some
 * bytes. The call then returns their number, and weft saves the error as for weft_read_full. */
WEFT_API WEFT_MUST_CHECK ssize_t weft_recvfrom(int fd, void *buf, size_t n, int flags,
                                               struct sockaddr *sa, unsigned *len);
WEFT_API WEFT_MUST_CHECK ssize_t weft_sendto(int fd, const void *buf, size_t n, int flags,
                                             const struct sockaddr *sa, unsigned len);
WEFT_API WEFT_MUST_CHECK ssize_t weft_recvmsg(int fd, struct msghdr *msg, int flags);
WEFT_API WEFT_MUST_CHECK ssize_t weft_sendmsg(int fd, const struct msghdr *msg, int flags);

/* As waitpid(2). Waits until a child process has ended. status may be NULL.
 *
 * Returns
 *   > 0       the pid of the child. *status is set
 *     0       WNOHANG: no child has ended yet
 *   -ECHILD   there is no such child
 *   -EINVAL   options has an unknown flag
 *   -Exxx     another error of waitpid(2)
 *   -ETIMEDOUT, -ECANCELED   a scope ended the call
 *   -ESHUTDOWN   no runtime runs
 *
 * The call waits on a pidfd. There is no pidfd if pid is 0 or negative, or if options has WUNTRACED
 * or WCONTINUED. There is none on Linux before 5.3, or if no descriptor is left. The call then asks
 * the kernel again and again, after pauses that grow to 20 ms. */
WEFT_API int weft_waitpid(pid_t pid, int *status, int options);

/* Closes fd. weft calls that wait for fd return -EBADF. The number becomes free when the last weft
 * call that uses fd has returned. Works without a runtime, too: it is close(2) then. Not
 * cancellable. May switch.
 *
 * Returns
 *    0       fd is closed, or will be closed when the last call has returned
 *   -EBADF   fd is not open, or another weft_close is closing fd
 *   -Exxx    another error of close(2)
 *
 * Use weft_close, not close(2), for every descriptor that weft has made, and for every descriptor
 * that a weft call may be using. After a close(2), calls that wait for the descriptor may wait for
 * ever. If weft had made the descriptor, calls on a new file with the same number may wait for
 * ever, too. */
WEFT_API int weft_close(int fd);

/* Waits until at least one of the events is true of fd, as poll(2) does for one descriptor. Events
 * are POLLIN, POLLOUT and so on. Transfers nothing. For libraries that read and write themselves.
 *
 * Returns
 *   > 0      poll(2)'s revents: those of `events` that are true, POLLERR and POLLHUP
 *   -EPERM   none of the events is true, and fd cannot be waited for (a regular file, for example)
 *   -Exxx    an error from the top of this file */
WEFT_API int weft_fd_wait(int fd, short events);

/* Cases of weft_select. WEFT_READABLE is ready if fd can be read without waiting, WEFT_WRITABLE if
 * fd can be written without waiting. Both are ready if fd has an error. A regular file is always
 * ready. Nothing is transferred, so another thread may take the data first.
 *
 * The result of the case is
 *   > 0      poll(2)'s revents
 *   -EBADF   fd is not open, or weft_close closed fd during the wait
 *   -Exxx    fd cannot be waited for, for a reason from the top of this file */
#define WEFT_READABLE(fd) weft_case_number_(WEFT_CASE_READABLE, fd)
#define WEFT_WRITABLE(fd) weft_case_number_(WEFT_CASE_WRITABLE, fd)

enum {
        WEFT_CASE_READABLE = 6,
        WEFT_CASE_WRITABLE = 7
};

/* Functions that store these cases in *out, for other languages. */
WEFT_API void weft_case_readable(weft_case *out, int fd);
WEFT_API void weft_case_writable(weft_case *out, int fd);

/* ---- Sockets ----------------------------------------------------------------------------------
 *
 * Networks are "tcp", "tcp4", "tcp6", "udp", "udp4", "udp6", "unix" (streams) and "unixgram"
 * (packets). An address for the first six is host:port. The host is "127.0.0.1", "[::1]",
 * "[fe80::1%eth0]", a name, or empty. The port is a number or the name of a service. The address of
 * a unix socket is a path. It may also be @ and a name that is not in the file system. New sockets
 * are close-on-exec and have O_NONBLOCK. The program must not clear O_NONBLOCK.
 *
 * weft_listen, weft_listen_packet and weft_dial return
 *   >= 0             a new socket. The caller must close it with weft_close
 *   -EINVAL          net or addr is NULL, or the network or service is unknown. Or the network is
 *                    not for this call, the address is malformed or of another network, or the port
 *                    is above 65535
 *   -ENAMETOOLONG    a unix path of more than 107 bytes
 *   -ENODEV          the zone of an IPv6 address is unknown
 *   -ENOENT          the name of the host is unknown
 *   -EADDRNOTAVAIL   the host has no address in this network
 *   -EAGAIN          no name server has answered
 *   -EIO             the lookup of the name failed in another way
 *   -Exxx            an error of socket(2), bind(2), listen(2) or connect(2), or one from the top
 *                    of this file */

/* Makes a socket that listens for connections, for weft_accept. The network is for streams: "tcp",
 * "tcp4", "tcp6" or "unix". ":80" listens on IPv6 and IPv4, or on IPv4 alone if the system has no
 * IPv6. Port 0 means a free port. If a unix path exists already, the call returns -EADDRINUSE.
 * weft_close removes the file of a unix socket if a runtime runs, and if the path still leads to
 * this file. */
WEFT_API WEFT_MUST_CHECK int weft_listen(const char *net, const char *addr);
/* Makes a socket that receives packets, for weft_recvfrom, weft_read and so on. The network is for
 * packets: "udp", "udp4", "udp6" or "unixgram". All else is as for weft_listen. */
WEFT_API WEFT_MUST_CHECK int weft_listen_packet(const char *net, const char *addr);

/* Waits for the next connection to a listening socket. weft or other code may have made the socket.
 *
 * Returns
 *   >= 0        the socket of the connection. It is close-on-exec and has O_NONBLOCK. TCP sockets
 *               have TCP_NODELAY. The caller must close it with weft_close
 *   -EINVAL     fd does not listen
 *   -ENOTSOCK   fd is not a socket
 *   -Exxx       another error of accept(2), or one from the top of this file
 *
 * If the process has no free descriptor, or the system has no memory, the call goes on waiting. It
 * tries again after pauses of 5 to 100 ms, and after each weft_close. A connection that was aborted
 * before the accept is skipped.
 *
 * No connection is lost. There may be a descriptor for a connection, but no memory to wait for it.
 * If a scope or weft_close ends the call then, the call returns this descriptor. */
WEFT_API WEFT_MUST_CHECK int weft_accept(int fd);

/* Connects to an address. The results are in the list above. The network may be any. TCP sockets
 * have TCP_NODELAY. An empty host means this machine. A packet socket sends to the address, and
 * receives only from this address.
 *
 * If a name has several addresses, weft tries all of them, IPv6 and IPv4 in turn. For streams, the
 * next attempt starts when an attempt has failed, or after 250 ms, or earlier if a deadline is
 * near. The first connection wins. If all attempts fail, the call returns the first error. An error
 * that means that there is no route, such as -ENETUNREACH, counts only if there is no other. */
WEFT_API WEFT_MUST_CHECK int weft_dial(const char *net, const char *addr);

/* As connect(2), on any socket. After an error the program should close the socket.
 *
 * Returns
 *    0        the socket is connected
 *   -EINVAL   len is too large for an address
 *   -Exxx     an error of connect(2), or one from the top of this file
 *
 * Blocking sockets. connect(2) runs on another thread. At most 256 such threads run at the same
 * time. Further calls wait for their turn. A call that a scope or weft_close ends returns at once.
 * The thread and the descriptor may stay in use until the kernel ends connect(2), even after
 * weft_close. On a unix stream to a listener with a full queue, connect(2) ends when the listener
 * accepts or is closed. */
struct sockaddr;
WEFT_API WEFT_MUST_CHECK int weft_connect(int fd, const struct sockaddr *sa, unsigned len);

/* As getaddrinfo(3). The resolver runs on another thread. At most 32 such threads run at the same
 * time. Further calls wait for their turn.
 *
 * Returns
 *   0              *res is the list. The caller must free it with freeaddrinfo(3)
 *   EAI_CANCELED   a scope ended the call. weft_cancelled() returns -ETIMEDOUT or -ECANCELED then
 *   EAI_SYSTEM     a system error. It is in errno
 *   EAI_MEMORY     no memory for the lookup or its thread
 *   EAI_FAIL       res is NULL, or as getaddrinfo(3)
 *   EAI_...        another error of getaddrinfo(3)
 *   -ESHUTDOWN     no runtime runs. No EAI_ number is equal to -ESHUTDOWN */
struct addrinfo;
WEFT_API WEFT_MUST_CHECK int weft_getaddrinfo(const char *node, const char *service,
                                              const struct addrinfo *hints, struct addrinfo **res);

#ifdef __cplusplus
}
#endif
#endif
