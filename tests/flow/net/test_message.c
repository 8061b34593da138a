/* tests/flow/net/test_message.c - datagrams, flags, and descriptors that are passed along.
 *
 * test: procs=1,2,4
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/edge.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static void make_sockets(int fds[2], int type)
{
        CHECK_EQ(socketpair(AF_UNIX, type, 0, fds), 0);
}

static void close_both(const int fds[2])
{
        CHECK_EQ(weft_close(fds[0]), 0);
        CHECK_EQ(weft_close(fds[1]), 0);
}

static ssize_t recv_some(int fd, void *buf, size_t n, int flags)
{
        return weft_recvfrom(fd, buf, n, flags, NULL, NULL);
}

static ssize_t send_some(int fd, const void *buf, size_t n, int flags)
{
        return weft_sendto(fd, buf, n, flags, NULL, 0);
}

/* ---- Datagrams ------------------------------------------------------------------------------- */

static int make_udp(struct sockaddr_in *sa)
{
        socklen_t len = sizeof(*sa);
        int       fd = socket(AF_INET, SOCK_DGRAM, 0);

        *sa = (struct sockaddr_in){ .sin_family = AF_INET,
                                    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        CHECK_EQ(bind(fd, (struct sockaddr *)sa, len), 0);
        CHECK_EQ(getsockname(fd, (struct sockaddr *)sa, &len), 0);
        return fd;
}

static void answer(void *arg)
{
        int                fd = *(int *)arg;
        struct sockaddr_in from;

        for (int i = 0; i < 20; i++) {
                char      buf[100];
                socklen_t len = sizeof(from);
                ssize_t   n = weft_recvfrom(fd, buf, sizeof(buf), 0, (struct sockaddr *)&from,
                                            &len);

                CHECK(n >= 0);
                CHECK_EQ(len, sizeof(from));
                CHECK_EQ(weft_sendto(fd, buf, (size_t)n, 0, (struct sockaddr *)&from, len), n);
        }
}

GO_TEST(datagrams_come_with_an_address)
{
        struct sockaddr_in to, own;
        int                server = make_udp(&to), client = make_udp(&own);
        int64_t            id = sched_go(answer, &server);

        for (size_t i = 0; i < 20; i++) {       /* the first buffer is empty */
                char               buf[100] = "0123456789abcdefghij", got[100];
                struct sockaddr_in from;
                socklen_t          len = sizeof(from);

                CHECK_EQ(weft_sendto(client, buf, i, 0, (struct sockaddr *)&to, sizeof(to)), i);
                CHECK_EQ(weft_recvfrom(client, got, sizeof(got), 0, (struct sockaddr *)&from,
                                       &len), i);
                CHECK(memcmp(buf, got, i) == 0 && from.sin_port == to.sin_port);
        }
        sched_join(id);
        CHECK_EQ(weft_close(server), 0);
        CHECK_EQ(weft_close(client), 0);
}

static void read_dgram(void *arg)
{
        char buf[10];

        CHECK_EQ(weft_read(*(int *)arg, buf, sizeof(buf)), 0);
}

GO_TEST(datagrams_stay_apart)
{
        int  fds[2];
        char buf[10];

        make_sockets(fds, SOCK_DGRAM);
        CHECK_EQ(send_some(fds[1], "abc", 3, 0), 3);
        CHECK_EQ(send_some(fds[1], "defg", 4, 0), 4);
        CHECK_EQ(recv_some(fds[0], buf, sizeof(buf), MSG_WAITALL), 3);
        CHECK_EQ(recv_some(fds[0], buf, 2, MSG_TRUNC), 4);
        int64_t id = sync_go_waiting(read_dgram, &fds[0]);

        CHECK_EQ(weft_read(fds[0], buf, 0), 0);                 /* takes nothing */
        CHECK_EQ(weft_write(fds[1], "", 0), 0);
        sched_join(id);
        CHECK_EQ(weft_writev(fds[1], (struct iovec[]){ { buf, 0 } }, 1), 0);
        CHECK_EQ(recv_some(fds[0], buf, 1, MSG_DONTWAIT), -EAGAIN);
        close_both(fds);
}

/* A receiver without room: the poller knows only about the sender's room. */
struct full {
        int                from;
        struct sockaddr_un to;
        socklen_t          len;
};

enum { N_TO_SEND = 300 };       /* more than any receiver has room for */

static void send_many(void *arg)
{
        struct full *f = arg;

        for (int i = 0; i < N_TO_SEND; i++)
                CHECK_EQ(weft_sendto(f->from, &i, sizeof(i), 0, (struct sockaddr *)&f->to, f->len),
                         sizeof(i));
}

static int make_unixgram(struct full *f)
{
        struct sockaddr_un any = { .sun_family = AF_UNIX };
        int                fd = socket(AF_UNIX, SOCK_DGRAM, 0);

        f->len = sizeof(f->to);
        CHECK_EQ(bind(fd, (struct sockaddr *)&any, sizeof(any.sun_family)), 0);
        CHECK_EQ(getsockname(fd, (struct sockaddr *)&f->to, &f->len), 0);
        return fd;
}

static int64_t now_of(clockid_t clock)
{
        struct timespec ts;

        CHECK_EQ(clock_gettime(clock, &ts), 0);
        return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

static void use_full(struct full *f, int to)
{
        int64_t id = sync_go_waiting(send_many, f);

        CHECK_EQ(weft_sleep(WEFT_MS(20)), 0);
        int64_t begin = now_of(CLOCK_MONOTONIC), cpu = now_of(CLOCK_PROCESS_CPUTIME_ID);

        CHECK_EQ(weft_sleep(WEFT_MS(100)), 0);
        cpu = now_of(CLOCK_PROCESS_CPUTIME_ID) - cpu;
        CHECK(cpu < (now_of(CLOCK_MONOTONIC) - begin) / 2);
        for (int i = 0, got; i < N_TO_SEND; i++) {
                CHECK_EQ(weft_read(to, &got, sizeof(got)), sizeof(got));
                CHECK_EQ(got, i);
        }
        sched_join(id);
        CHECK_EQ(weft_close(f->from), 0);
        CHECK_EQ(weft_close(to), 0);
}

/* A foreign socket, and a socket that weft made. */
GO_TEST(a_sender_to_a_full_receiver_does_not_spin)
{
        struct full f;
        char        name[64];
        int         to = make_unixgram(&f);

        f.from = socket(AF_UNIX, SOCK_DGRAM, 0);
        use_full(&f, to);
        to = make_unixgram(&f);
        CHECK(snprintf(name, sizeof(name), "@weft-full-%d", (int)getpid()) > 0);
        f.from = weft_listen_packet("unixgram", name);
        CHECK(f.from >= 0);
        use_full(&f, to);
}

/* ---- Flags ----------------------------------------------------------------------------------- */

static void send_slowly(void *arg)
{
        int fd = *(int *)arg;

        for (int i = 0; i < 10; i++) {
                CHECK_EQ(send_some(fd, "0123456789", 10, 0), 10);
                weft_yield();
        }
        CHECK_EQ(weft_sleep(WEFT_MS(1)), 0);
        CHECK_EQ(weft_close(fd), 0);
}

GO_TEST(waitall_fills_the_buffers)
{
        int          fds[2];
        char         a[7], b[30], c[60];
        struct iovec v[] = { { a, 7 }, { b, 30 }, { NULL, 0 }, { c, 43 } };
        struct msghdr msg = { .msg_iov = v, .msg_iovlen = 4 };

        make_sockets(fds, SOCK_STREAM);
        int64_t id = sched_go(send_slowly, &fds[1]);

        CHECK_EQ(weft_recvmsg(fds[0], &msg, MSG_WAITALL), 80);
        for (int i = 0; i < 7; i++)
                CHECK_EQ(a[i], '0' + i);
        for (int i = 0; i < 30; i++)
                CHECK_EQ(b[i], '0' + (i + 7) % 10);
        for (int i = 0; i < 43; i++)
                CHECK_EQ(c[i], '0' + (i + 37) % 10);
        CHECK_EQ(recv_some(fds[0], c, 60, MSG_WAITALL), 20);    /* the end */
        CHECK_EQ(recv_some(fds[0], c, 60, MSG_WAITALL), 0);
        sched_join(id);
        CHECK_EQ(weft_close(fds[0]), 0);
}

GO_TEST(flags_mean_what_they_say)
{
        int  fds[2];
        char buf[10], big[1000] = { 0 };

        make_sockets(fds, SOCK_STREAM);
        CHECK_EQ(recv_some(fds[0], buf, 1, MSG_DONTWAIT), -EAGAIN);
        CHECK_EQ(send_some(fds[1], "abcd", 4, 0), 4);
        CHECK_EQ(recv_some(fds[0], buf, 10, MSG_PEEK), 4);
        CHECK_EQ(recv_some(fds[0], buf, 10, MSG_PEEK | MSG_WAITALL), 4);
        CHECK_EQ(recv_some(fds[0], buf, 10, MSG_DONTWAIT | MSG_WAITALL), 4);
        while (send_some(fds[1], big, sizeof(big), MSG_DONTWAIT) > 0)
                continue;
        CHECK_EQ(send_some(fds[1], big, sizeof(big), MSG_DONTWAIT), -EAGAIN);
        CHECK_EQ(weft_close(fds[0]), 0);
        CHECK_EQ(send_some(fds[1], big, 1, 0), -EPIPE);         /* and no signal */
        CHECK_EQ(weft_close(fds[1]), 0);
        CHECK_EQ(recv_some(fds[0], buf, 1, 0), -EBADF);
        CHECK_EQ(weft_recvmsg(fds[0], NULL, 0), -EFAULT);
        CHECK_EQ(weft_sendmsg(fds[0], NULL, 0), -EFAULT);
        CHECK_EQ(pipe(fds), 0);
        CHECK_EQ(recv_some(fds[0], buf, 1, 0), -ENOTSOCK);
        close_both(fds);
}

enum { BIG = 600000 };

static void send_big(void *arg)
{
        char *buf = calloc(1, BIG);

        CHECK_EQ(send_some(*(int *)arg, buf, BIG, 0), BIG);
        CHECK_EQ(weft_close(*(int *)arg), 0);
        free(buf);
}

GO_TEST(a_stream_takes_all_that_is_sent)
{
        int     fds[2];
        char    buf[5000];
        ssize_t n, total = 0;

        make_sockets(fds, SOCK_STREAM);
        int64_t id = sched_go(send_big, &fds[1]);

        while ((n = recv_some(fds[0], buf, sizeof(buf), 0)) > 0)
                total += n;
        CHECK_EQ(n, 0);
        CHECK_EQ(total, BIG);
        sched_join(id);
        CHECK_EQ(weft_close(fds[0]), 0);
}

/* ---- Descriptors that are passed ------------------------------------------------------------- */

union control {
        struct cmsghdr header;
        char           room[CMSG_SPACE(sizeof(int))];
};

static void pass(int through, int fd, struct iovec *v, size_t n)
{
        union control  control = { .room = { 0 } };
        struct msghdr  msg = { .msg_iov = v, .msg_iovlen = n, .msg_control = &control,
                               .msg_controllen = sizeof(control) };
        struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
        size_t          bytes = 0;

        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(c), &fd, sizeof(int));
        for (size_t i = 0; i < n; i++)
                bytes += v[i].iov_len;
        CHECK_EQ(weft_sendmsg(through, &msg, 0), bytes);
}

/* The descriptor that came along, or -1. */
static int take(int from, void *buf, size_t n, int flags, ssize_t *got)
{
        union control control;
        struct iovec  v = { buf, n };
        struct msghdr msg = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = &control,
                              .msg_controllen = sizeof(control) };
        int           fd = -1;

        *got = weft_recvmsg(from, &msg, flags);
        CHECK(*got >= 0);
        CHECK_EQ(msg.msg_flags & MSG_CTRUNC, 0);
        struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

        if (c)
                memcpy(&fd, CMSG_DATA(c), sizeof(int));
        return fd;
}

enum { N_PASSED = 50, PASS_BYTES = 30000 };

struct passing {
        int through;
        int own[2];             /* a pipe: what is passed writes to it */
};

/* Many bytes with each, so that they are sent in parts. */
static void pass_many(void *arg)
{
        struct passing *p = arg;
        char           *buf = calloc(1, PASS_BYTES);

        for (int i = 0; i < N_PASSED; i++)
                pass(p->through, p->own[1], (struct iovec[]){ { buf, PASS_BYTES } }, 1);
        CHECK_EQ(weft_close(p->through), 0);
        free(buf);
}

/* Foreign sockets, which are armed for each wait, and sockets that weft made, with one report for
 * each event: a message that is cut short at a passed descriptor is not the end of the bytes. */
static void make_to_pass(int fds[2], bool own)
{
        make_sockets(fds, SOCK_STREAM);
        if (own)
                edge_both(fds);
}

static void pass_all(bool own)
{
        int            fds[2], n_passed = 0;
        struct passing p;
        char           buf[7000];
        ssize_t        got, bytes = 0;

        make_to_pass(fds, own);
        CHECK_EQ(pipe(p.own), 0);
        p.through = fds[1];
        int64_t id = sched_go(pass_many, &p);

        do {
                int fd = take(fds[0], buf, sizeof(buf), n_passed % 2 ? MSG_WAITALL : 0, &got);

                bytes += got;
                if (fd < 0)
                        continue;
                n_passed++;
                CHECK_EQ(fcntl(fd, F_GETFD), 0);
                CHECK_EQ(weft_write(fd, "x", 1), 1);
                CHECK_EQ(weft_close(fd), 0);
        } while (got > 0);
        CHECK_EQ(n_passed, N_PASSED);
        CHECK_EQ(bytes, N_PASSED * PASS_BYTES);
        sched_join(id);
        CHECK_EQ(weft_read_full(p.own[0], buf, N_PASSED), N_PASSED);
        close_both(p.own);
        CHECK_EQ(weft_close(fds[0]), 0);
}

GO_TEST(a_passed_descriptor_arrives_once)
{
        pass_all(false);
        pass_all(true);
}

static void stop_after(bool own)
{
        int     fds[2], fd;
        char    buf[10] = { 0 };
        ssize_t got;

        make_to_pass(fds, own);
        CHECK_EQ(weft_write(fds[1], "abc", 3), 3);
        pass(fds[1], fds[0], (struct iovec[]){ { buf, 2 } }, 1);
        CHECK_EQ(weft_write(fds[1], "def", 3), 3);
        fd = take(fds[0], buf, 10, MSG_WAITALL | MSG_CMSG_CLOEXEC, &got);
        CHECK_EQ(got, 5);               /* it belongs to the bytes up to here */
        CHECK(fd >= 0);
        CHECK_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
        CHECK_EQ(weft_close(fd), 0);
        CHECK_EQ(take(fds[0], buf, 3, MSG_WAITALL, &got), -1);
        CHECK_EQ(got, 3);
        close_both(fds);
}

GO_TEST(waitall_stops_after_a_passed_descriptor)
{
        stop_after(false);
        stop_after(true);
}
