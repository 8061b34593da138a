/* tests/lib/net.c - what the tests of sockets share.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/net.h"

bool net_has_ip6(void)
{
        struct sockaddr_in6 in = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
        int                 fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
        bool                has = fd >= 0 && bind(fd, (void *)&in, sizeof(in)) == 0;

        if (fd >= 0)
                close(fd);
        return has;
}

int net_port(int fd)
{
        struct sockaddr_storage sa;
        socklen_t               len = sizeof(sa);

        CHECK_EQ(getsockname(fd, (void *)&sa, &len), 0);
        return sa.ss_family == AF_INET6 ? ntohs(((struct sockaddr_in6 *)&sa)->sin6_port)
                                        : ntohs(((struct sockaddr_in *)&sa)->sin_port);
}

int net_listen(const char *net, const char *addr, char *where)
{
        bool packet = strncmp(net, "udp", 3) == 0 || strcmp(net, "unixgram") == 0;
        int  fd = packet ? weft_listen_packet(net, addr) : weft_listen(net, addr);

        CHECK_MSG(fd >= 0, "listen %s %s: %d", net, addr, fd);
        const char *colon = strrchr(addr, ':');

        if (strncmp(net, "unix", 4) == 0)
                snprintf(where, NET_TEXT, "%s", addr);
        else
                snprintf(where, NET_TEXT, "%.*s:%d", (int)(colon - addr), addr, net_port(fd));
        return fd;
}

int net_refused_port(int *fd)
{
        struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };

        *fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        CHECK(*fd >= 0);
        CHECK_EQ(bind(*fd, (void *)&in, sizeof(in)), 0);
        return net_port(*fd);
}

void net_path(char *out, const char *what)
{
        snprintf(out, NET_TEXT, "/tmp/weft-test-%ld-%s", (long)getpid(), what);
        (void)unlink(out);
}

int net_full_listener(uint32_t addr, int port, int fds[2])
{
        struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr = { htonl(addr) },
                                  .sin_port = htons((uint16_t)port) };

        fds[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        fds[1] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        CHECK(fds[0] >= 0 && fds[1] >= 0);
        CHECK_EQ(bind(fds[0], (void *)&in, sizeof(in)), 0);
        CHECK_EQ(listen(fds[0], 0), 0);
        port = net_port(fds[0]);
        in.sin_port = htons((uint16_t)port);
        CHECK_EQ(test_connect(fds[1], &in, sizeof(in)), 0);
        return port;
}

void net_close(int fd)
{
        CHECK_EQ(weft_close(fd), 0);
}

int net_sockets(void)
{
        struct stat st;
        int         n = 0;

        for (int fd = 0; fd < 1024; fd++)
                n += fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode);
        return n;
}

bool net_exists(const char *path)
{
        struct stat st;

        return lstat(path, &st) == 0;
}

pid_t net_fork(void (*peer)(int in, int out), int fds[2])
{
        int in[2], out[2];

        CHECK(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
        pid_t pid = fork();

        CHECK(pid >= 0);
        if (pid == 0) {
                (void)close(in[1]);
                (void)close(out[0]);
                peer(in[0], out[1]);
                _exit(0);
        }
        (void)close(in[0]);
        (void)close(out[1]);
        fds[0] = out[0];
        fds[1] = in[1];
        return pid;
}
