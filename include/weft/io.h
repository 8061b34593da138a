/* weft/io.h - descriptors: reading, writing, waiting, closing; sockets. Part of weft.h, which
 * includes it.
 *
 * These work on any descriptor, whoever made it, and never change its flags. What has to wait lets
 * other goroutines run; where a kind of file cannot be waited for (a regular file), or cannot be
 * read without waiting (a terminal), the call is made in a blocking region. Threads that weft did
 * not create may call them too, and sleep. Every one of them but weft_close is cancellable:
 * -ETIMEDOUT, -ECANCELED. -EBADF: not open, or closed by weft_close meanwhile; -EMFILE, -ENFILE,
 * -ENOMEM, -ENOSPC: weft itself needs two descriptors to wait, memory, and the kernel's leave to
 * watch one more; -ESHUTDOWN: no runtime.
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

/* From <sys/uio.h> and <sys/socket.h>, which are not included here for the many names that they
 * define; socklen_t is unsigned int. */
struct iovec;
struct msghdr;
struct sockaddr;

/* Partial, as in POSIX: how many bytes, 0 at the end; what read(2) or write(2) would say, as -Exxx.
 * Nobody is sent SIGPIPE: -EPIPE. What is under way in a region the kernel alone ends, whatever
 * scopes and weft_close say: a write to an eventfd that blocks, and whose counter has too little
 * room; to a terminal that weft cannot open a second time (the master of a pty, /dev/tty), once it
 * has taken a part; a read of one with VMIN 0, for VTIME; and a call for anything that blocks and
 * cannot be asked not to wait, if it was ready and code that does not call weft was quicker: then
 * it takes what comes next. Of weft's callers one at a time, for each direction, is in a region
 * with such a descriptor; the others wait where scopes and weft_close reach them. */
ssize_t weft_read(int fd, void *buf, size_t n);
ssize_t weft_write(int fd, const void *buf, size_t n);

/* All n bytes, or fewer at the end of what there is. If something went wrong after some had been
 * moved: how many, and the error comes with the next call that reads, or writes, this descriptor,
 * if it is no socket, only as long as it is so; what a scope has to say the next call of this
 * goroutine tells. */
ssize_t weft_read_full(int fd, void *buf, size_t n);
ssize_t weft_write_all(int fd, const void *buf, size_t n);

/* Several buffers, at most 1,024; partial as weft_read and weft_write. */
ssize_t weft_readv(int fd, const struct iovec *v, int n);
ssize_t weft_writev(int fd, const struct iovec *v, int n);

/* At a place in the file, whose position stays. -ESPIPE: it has no places; -EINVAL: `at` is
 * negative. What is not in memory is read, and everything is written, by at most file_threads (see
 * weft_config) goroutines at once; the others wait for their turn. Scopes are looked at before the
 * transfer, not during it. So it is with the calls above on regular files, which give all that was
 * asked for, up to their end, unless a scope strikes between what was in memory and what was
 * not. */
ssize_t weft_pread(int fd, void *buf, size_t n, off_t at);
ssize_t weft_pwrite(int fd, const void *buf, size_t n, off_t at);

/* As in POSIX on a socket that blocks, but as -Exxx and without SIGPIPE. MSG_DONTWAIT: -EAGAIN
 * rather than a wait. MSG_WAITALL, without MSG_PEEK, fills the buffers from a stream, but never
 * reads past something that came along with the bytes, such as a descriptor; a stream takes all
 * that is sent. Both say how much was moved, if something was, before the stream ended, failed or a
 * scope struck; errors come with the next call then, as above. Descriptors that arrive have the
 * flags that recvmsg(2) gives them: ask for MSG_CMSG_CLOEXEC. */
ssize_t weft_recvfrom(int fd, void *buf, size_t n, int flags, struct sockaddr *sa, unsigned *len);
ssize_t weft_sendto(int fd, const void *buf, size_t n, int flags, const struct sockaddr *sa,
                    unsigned len);
ssize_t weft_recvmsg(int fd, struct msghdr *msg, int flags);
ssize_t weft_sendmsg(int fd, const struct msghdr *msg, int flags);

/* The child that has ended, and how, as waitpid(2): its pid; -ECHILD: there is none; WNOHANG: 0:
 * none has yet. It waits on a descriptor of the child. Where the kernel has none to offer, which is
 * so for pid <= 0, for WUNTRACED and WCONTINUED and before Linux 5.3, it looks again after pauses
 * that grow to 20 ms. */
int weft_waitpid(pid_t pid, int *status, int options);

/* Everyone who waits for fd gets -EBADF, and the number is free once the last of them is gone. 0,
 * or what close(2) says, if that was so at once. Descriptors that are in use by weft calls have to
 * be closed so: who waits for one that was closed otherwise may wait for ever. What weft made is
 * always closed so: after a close(2), waits for whatever gets its number next may not end. */
int weft_close(int fd);

/* Waits until poll(2) would not wait, and says what it would say: the events that are so of those
 * asked for, and POLLERR and POLLHUP. For libraries that do their own reading and writing. -EPERM:
 * fd is of a kind that cannot be waited for. */
int weft_wait_fd(int fd, short events);

/* Cases of weft_select: there is something to be read, or room, or an error. Regular files always
 * are so. The result is what poll(2) would say; -EBADF: not open, or closed meanwhile; other errors
 * say why it cannot be waited for. Nothing is taken: somebody else may be quicker to read it. */
#define WEFT_READABLE(fd) weft_case_number_(WEFT_CASE_READABLE, fd)
#define WEFT_WRITABLE(fd) weft_case_number_(WEFT_CASE_WRITABLE, fd)

enum {
        WEFT_CASE_READABLE = 6,
        WEFT_CASE_WRITABLE = 7
};

void weft_case_readable(weft_case *out, int fd);
void weft_case_writable(weft_case *out, int fd);

/* ---- Sockets ----------------------------------------------------------------------------------
 *
 * Networks: "tcp", "tcp4" and "tcp6", "udp", "udp4" and "udp6", "unix" (streams) and "unixgram"
 * (packets). An address of the first six is host:port. The host is "127.0.0.1", "[::1]",
 * "[fe80::1%eth0]" or a name; a port is a number or the name of a service. That of a unix socket is
 * a path, or @ and a name that is no file. What is made does not block (O_NONBLOCK, to be left as
 * it is) and is closed by exec.
 * -EINVAL: another network, a malformed address, a port above 65535, a service that is not known;
 * -ENAMETOOLONG: a path of more than 107 bytes; -ENODEV: no such zone. Where a name is resolved:
 * -ENOENT: it is not known; -EADDRNOTAVAIL: it has no address of that network; -EAGAIN: no server
 * has answered; -EIO. What socket(2), bind(2), listen(2) and connect(2) say. */

/* Streams: for weft_accept. ":80" takes IPv4 and IPv6, or IPv4 where there is no IPv6; port 0 is
 * one that is free. A unix path that exists is -EADDRINUSE; the file is removed by the weft_close
 * of what this returns, while the runtime runs, unless there is another file by then. Cancellable.
 * May switch. */
int weft_listen(const char *net, const char *addr);
/* Packets: for weft_recvfrom, weft_read and so on. Otherwise as above. */
int weft_listen_packet(const char *net, const char *addr);

/* The next connection to a listening socket, whoever made that; small pieces are sent at once
 * (TCP_NODELAY). While the process has no descriptors or the system no memory left it goes on
 * waiting, and tries again every 5 to 100 ms and whenever weft_close has closed one. Cancellable;
 * but no connection is dropped: where there was a descriptor for it and then no room to wait for
 * it, a scope or weft_close makes the call return it at once. May switch. */
int weft_accept(int fd);

/* A connection to that address, streams with TCP_NODELAY; with no host to this machine. Packet
 * sockets send there, and receive from there only. All addresses of a name are tried, IPv6 and IPv4
 * in turn, the next one once one has failed or has not answered for 250 ms, less where the deadline
 * is near; the first that answers counts. If none does: what the first said, but that there is no
 * way there (-ENETUNREACH and the like) only if all said so. Cancellable. May switch. */
int weft_dial(const char *net, const char *addr);

/* As connect(2), on any socket. Cancellable; one that has failed or was cancelled should be closed.
 * On a socket that blocks, connect(2) is called on another thread, for at most 256 at a time, and
 * others wait for their turn. One that is cancelled there returns at once; but on a unix stream
 * whose peer has a full queue that thread and the descriptor, though closed by weft_close, stay in
 * use until the peer accepts or is gone. May switch. */
struct sockaddr;
int weft_connect(int fd, const struct sockaddr *sa, unsigned int len);  /* len: a socklen_t */

/* As getaddrinfo(3): 0 or EAI_*, and *res for freeaddrinfo(3). EAI_SYSTEM sets errno. EAI_CANCELED:
 * a scope has struck, weft_cancelled tells how. The resolver runs on another thread, a few dozen at
 * once; others wait. -ESHUTDOWN. May switch. */
struct addrinfo;
int weft_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                     struct addrinfo **res);

#ifdef __cplusplus
}
#endif
#endif
