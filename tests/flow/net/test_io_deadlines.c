/* tests/flow/net/test_io_deadlines.c - every call that waits for a descriptor, on every kind of it:
 * ended by a deadline, never early and not much too late; by a cancellation; by weft_close; and not
 * by a scope that is closed.
 *
 * test: procs=1,2,4
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/edge.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/uio.h>

enum {
        SOON_NS = 1500000, LATE_NS = 10 * SOON_NS + 200000000,
        LATE_MAX = 5,                   /* times in a row, on a busy machine */
        SMALL = 4096, LARGE = 1 << 20,
};

static char buffer[LARGE];

/* ---- The calls ------------------------------------------------------------------------------- */

static struct iovec  vec[2] = { { buffer, SMALL }, { buffer + SMALL, SMALL } };

static struct msghdr message(void)
{
        return (struct msghdr){ .msg_iov = vec, .msg_iovlen = 2 };
}

static ssize_t by_read(int fd)      { return weft_read(fd, buffer, SMALL); }
static ssize_t by_read_full(int fd) { return weft_read_full(fd, buffer, SMALL); }
static ssize_t by_readv(int fd)     { return weft_readv(fd, vec, 2); }
static ssize_t by_recvfrom(int fd)  { return weft_recvfrom(fd, buffer, SMALL, 0, NULL, NULL); }
static ssize_t by_recvmsg(int fd)   { struct msghdr m = message(); return weft_recvmsg(fd, &m, 0); }
static ssize_t by_waiting_in(int fd) { return weft_fd_wait(fd, POLLIN); }

static ssize_t by_write(int fd)     { return weft_write(fd, buffer, SMALL); }
static ssize_t by_write_all(int fd) { return weft_write_all(fd, buffer, SMALL); }
static ssize_t by_writev(int fd)    { return weft_writev(fd, vec, 2); }
static ssize_t by_sendto(int fd)    { return weft_sendto(fd, buffer, SMALL, 0, NULL, 0); }
static ssize_t by_sendmsg(int fd)   { struct msghdr m = message(); return weft_sendmsg(fd, &m, 0); }
static ssize_t by_waiting_out(int fd) { return weft_fd_wait(fd, POLLOUT); }

static ssize_t by_select_in(int fd)
{
        weft_case c[] = { WEFT_READABLE(fd) };
        int       rc = weft_select(c, 1);

        return rc < 0 ? rc : c[0].result;
}

static ssize_t by_select_out(int fd)
{
        weft_case c[] = { WEFT_WRITABLE(fd) };
        int       rc = weft_select(c, 1);

        return rc < 0 ? rc : c[0].result;
}

struct call {
        const char *name;
        ssize_t   (*fn)(int fd);
        bool        of_sockets;         /* only */
};

static const struct call reads[] = {
        { "read", by_read, false }, { "read_full", by_read_full, false },
        { "readv", by_readv, false }, { "wait_fd in", by_waiting_in, false },
        { "select in", by_select_in, false },
        { "recvfrom", by_recvfrom, true }, { "recvmsg", by_recvmsg, true },
};

static const struct call writes[] = {
        { "write", by_write, false }, { "write_all", by_write_all, false },
        { "writev", by_writev, false }, { "wait_fd out", by_waiting_out, false },
        { "select out", by_select_out, false },
        { "sendto", by_sendto, true }, { "sendmsg", by_sendmsg, true },
};

/* ---- The descriptors ------------------------------------------------------------------------- */

/* The tests read from fds[0] and write to fds[1]. */
static void make_pipe(int fds[2])
{
        CHECK_EQ(pipe2(fds, O_CLOEXEC), 0);
}

static void make_pair(int fds[2])
{
        CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
}

static void make_edge_pair(int fds[2])
{
        edge_unix_pair(fds);
        edge_both(fds);
}

static void make_edge_tcp(int fds[2])
{
        edge_tcp_pair(fds);
        edge_both(fds);
}

static void make_edge_udp(int fds[2])
{
        fds[0] = weft_listen_packet("udp4", "127.0.0.1:0");
        fds[1] = weft_listen_packet("udp4", "127.0.0.1:0");
        CHECK(fds[0] >= 0 && fds[1] >= 0);
}

struct kind {
        const char *name;
        void      (*make)(int fds[2]);
        bool        is_socket;
        bool        can_be_full;        /* and stays full until a goroutine reads */
};

static const struct kind kinds[] = {
        { "pipe", make_pipe, false, true },
        { "unix sockets of others", make_pair, true, true },
        { "unix sockets", make_edge_pair, true, true },
        { "TCP sockets", make_edge_tcp, true, false },
        { "UDP sockets", make_edge_udp, true, false },
};

/* Until not a byte has room. */
static void fill(int fd)
{
        int    flags = fcntl(fd, F_GETFL);
        size_t n = LARGE;

        CHECK_EQ(fcntl(fd, F_SETFL, flags | O_NONBLOCK), 0);
        while (n > 0)
                if (write(fd, buffer, n) < 0)
                        n /= 2;
        CHECK_EQ(fcntl(fd, F_SETFL, flags), 0);
}

/* ---- Each with each -------------------------------------------------------------------------- */

struct attempt {
        const struct call *call;
        const struct kind *kind;
        int                fd;
        ssize_t            rc;
};

static int do_call(void *arg)
{
        const struct attempt *a = arg;

        return (int)a->call->fn(a->fd);
}

static void do_plainly(void *arg)
{
        struct attempt *a = arg;

        a->rc = a->call->fn(a->fd);
}

#define EXPECT(a, found, expected) do {                                                         \
        long found_ = (long)(found);                                                            \
        CHECK_MSG(found_ == (expected), "%s, %s: %ld, expected %ld", (a)->call->name,           \
                  (a)->kind->name, found_, (long)(expected));                                   \
} while (0)

static int64_t end_by_deadline(struct attempt *a)
{
        int64_t since = w_os_now();

        EXPECT(a, sync_call_timed(do_call, a, SOON_NS), -ETIMEDOUT);
        int64_t ns = w_os_now() - since;

        CHECK_MSG(ns >= SOON_NS, "%s, %s: early", a->call->name, a->kind->name);
        return ns;
}

static void end_by_scopes(struct attempt *a)
{
        EXPECT(a, sync_call_timed(do_call, a, 0), -ETIMEDOUT);
        int64_t ns = end_by_deadline(a);

        for (int i = 1; ns > LATE_NS && i < LATE_MAX; i++)
                ns = end_by_deadline(a);
        CHECK_MSG(ns <= LATE_NS, "%s, %s: after %lld ns", a->call->name, a->kind->name,
                  (long long)ns);
        EXPECT(a, sync_call_cancelled(do_call, a), -ECANCELED);
}

/* The scopes before are closed: it waits until it is closed itself. */
static void end_by_close(struct attempt *a)
{
        int64_t id = sync_go_waiting(do_plainly, a);

        CHECK_EQ(weft_sleep(SOON_NS / 3), 0);
        CHECK_EQ(sched_state_of(id), G_WAITING);
        CHECK_EQ(weft_close(a->fd), 0);
        sched_join(id);
        EXPECT(a, a->rc, -EBADF);
}

static void try_each(const struct call *calls, size_t n, const struct kind *kind, bool writes_it)
{
        for (size_t i = 0; i < n; i++) {
                int fds[2];

                if (calls[i].of_sockets && !kind->is_socket)
                        continue;
                kind->make(fds);
                if (writes_it)
                        fill(fds[1]);
                struct attempt a = { .call = &calls[i], .kind = kind, .fd = fds[writes_it] };

                end_by_scopes(&a);
                end_by_close(&a);
                CHECK_EQ(weft_close(fds[!writes_it]), 0);
        }
}

GO_TEST(every_read_can_be_ended)
{
        for (size_t i = 0; i < W_ARRAY_LEN(kinds); i++)
                try_each(reads, W_ARRAY_LEN(reads), &kinds[i], false);
}

GO_TEST(every_write_can_be_ended)
{
        for (size_t i = 0; i < W_ARRAY_LEN(kinds); i++)
                if (kinds[i].can_be_full)
                        try_each(writes, W_ARRAY_LEN(writes), &kinds[i], true);
}

/* ---- Short deadlines, and many --------------------------------------------------------------- */

enum { N_EACH = 8, CHUNK = 64 };

static w_atomic_u32 n_sent, n_got, n_late;

/* It may be in time or not; the number of bytes moved is returned in either case. */
static void move_often(int fd, ssize_t (*move)(int fd), w_atomic_u32 *moved)
{
        for (uint32_t i = 0; i < sched_scale(200) + 4; i++) {
                weft_scope s;

                CHECK_EQ(weft_scope_open(&s, (int64_t)(i % 20) * 1000), 0);
                ssize_t n = move(fd);

                CHECK_MSG(n > 0 || n == -ETIMEDOUT, "%zd", n);
                w_add_rlx(n > 0 ? moved : &n_late, n > 0 ? (uint32_t)n : 1);
                CHECK_EQ(weft_scope_close(&s), 0);
        }
}

static ssize_t send_chunk(int fd) { return weft_write(fd, buffer, CHUNK); }

static ssize_t take_chunk(int fd)
{
        char chunk[CHUNK];

        return weft_read(fd, chunk, sizeof(chunk));
}

static void send_often(void *arg) { move_often(((int *)arg)[1], send_chunk, &n_sent); }
static void take_often(void *arg) { move_often(((int *)arg)[0], take_chunk, &n_got); }

static void race(void (*make)(int fds[2]))
{
        int     fds[2];
        int64_t ids[2 * N_EACH];

        make(fds);
        w_store_rlx(&n_sent, 0);
        w_store_rlx(&n_got, 0);
        for (int i = 0; i < N_EACH; i++) {
                ids[2 * i] = sched_go(send_often, fds);
                ids[2 * i + 1] = sched_go(take_often, fds);
        }
        for (int i = 0; i < 2 * N_EACH; i++)
                sched_join(ids[i]);
        uint32_t sent = w_load_rlx(&n_sent), got = w_load_rlx(&n_got);

        CHECK_EQ(weft_close(fds[1]), 0);
        for (ssize_t n; (n = take_chunk(fds[0])) > 0;)
                got += (uint32_t)n;
        CHECK_EQ(got, sent);
        CHECK_EQ(weft_close(fds[0]), 0);
}

/* Not a byte is lost or delivered twice. */
GO_TEST(short_deadlines_lose_no_bytes)
{
        w_store_rlx(&n_late, 0);
        race(make_pipe);
        race(make_edge_pair);
        CHECK(w_load_rlx(&n_late) > 0);
}

/* ---- Closing while it is in use -------------------------------------------------------------- */

static void use_until_closed(void *arg)
{
        int    *fds = arg;
        ssize_t n;

        while ((n = take_chunk(fds[0])) > 0)
                ;
        CHECK_MSG(n == 0 || n == -EBADF, "read: %zd", n);
}

static void write_until_closed(void *arg)
{
        int    *fds = arg;
        ssize_t n;

        while ((n = send_chunk(fds[1])) > 0)
                ;
        CHECK_MSG(n == -EPIPE || n == -EBADF, "write: %zd", n);
}

static void close_it(void *arg)
{
        CHECK_EQ(weft_close(*(int *)arg), 0);
}

/* The poller opens descriptors of its own at the first wait. One of them might get the number that
 * was closed a moment ago, and to which a goroutine still writes. */
static void wait_once(void)
{
        int        fds[2];
        char       c;
        weft_scope scope;

        make_pipe(fds);
        CHECK_EQ(weft_scope_open(&scope, WEFT_MS(1)), 0);
        CHECK_EQ(weft_read(fds[0], &c, 1), -ETIMEDOUT);
        CHECK_EQ(weft_scope_close(&scope), 0);
        CHECK_EQ(weft_close(fds[0]), 0);
        CHECK_EQ(weft_close(fds[1]), 0);
}

static void closes_main(void *arg)
{
        (void)arg;
        wait_once();
        for (uint32_t i = 0; i < sched_scale(100) + 4; i++) {
                int     fds[2];
                int64_t ids[4];

                make_pipe(fds);
                ids[0] = sched_go(use_until_closed, fds);
                ids[1] = sched_go(write_until_closed, fds);
                ids[2] = sched_go(close_it, &fds[i % 2]);
                ids[3] = sched_go(close_it, &fds[!(i % 2)]);
                for (int k = 0; k < 4; k++)
                        sched_join(ids[k]);
        }
}

/* A goroutine in its call ends, and nothing stays open. */
TEST(both_ends_are_closed_while_they_are_used)
{
        struct test_resources before = test_resources_now();

#if defined(W_TSAN)
        test_skip("to use a number that was closed is a race, and the test's own");
#endif
        sched_run(closes_main, NULL);
        CHECK_EQ(test_resources_now().descriptors, before.descriptors);
}
