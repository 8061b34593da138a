/* tests/lib/net.h - what the tests of sockets share.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTS_LIB_NET_H
#define TESTS_LIB_NET_H

#include "lib/sync.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { NET_TEXT = 128 };

static inline bool net_has_ip6(void)
{
        struct sockaddr_in6 in = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
        int                 fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
        bool                has = fd >= 0 && bind(fd, (void *)&in, sizeof(in)) == 0;

        if (fd >= 0)
                close(fd);
        return has;
}

/* The port that fd is bound to. */
static inline int net_port(int fd)
{
        struct sockaddr_storage sa;
        socklen_t               len = sizeof(sa);

        CHECK_EQ(getsockname(fd, (void *)&sa, &len), 0);
        return sa.ss_family == AF_INET6 ? ntohs(((struct sockaddr_in6 *)&sa)->sin6_port)
                                        : ntohs(((struct sockaddr_in *)&sa)->sin_port);
}

/* Listens, which must succeed, and says where. */
static inline int net_listen(const char *net, const char *addr, char *where)
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

/* A port of the loopback interface that nobody listens at, kept from others until fd is closed. */
static inline int net_refused_port(int *fd)
{
        struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };

        *fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        CHECK(*fd >= 0);
        CHECK_EQ(bind(*fd, (void *)&in, sizeof(in)), 0);
        return net_port(*fd);
}

/* A name for a file of this process. */
static inline void net_path(char *out, const char *what)
{
        snprintf(out, NET_TEXT, "/tmp/weft-test-%ld-%s", (long)getpid(), what);
        (void)unlink(out);
}

/* A listener at addr:port (0: any) whose queue is full: who connects waits. Fills both descriptors;
 * the second holds the queue's place. Returns the port. */
static inline int net_full_listener(uint32_t addr, int port, int fds[2])
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

static inline void net_close(int fd)
{
        CHECK_EQ(weft_close(fd), 0);
}

/* How many sockets are open; weft's own descriptors are none. */
static inline int net_sockets(void)
{
        struct stat st;
        int         n = 0;

        for (int fd = 0; fd < 1024; fd++)
                n += fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode);
        return n;
}

static inline bool net_exists(const char *path)
{
        struct stat st;

        return lstat(path, &st) == 0;
}

/* A process of its own, without weft, which runs peer(in, out) on two pipes. fds[0] comes from it,
 * fds[1] goes to it. */
static inline pid_t net_fork(void (*peer)(int in, int out), int fds[2])
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

#endif
