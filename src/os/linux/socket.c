/* os/linux/socket.c - making, binding, accepting and connecting sockets. Contract: os/socket.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/os.h"

#include "os/linux/errno_call.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int set_option(int fd, int level, int name, int value)
{
        return (int)W_SYS(setsockopt(fd, level, name, &value, sizeof(value)));
}

static int get_option(int fd, int level, int name)
{
        int       value = 0;
        socklen_t len = sizeof(value);
        int       rc = (int)W_SYS(getsockopt(fd, level, name, &value, &len));

        return rc < 0 ? rc : value;
}

/* ---- Making ---------------------------------------------------------------------------------- */

void w_os_socket_no_delay(int fd)
{
        (void)set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);      /* a failure costs speed only */
}

int w_os_socket_open(enum w_os_family family, enum w_os_kind kind)
{
        static const int domains[] = { [W_OS_IP4] = AF_INET, [W_OS_IP6] = AF_INET6,
                                       [W_OS_UNIX] = AF_UNIX };
        int type = kind == W_OS_STREAM ? SOCK_STREAM : SOCK_DGRAM;
        int fd = (int)W_SYS_AT(W_CALL_SOCKET, socket(domains[family],
                                                     type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));

        if (fd >= 0 && kind == W_OS_STREAM && family != W_OS_UNIX)
                w_os_socket_no_delay(fd);
        return fd;
}

/* Packet sockets get no SO_REUSEADDR: two of them would take each other's packets. */
int w_os_socket_bind(int fd, const struct w_os_addr *addr, enum w_os_kind kind, bool both)
{
        int rc = 0;

        if (addr->family == W_OS_IP6)
                rc = set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, !both);
        if (rc == 0 && kind == W_OS_STREAM && addr->family != W_OS_UNIX)
                rc = set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
        if (rc == 0)
                rc = (int)W_SYS_AT(W_CALL_SOCKET, bind(fd, (const void *)addr->bytes, addr->len));
        return rc;
}

/* The kernel reduces the backlog to its own limit. */
int w_os_socket_listen(int fd)
{
        enum { MOST = 65535 };

        return (int)W_SYS_AT(W_CALL_SOCKET, listen(fd, MOST));
}

/* ---- Connecting ------------------------------------------------------------------------------ */

/* For other sockets the call fails at once, without waiting. */
int w_os_socket_waits(int fd, enum w_os_waiting call)
{
        int flags = (int)W_SYS(fcntl(fd, F_GETFL));

        if (flags < 0 || flags & O_NONBLOCK)
                return flags < 0 ? flags : 0;
        int type = get_option(fd, SOL_SOCKET, SO_TYPE);

        if (type != SOCK_STREAM && type != SOCK_SEQPACKET)
                return 0;
        return call == W_OS_CONNECTING || get_option(fd, SOL_SOCKET, SO_ACCEPTCONN) == 1;
}

int w_os_socket_accept(int fd)
{
        int rc;

        do
                rc = (int)W_SYS_AT(W_CALL_ACCEPT, accept4(fd, NULL, NULL,
                                                          SOCK_NONBLOCK | SOCK_CLOEXEC));
        while (rc == -EINTR);
        return rc;
}

/* After EINTR the connection is still being made, and the next call waits for it. */
int w_os_socket_connect(int fd, const void *addr, uint32_t len)
{
        int rc;

        do
                rc = (int)W_SYS_AT(W_CALL_SOCKET, connect(fd, addr, len));
        while (rc == -EINTR);
        return rc;
}

bool w_os_socket_is_self_connected(int fd)
{
        struct sockaddr_storage own, peer;
        socklen_t               own_len = sizeof(own), peer_len = sizeof(peer);

        return W_SYS(getsockname(fd, (void *)&own, &own_len)) == 0 &&
               W_SYS(getpeername(fd, (void *)&peer, &peer_len)) == 0 &&
               own_len == peer_len && memcmp(&own, &peer, own_len) == 0;
}

void w_os_socket_shut(int fd)
{
        (void)W_SYS(shutdown(fd, SHUT_RDWR));
}
