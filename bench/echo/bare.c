/* bench/echo/bare.c - epoll-bench: the echo rows on a bare event loop of one thread, the least that
 * a server can do. weft-bench and go-bench are the same for weft and Go.
 *
 * SPDX-License-Identifier: MIT
 */
#include "measure.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { EVENTS = 512, BYTES = 1024 };

static const struct {
        const char *name;
        int         connections;
} workloads[] = { { "echo-100", 100 }, { "echo-1k", 1000 }, { "echo-10k", 10000 } };

struct job {
        int64_t n;
        int     port, which;
};

static _Noreturn void fail(const char *what)
{
        fprintf(stderr, "epoll-bench: %s: %s\n", what, strerror(errno));
        _Exit(1);
}

static int listen_somewhere(int *port)
{
        struct sockaddr_in sa = { .sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        socklen_t          len = sizeof(sa);
        int                fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

        if (fd < 0 || bind(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0 ||
            listen(fd, SOMAXCONN) < 0 || getsockname(fd, (struct sockaddr *)&sa, &len) < 0)
                fail("listen");
        *port = ntohs(sa.sin_port);
        return fd;
}

static void accept_one(int epoll, int listener)
{
        int                fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC), on = 1;
        struct epoll_event ev = { .events = EPOLLIN, .data.fd = fd };

        if (fd < 0)
                return;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &ev) < 0)
                fail("epoll_ctl");
}

/* A message that cannot be written at once would need a queue. 64 bytes on loopback can always be
 * written at once. */
static void echo(int fd)
{
        char    bytes[BYTES];
        ssize_t n = read(fd, bytes, sizeof(bytes));

        if (n > 0 && write(fd, bytes, (size_t)n) != n)
                fail("write");
        if (n == 0 || (n < 0 && errno != EAGAIN))
                close(fd);
}

static void *serve(void *arg)
{
        int                listener = *(int *)arg, epoll = epoll_create1(EPOLL_CLOEXEC);
        struct epoll_event events[EVENTS], ev = { .events = EPOLLIN, .data.fd = listener };

        if (epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &ev) < 0)
                fail("epoll");
        for (;;) {
                int n = epoll_wait(epoll, events, EVENTS, -1);

                for (int i = 0; i < n; i++) {
                        if (events[i].data.fd == listener)
                                accept_one(epoll, listener);
                        else
                                echo(events[i].data.fd);
                }
        }
}

static struct job parse(int argc, char **argv)
{
        struct job job = { .n = 100000, .which = -1 };

        for (int i = 1; i < argc; i++) {
                if (strcmp(argv[i], "-n") == 0 && i + 1 < argc)
                        job.n = atoll(argv[++i]);
                else if (strcmp(argv[i], "-procs") == 0 && i + 1 < argc && atoi(argv[i + 1]) == 1)
                        i++;
                for (int w = 0; w < 3; w++)
                        if (strcmp(argv[i], workloads[w].name) == 0)
                                job.which = w;
        }
        if (job.which < 0 || job.n < 1) {
                fputs("usage: epoll-bench [-procs 1] [-n N] WORKLOAD | -list\n", stderr);
                exit(2);
        }
        return job;
}

int main(int argc, char **argv)
{
        pthread_t thread;

        if (argc == 2 && strcmp(argv[1], "-list") == 0) {
                for (int w = 0; w < 3; w++)
                        puts(workloads[w].name);
                return 0;
        }
        struct job job = parse(argc, argv);

        echo_raise_limit();
        int listener = listen_somewhere(&job.port);

        if (pthread_create(&thread, NULL, serve, &listener) != 0)
                fail("pthread_create");
        struct echo_figures f = echo_measure(job.port, workloads[job.which].connections, job.n);

        printf("{\"runtime\":\"epoll\",\"version\":\"bare\",\"workload\":\"%s\",\"procs\":1,"
               "\"n\":%lld,\"value\":%.1f,\"unit\":\"requests/s\",\"p50_us\":%.1f,\"p99_us\":%.1f,"
               "\"cpu_us_per_request\":%.3f,\"idle_bytes\":%.0f,\"idle_cpu_ms\":%.3f}\n",
               workloads[job.which].name, (long long)job.n, f.requests_per_s, f.p50_us, f.p99_us,
               f.cpu_us_per_request,
               f.idle_bytes, f.idle_cpu_ms);
        return 0;
}
