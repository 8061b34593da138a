/* bench/echo/load.c - echo-load: many connections. Each sends a message, waits until it comes back,
 * and sends the next.
 *
 *   echo-load PORT CONNECTIONS REQUESTS
 *
 * Plain C and epoll. Runs on other CPUs than the CPU of its parent. Prints "ready" once every
 * connection has received its first message, and waits for a byte on standard input. Its last line
 * has requests per second, and median and 99th percentile of the round trips in us.
 *
 * SPDX-License-Identifier: MIT
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MESSAGE = 64, EVENTS = 512, BUCKETS = 64 * 16, MAX_CONNECTIONS = 50000 };

struct connection {
        int     fd;
        int     got;            /* bytes of the present message that have come back */
        int64_t sent_at;
};

static struct connection *connections;
static uint64_t           round_trips[BUCKETS]; /* how many of each length, 16 lengths per octave */

static _Noreturn void fail(const char *what)
{
        fprintf(stderr, "echo-load: %s: %s\n", what, strerror(errno));
        exit(1);
}

static int64_t now_ns(void)
{
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- Lengths of round trips ------------------------------------------------------------------ */

static int bucket_of(uint64_t ns)
{
        if (ns < 16)
                return (int)ns;
        int octave = 63 - __builtin_clzll(ns);

        return (octave - 3) * 16 + (int)(ns >> (octave - 4) & 15);
}

static double bucket_us(int bucket)
{
        if (bucket < 16)
                return bucket / 1e3;
        int octave = bucket / 16 + 3;

        return (double)((16 + (uint64_t)bucket % 16) << (octave - 4)) / 1e3;
}

static double quantile_us(uint64_t n, double share)
{
        uint64_t before = 0, rank = (uint64_t)((double)n * share);

        for (int b = 0; b < BUCKETS; b++) {
                before += round_trips[b];
                if (before > rank)
                        return bucket_us(b);
        }
        return bucket_us(BUCKETS - 1);
}

/* ---- Connections ----------------------------------------------------------------------------- */

static void send_message(struct connection *c)
{
        static const char message[MESSAGE] = "a message of sixty-four bytes, as the workload says";

        c->got = 0;
        c->sent_at = now_ns();
        if (send(c->fd, message, MESSAGE, MSG_NOSIGNAL) != MESSAGE)
                fail("send");
}

/* True: the whole message is back. */
static bool receive(struct connection *c)
{
        char    bytes[MESSAGE];
        ssize_t n = recv(c->fd, bytes, (size_t)(MESSAGE - c->got), MSG_DONTWAIT);

        if (n < 0 && errno == EAGAIN)
                return false;
        if (n == 0)
                errno = ECONNRESET;
        if (n <= 0)
                fail("recv");
        c->got += (int)n;
        return c->got == MESSAGE;
}

static void connect_one(struct connection *c, int port, int epoll)
{
        struct sockaddr_in sa = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        struct epoll_event ev = { .events = EPOLLIN, .data.ptr = c };
        int                on = 1;

        c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&sa, sizeof(sa)) < 0)
                fail("connect");
        setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        if (epoll_ctl(epoll, EPOLL_CTL_ADD, c->fd, &ev) < 0)
                fail("epoll_ctl");
        send_message(c);
        while (!receive(c))
                sched_yield();
}

/* ---- Measuring ------------------------------------------------------------------------------- */

static void measure(int epoll, int n_connections, int64_t requests)
{
        struct epoll_event events[EVENTS];
        int64_t            sent = 0, done = 0, begun = now_ns();

        for (; sent < n_connections && sent < requests; sent++)
                send_message(&connections[sent]);
        while (done < requests) {
                int n = epoll_wait(epoll, events, EVENTS, 20000);

                if (n == 0)
                        errno = ETIMEDOUT;
                if (n <= 0 && errno != EINTR)
                        fail("waiting for an answer");
                for (int i = 0; i < n; i++) {
                        struct connection *c = events[i].data.ptr;

                        if (!receive(c))
                                continue;
                        round_trips[bucket_of((uint64_t)(now_ns() - c->sent_at))]++;
                        done++;
                        if (sent < requests) {
                                sent++;
                                send_message(c);
                        }
                }
        }
        printf("%.0f %.1f %.1f\n", (double)requests * 1e9 / (double)(now_ns() - begun),
               quantile_us((uint64_t)requests, 0.5), quantile_us((uint64_t)requests, 0.99));
}

static void use_other_cpus(void)
{
        cpu_set_t ours, others;

        CPU_ZERO(&others);
        sched_getaffinity(0, sizeof(ours), &ours);
        for (unsigned cpu = 0; cpu < (unsigned)sysconf(_SC_NPROCESSORS_CONF); cpu++)
                if (!CPU_ISSET(cpu, &ours))
                        CPU_SET(cpu, &others);
        if (CPU_COUNT(&others) > 0)
                sched_setaffinity(0, sizeof(others), &others);
}

static int64_t number(const char *text, int64_t max)
{
        char     *end;
        long long value = strtoll(text, &end, 10);

        if (*end || value < 1 || value > max) {
                fprintf(stderr, "echo-load: '%s' is not a number from 1 to %" PRId64 "\n", text,
                        max);
                exit(2);
        }
        return value;
}

int main(int argc, char **argv)
{
        struct rlimit limit;

        if (argc != 4) {
                fputs("usage: echo-load PORT CONNECTIONS REQUESTS\n", stderr);
                return 2;
        }
        int     port = (int)number(argv[1], 65535), epoll = epoll_create1(EPOLL_CLOEXEC);
        int     n = (int)number(argv[2], MAX_CONNECTIONS);
        int64_t requests = number(argv[3], INT64_C(1000000000));

        getrlimit(RLIMIT_NOFILE, &limit);
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
        use_other_cpus();
        connections = calloc((size_t)n, sizeof(*connections));
        if (!connections || epoll < 0)
                fail("beginning");
        for (int i = 0; i < n; i++)
                connect_one(&connections[i], port, epoll);
        puts("ready");
        fflush(stdout);
        if (getchar() == EOF)
                return 1;
        measure(epoll, n, requests);
        return 0;
}
