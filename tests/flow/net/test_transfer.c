/* tests/flow/net/test_transfer.c - all of it or as much as there is, several buffers, deferred
 * errors.
 *
 * test: procs=1,2,4
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/nowait.h"
#include "lib/sync.h"

#include <fcntl.h>
#include <string.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum { BIG = 600000 };          /* more than a socket or pipe holds, and than is copied at once */

static uint8_t pattern(size_t at)
{
        return (uint8_t)(at * 7 + at / 251);
}

static void fill(uint8_t *buf, size_t n)
{
        for (size_t i = 0; i < n; i++)
                buf[i] = pattern(i);
}

static void check_filled(const uint8_t *buf, size_t n)
{
        for (size_t i = 0; i < n; i++)
                CHECK_MSG(buf[i] == pattern(i), "byte %zu is %u", i, buf[i]);
}

static void make_pair(int fds[2], bool is_pipe)
{
        CHECK_EQ(is_pipe ? pipe(fds) : socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
}

static void close_both(const int fds[2])
{
        CHECK_EQ(weft_close(fds[0]), 0);
        CHECK_EQ(weft_close(fds[1]), 0);
}

/* ---- All of it ------------------------------------------------------------------------------- */

static void write_big(void *arg)
{
        int      fd = *(int *)arg;
        uint8_t *buf = malloc(BIG);

        fill(buf, BIG);
        CHECK_EQ(weft_write_all(fd, buf, BIG), BIG);
        CHECK_EQ(weft_close(fd), 0);
        free(buf);
}

static void whole_main(void *is_pipe)
{
        int      fds[2];
        uint8_t *buf = malloc(BIG + 100);

        make_pair(fds, is_pipe);
        int64_t id = sched_go(write_big, &fds[1]);

        CHECK_EQ(weft_read_full(fds[0], buf, 1000), 1000);
        CHECK_EQ(weft_read_full(fds[0], buf + 1000, BIG - 1000 + 100), BIG - 1000);
        check_filled(buf, BIG);
        CHECK_EQ(weft_read_full(fds[0], buf, 10), 0);
        sched_join(id);
        CHECK_EQ(weft_close(fds[0]), 0);
        free(buf);
}

TEST(all_bytes_go_through_a_pipe)
{
        sched_run(whole_main, "");
}

TEST(all_bytes_go_through_a_socket)
{
        sched_run(whole_main, NULL);
}

GO_TEST(a_thread_writes_all_bytes)
{
        int                fds[2];
        struct sync_thread t;
        uint8_t           *buf = malloc(BIG);

        make_pair(fds, true);
        sync_thread_start(&t, write_big, &fds[1]);
        CHECK_EQ(weft_read_full(fds[0], buf, BIG), BIG);
        check_filled(buf, BIG);
        sync_thread_join(&t);
        CHECK_EQ(weft_close(fds[0]), 0);
        free(buf);
}

static void bad_main(void *arg)
{
        int     fds[2];
        uint8_t buf[4] = { 0 };

        (void)arg;
        make_pair(fds, true);
        CHECK_EQ(weft_read_full(fds[0], NULL, 1), -EFAULT);
        CHECK_EQ(weft_read_full(fds[0], buf, 0), 0);
        CHECK_EQ(weft_write_all(fds[1], NULL, 0), 0);
        CHECK_EQ(weft_read_full(fds[1], buf, 1), -EBADF);
        CHECK_EQ(weft_write_all(fds[0], buf, 1), -EBADF);
        CHECK_EQ(weft_readv(fds[0], NULL, 1), -EFAULT);
        CHECK_EQ(weft_readv(fds[0], NULL, 0), 0);
        CHECK_EQ(weft_readv(fds[0], NULL, -1), -EINVAL);
        CHECK_EQ(weft_writev(fds[1], (struct iovec[]){ { buf, 1 } }, 1025), -EINVAL);
        close_both(fds);
        CHECK_EQ(weft_read_full(fds[0], buf, 1), -EBADF);
        CHECK_EQ(weft_readv(fds[0], (struct iovec[]){ { buf, 1 } }, 1), -EBADF);
}

/* Without it, a read from the wrong end is not refused, but waits. */
TEST(bad_arguments_are_refused)
{
        nowait_need();
        sched_run(bad_main, NULL);
}

/* ---- Several buffers ------------------------------------------------------------------------- */

static void vector_main(void *is_pipe)
{
        int          fds[2];
        uint8_t      a[3], b[5], c[100], out[20];
        struct iovec in[] = { { a, 3 }, { NULL, 0 }, { b, 5 }, { c, sizeof(c) } };
        struct iovec from[] = { { out, 1 }, { out + 1, 10 }, { NULL, 0 }, { out + 11, 9 } };

        make_pair(fds, is_pipe);
        fill(out, sizeof(out));
        CHECK_EQ(weft_writev(fds[1], from, 4), 20);
        CHECK_EQ(weft_readv(fds[0], in, 4), 20);
        CHECK(memcmp(a, out, 3) == 0 && memcmp(b, out + 3, 5) == 0 && memcmp(c, out + 8, 12) == 0);
        CHECK_EQ(weft_writev(fds[1], from, 0), 0);
        CHECK_EQ(weft_writev(fds[1], &from[2], 1), 0);
        CHECK_EQ(weft_close(fds[0]), 0);
        CHECK_EQ(weft_writev(fds[1], from, 4), -EPIPE);         /* and no signal */
        CHECK_EQ(weft_write_all(fds[1], out, 1), -EPIPE);
        CHECK_EQ(weft_close(fds[1]), 0);
}

TEST(buffers_are_gathered_and_scattered_through_a_pipe)
{
        sched_run(vector_main, "");
}

TEST(buffers_are_gathered_and_scattered_through_a_socket)
{
        sched_run(vector_main, NULL);
}

static void read_vector(void *arg)
{
        uint8_t      a[2], b[2];
        struct iovec v[] = { { a, 2 }, { b, 2 } };

        CHECK_EQ(weft_readv(*(int *)arg, v, 2), 3);
        CHECK(a[0] == 'x' && a[1] == 'y' && b[0] == 'z');
}

GO_TEST(a_scattered_read_waits)
{
        int fds[2];

        make_pair(fds, true);
        int64_t id = sync_go_waiting(read_vector, &fds[0]);

        CHECK_EQ(weft_write_all(fds[1], "xyz", 3), 3);
        sched_join(id);
        close_both(fds);
}

/* ---- Errors that come late ------------------------------------------------------------------- */

/* A connection that its other end can be made to reset. */
static void make_connection(int fds[2])
{
        struct sockaddr_in sa = { .sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        socklen_t          len = sizeof(sa);
        int                listener = socket(AF_INET, SOCK_STREAM, 0);

        CHECK_EQ(bind(listener, (struct sockaddr *)&sa, len), 0);
        CHECK_EQ(listen(listener, 1), 0);
        CHECK_EQ(getsockname(listener, (struct sockaddr *)&sa, &len), 0);
        fds[0] = socket(AF_INET, SOCK_STREAM, 0);
        CHECK_EQ(test_connect(fds[0], &sa, len), 0);
        fds[1] = test_accept(listener);
        CHECK(fds[1] >= 0);
        CHECK_EQ(close(listener), 0);
}

static void reset(int fd)
{
        struct linger linger = { .l_onoff = 1 };

        CHECK_EQ(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)), 0);
        CHECK_EQ(weft_close(fd), 0);
}

struct full_read {
        int     fd;
        ssize_t got;
};

static void read_ten(void *arg)
{
        struct full_read *r = arg;
        char              buf[10];

        r->got = weft_read_full(r->fd, buf, sizeof(buf));
}

static void receive_ten(void *arg)
{
        struct full_read *r = arg;
        char              buf[10];

        r->got = weft_recvfrom(r->fd, buf, sizeof(buf), MSG_WAITALL, NULL, NULL);
}

/* A goroutine has read three bytes of ten when the connection is reset. */
static int half_read_by(void (*reader)(void *))
{
        int              fds[2], left = 1;
        struct full_read r;

        make_connection(fds);
        r.fd = fds[0];
        int64_t id = sync_go_waiting(reader, &r);

        CHECK_EQ(weft_write_all(fds[1], "abc", 3), 3);
        while (left) {                  /* a reset drops what was not read */
                weft_yield();
                CHECK_EQ(ioctl(fds[0], FIONREAD, &left), 0);
        }
        sched_await_parked(id);
        reset(fds[1]);
        sched_join(id);
        CHECK_EQ(r.got, 3);
        return fds[0];
}

static int half_read(void)
{
        return half_read_by(read_ten);
}

GO_TEST(an_error_after_bytes_comes_with_the_next_call)
{
        int  fd = half_read();
        char c;

        CHECK_EQ(weft_write(fd, "x", 1), -EPIPE);               /* the other direction */
        CHECK_EQ(weft_read(fd, &c, 1), -ECONNRESET);
        CHECK_EQ(weft_read(fd, &c, 1), 0);
        CHECK_EQ(weft_close(fd), 0);
}

/* As in the kernel, where one call does everything. */
GO_TEST(an_error_after_a_part_of_a_message_comes_with_the_next_call)
{
        int  fd = half_read_by(receive_ten);
        char c;

        CHECK_EQ(weft_recvfrom(fd, &c, 1, 0, NULL, NULL), -ECONNRESET);
        CHECK_EQ(weft_recvfrom(fd, &c, 1, 0, NULL, NULL), 0);
        CHECK_EQ(weft_close(fd), 0);
}

static void reuse_main(void *closer)
{
        int  fd = half_read(), fds[2];
        char c;

        CHECK_EQ(closer ? weft_close(fd) : close(fd), 0);
        make_pair(fds, true);
        CHECK_EQ(fds[0], fd);
        CHECK_EQ(weft_write(fds[1], "n", 1), 1);
        CHECK_EQ(weft_read(fds[0], &c, 1), 1);
        CHECK_EQ(c, 'n');
        close_both(fds);
}

TEST(a_deferred_error_is_dropped_when_the_number_is_closed)
{
        sched_run(reuse_main, "");
}

TEST(a_deferred_error_does_not_hit_the_next_file)
{
        sched_run(reuse_main, NULL);
}

GO_TEST(a_deadline_after_bytes_is_not_deferred)
{
        int        fds[2];
        char       buf[10];
        weft_scope s;
        ssize_t    got = -ETIMEDOUT;

        make_pair(fds, true);
        CHECK_EQ(weft_write_all(fds[1], "abc", 3), 3);
        for (int64_t ns = WEFT_MS(3); got == -ETIMEDOUT; ns *= 2) {     /* if that was too short */
                CHECK_EQ(weft_scope_open(&s, ns), 0);
                got = weft_read_full(fds[0], buf, sizeof(buf));
                CHECK_EQ(weft_read_full(fds[0], buf, sizeof(buf)), -ETIMEDOUT);
                CHECK_EQ(weft_scope_close(&s), 0);
        }
        CHECK_EQ(got, 3);
        CHECK_EQ(weft_write_all(fds[1], "d", 1), 1);
        CHECK_EQ(weft_read(fds[0], buf, 1), 1);         /* it was the scope's, not the pipe's */
        close_both(fds);
}

GO_TEST(a_close_after_bytes)
{
        int              fds[2], left = 1;
        struct full_read r;

        make_pair(fds, true);
        r.fd = fds[0];
        int64_t id = sync_go_waiting(read_ten, &r);

        CHECK_EQ(weft_write_all(fds[1], "abc", 3), 3);
        while (left) {
                weft_yield();
                CHECK_EQ(ioctl(fds[0], FIONREAD, &left), 0);
        }
        sched_await_parked(id);
        CHECK_EQ(weft_close(fds[0]), 0);
        sched_join(id);
        CHECK_EQ(r.got, 3);
        CHECK_EQ(weft_read(fds[0], &left, 1), -EBADF);
        CHECK_EQ(weft_close(fds[1]), 0);
}

/* ---- Packets --------------------------------------------------------------------------------- */

GO_TEST(packets_of_a_pipe_stay_apart)
{
        int  fds[2];
        char buf[10];

        CHECK_EQ(pipe2(fds, O_DIRECT), 0);
        CHECK_EQ(weft_write(fds[1], "abcdef", 6), 6);
        CHECK_EQ(weft_write(fds[1], "gh", 2), 2);
        CHECK_EQ(weft_read(fds[0], buf, 3), 3);         /* the rest of a packet is gone */
        CHECK(memcmp(buf, "abc", 3) == 0);
        CHECK_EQ(weft_read(fds[0], buf, 10), 2);
        CHECK(memcmp(buf, "gh", 2) == 0);
        int64_t id = sync_go_waiting(read_vector, &fds[0]);

        CHECK_EQ(weft_write(fds[1], "xyz", 3), 3);
        sched_join(id);
        close_both(fds);
}
