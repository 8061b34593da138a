/* os/linux/fd.c - reading and writing descriptors that the program shares. Contract: os/fd.h.
 *
 * O_NONBLOCK belongs to the open file, which other processes may share, so weft never changes it.
 * Instead, single calls are non-blocking: with MSG_DONTWAIT on sockets, with RWF_NOWAIT on pipes,
 * files and others.
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/os.h"

#include "os/linux/errno_call.h"
#include "os/linux/procfs.h"
#include "os/linux/tty.h"

#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

int w_os_fd_poll(int fd, uint32_t events)
{
        struct pollfd pfd = { .fd = fd, .events = (short)events };
        int           rc;

        do
                rc = (int)W_SYS(poll(&pfd, 1, 0));
        while (rc == -EINTR);
        return rc < 0 ? rc : (unsigned short)pfd.revents;
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* Linux 5.9 and 5.10 return 0, as at the end of the file, also for data that is not in memory. */
static bool may_lie_about_the_end(void)
{
        static w_atomic_u32 answer;     /* hint: 0: not asked yet; 1: no; 2: yes */
        uint32_t            known = w_load_rlx(&answer);          /* hint */
        struct utsname      u;

        if (known == 0) {
                bool lies = uname(&u) == 0 && (strncmp(u.release, "5.9.", 4) == 0 ||
                                               strncmp(u.release, "5.10.", 5) == 0);

                known = lies ? 2 : 1;
                w_store_rlx(&answer, known);                      /* hint */
        }
        return known == 2;
}

/* The result of a non-blocking read; -EOPNOTSUPP if it cannot be trusted. */
static intptr_t believed(intptr_t rc)
{
        return rc == -ENOSYS || (rc == 0 && may_lie_about_the_end()) ? -EOPNOTSUPP : rc;
}

intptr_t w_os_fd_read(int fd, void *buf, size_t n)
{
        struct iovec vec = { buf, n };
        intptr_t     rc;

        do
                rc = W_SYS(preadv2(fd, &vec, 1, -1, RWF_NOWAIT));
        while (rc == -EINTR);
        return believed(rc);
}

int w_os_fd_is_tcp(int fd)
{
        int       protocol = 0;
        socklen_t size = sizeof(protocol);
        int       rc = (int)W_SYS(getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &size));

        return rc < 0 ? rc : protocol == IPPROTO_TCP;
}

/* A layer between the socket and TCP (TCP_ULP: TLS in the kernel) reads by records and describes
 * each record in a control message. There is no room for one here, so msg_flags reports it, as it
 * reports everything else that is out of the ordinary. */
intptr_t w_os_fd_read_tcp(int fd, void *buf, size_t n, bool *drained)
{
        struct iovec  vec = { buf, n };
        struct msghdr msg = { .msg_iov = &vec, .msg_iovlen = 1 };
        intptr_t      rc;

        do
                rc = W_SYSCALL(recvmsg(fd, &msg, MSG_DONTWAIT), SYS_recvmsg, fd, &msg, MSG_DONTWAIT,
                              0);
        while (rc == -EINTR);
        *drained = rc > 0 && (size_t)rc < n && msg.msg_flags == 0;
        return rc;
}

/* ---- Writing --------------------------------------------------------------------------------- */

/* Around a write that may send SIGPIPE to this thread: blocks the signal and consumes it, unless a
 * SIGPIPE was pending before. */
struct quiet {
        sigset_t pipe, mask;
        bool     was_pending;
};

static void quiet_begin(struct quiet *q)
{
        sigset_t pending;

        sigemptyset(&q->pipe);
        sigaddset(&q->pipe, SIGPIPE);
        (void)pthread_sigmask(SIG_BLOCK, &q->pipe, &q->mask);
        q->was_pending = sigismember(&q->mask, SIGPIPE) == 1 && sigpending(&pending) == 0 &&
                         sigismember(&pending, SIGPIPE) == 1;
}

static void quiet_end(const struct quiet *q, intptr_t rc)
{
        const struct timespec now = { 0 };

        if (rc == -EPIPE && !q->was_pending)
                (void)W_SYS(sigtimedwait(&q->pipe, NULL, &now));
        (void)pthread_sigmask(SIG_SETMASK, &q->mask, NULL);
}

static intptr_t send_now(int fd, const void *buf, size_t n)
{
        enum { HOW = MSG_NOSIGNAL | MSG_DONTWAIT };
        intptr_t rc;

        do
                rc = W_SYSCALL(send(fd, buf, n, HOW), SYS_sendto, fd, buf, n, HOW);
        while (rc == -EINTR);
        return rc;
}

static intptr_t send_blocking(int fd, const void *buf, size_t n)
{
        intptr_t rc;

        do
                rc = W_SYS(send(fd, buf, n, MSG_NOSIGNAL));
        while (rc == -EINTR);
        return rc;
}

intptr_t w_os_fd_write(int fd, const void *buf, size_t n)
{
        struct iovec vec = { (void *)(uintptr_t)buf, n };
        struct quiet quiet;
        intptr_t     rc = send_now(fd, buf, n);

        if (rc != -ENOTSOCK)
                return rc;
        quiet_begin(&quiet);
        do
                rc = W_SYS(pwritev2(fd, &vec, 1, -1, RWF_NOWAIT));
        while (rc == -EINTR);
        quiet_end(&quiet, rc);
        return rc == -ENOSYS ? -EOPNOTSUPP : rc;
}

intptr_t w_os_fd_write_blocking(int fd, const void *buf, size_t n)
{
        struct quiet quiet;
        intptr_t     rc = send_blocking(fd, buf, n);

        if (rc != -ENOTSOCK)
                return rc;
        int own = w_tty_open(fd);

        quiet_begin(&quiet);
        do
                rc = W_SYS(write(own < 0 ? fd : own, buf, n));
        while (rc == -EINTR);
        quiet_end(&quiet, rc);
        if (own >= 0)
                w_file_close(own);
        return rc;
}

/* ---- Several buffers ------------------------------------------------------------------------- */

static intptr_t readv_with(int fd, const struct iovec *v, int n, int64_t at, int flags)
{
        intptr_t rc;

        do
                rc = W_SYS(preadv2(fd, v, n, at, flags));
        while (rc == -EINTR);
        return rc;
}

intptr_t w_os_fd_readv(int fd, const struct iovec *v, int n, int64_t at)
{
        return believed(readv_with(fd, v, n, at, RWF_NOWAIT));
}

intptr_t w_os_fd_readv_blocking(int fd, const struct iovec *v, int n, int64_t at)
{
        return readv_with(fd, v, n, at, 0);     /* libc has a fallback for old kernels */
}

static bool is_nothing(const struct iovec *v, int n)
{
        for (int i = 0; i < n; i++)
                if (v[i].iov_len)
                        return false;
        return true;
}

/* Sockets get MSG_NOSIGNAL. writev(2) of nothing sends no message on a socket. */
static intptr_t writev_with(int fd, const struct iovec *v, int n, int64_t at, bool waits)
{
        struct msghdr msg = { .msg_iov = (struct iovec *)(uintptr_t)v, .msg_iovlen = (size_t)n };
        struct quiet  quiet;
        intptr_t      rc = -ENOTSOCK;

        if (at < 0 && !is_nothing(v, n))
                do
                        rc = W_SYS(sendmsg(fd, &msg, MSG_NOSIGNAL | (waits ? 0 : MSG_DONTWAIT)));
                while (rc == -EINTR);
        if (rc != -ENOTSOCK)
                return rc;
        int own = waits && at < 0 ? w_tty_open(fd) : -1;

        quiet_begin(&quiet);
        do
                rc = W_SYS(pwritev2(own < 0 ? fd : own, v, n, at, waits ? 0 : RWF_NOWAIT));
        while (rc == -EINTR);
        quiet_end(&quiet, rc);
        if (own >= 0)
                w_file_close(own);
        return rc;
}

intptr_t w_os_fd_writev(int fd, const struct iovec *v, int n, int64_t at)
{
        intptr_t rc = writev_with(fd, v, n, at, false);

        return rc == -ENOSYS ? -EOPNOTSUPP : rc;
}

intptr_t w_os_fd_writev_blocking(int fd, const struct iovec *v, int n, int64_t at)
{
        return writev_with(fd, v, n, at, true);
}

/* ---- Messages -------------------------------------------------------------------------------- */

intptr_t w_os_fd_recv(int fd, struct msghdr *msg, int flags)
{
        intptr_t rc;

        do
                rc = W_SYS(recvmsg(fd, msg, flags | MSG_DONTWAIT));
        while (rc == -EINTR);
        return rc;
}

intptr_t w_os_fd_send(int fd, const struct msghdr *msg, int flags)
{
        intptr_t rc;

        do
                rc = W_SYS(sendmsg(fd, msg, flags | MSG_DONTWAIT | MSG_NOSIGNAL));
        while (rc == -EINTR);
        return rc;
}

/* ---- The rest -------------------------------------------------------------------------------- */

bool w_os_fd_is_stream(int fd)
{
        int       type = 0;
        socklen_t len = sizeof(type);

        return W_SYS(getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len)) == 0 && type == SOCK_STREAM;
}

int w_os_fd_ask(int fd, struct w_os_file *out)
{
        struct stat st;
        int         rc = (int)W_SYS(fstat(fd, &st));

        if (rc < 0)
                return rc;
        *out = (struct w_os_file){
                .device = st.st_dev,
                .number = st.st_ino,
                .is_file = S_ISREG(st.st_mode) || S_ISBLK(st.st_mode) || S_ISDIR(st.st_mode),
                .tells_once = S_ISSOCK(st.st_mode),
        };
        return 0;
}

/* After EINTR the number is free as well. */
int w_os_fd_close(int fd)
{
        int rc = (int)W_SYS(close(fd));

        return rc == -EINTR ? 0 : rc;
}
