/* tests/flow/net/test_sockets.c - listening, accepting and dialling on every network.
 *
 * test: procs=1,2,4
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/net.h"

/* ---- Echo ------------------------------------------------------------------------------------ */

/* Sends back what comes, until the end. */
static void serve(void *arg)
{
        int     fd = (int)(intptr_t)arg;
        char    buf[512];
        ssize_t n;

        while ((n = weft_read(fd, buf, sizeof(buf))) > 0)
                for (ssize_t at = 0, done; at < n; at += done) {
                        done = weft_write(fd, buf + at, (size_t)(n - at));
                        CHECK_MSG(done > 0, "write: %ld", (long)done);
                }
        CHECK_EQ(n, 0);
        net_close(fd);
}

static void accept_some(void *arg)
{
        int listener = ((int *)arg)[0], n = ((int *)arg)[1];

        for (int i = 0; i < n; i++) {
                int fd = weft_accept(listener);

                CHECK_MSG(fd >= 0, "accept: %d", fd);
                (void)sched_go(serve, (void *)(intptr_t)fd);
        }
}

static void expect_echo(int fd, char seed)
{
        char sent[100], got[100];

        for (size_t i = 0; i < sizeof(sent); i++)
                sent[i] = (char)(seed + (char)i);
        CHECK_EQ(weft_write(fd, sent, sizeof(sent)), sizeof(sent));
        for (size_t at = 0; at < sizeof(got);) {
                ssize_t n = weft_read(fd, got + at, sizeof(got) - at);

                CHECK_MSG(n > 0, "read: %ld", (long)n);
                at += (size_t)n;
        }
        CHECK_EQ(memcmp(sent, got, sizeof(got)), 0);
}

static void check_flags(int fd, bool tcp)
{
        int       value = 0;
        socklen_t len = sizeof(value);

        CHECK(fcntl(fd, F_GETFL) & O_NONBLOCK);
        CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
        if (!tcp)
                return;
        CHECK_EQ(getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &value, &len), 0);
        CHECK(value);
}

static void echo_over(const char *net, const char *addr, const char *dial_net)
{
        char where[NET_TEXT];
        bool tcp = net[0] == 't';
        int  both[2] = { net_listen(net, addr, where), 1 };

        check_flags(both[0], false);
        int64_t id = sched_go(accept_some, both);
        int     fd = weft_dial(dial_net, where);

        CHECK_MSG(fd >= 0, "dial %s %s: %d", dial_net, where, fd);
        check_flags(fd, tcp);
        expect_echo(fd, 'a');
        net_close(fd);
        sched_join(id);
        net_close(both[0]);
}

GO_TEST(streams_echo_on_every_network)
{
        char path[NET_TEXT], abstract[NET_TEXT];

        net_path(path, "echo");
        snprintf(abstract, sizeof(abstract), "@weft-test-%ld", (long)getpid());
        echo_over("tcp", "127.0.0.1:0", "tcp");
        echo_over("tcp4", "127.0.0.1:0", "tcp");
        echo_over("tcp", ":0", "tcp4");
        echo_over("tcp4", ":0", "tcp");
        echo_over("unix", path, "unix");
        CHECK(!net_exists(path));
        echo_over("unix", abstract, "unix");
        if (!net_has_ip6())
                return;
        echo_over("tcp", "[::1]:0", "tcp6");
        echo_over("tcp6", "[::1]:0", "tcp");
        echo_over("tcp6", ":0", "tcp6");
        echo_over("tcp", ":0", "tcp6");
}

/* ---- Much, and edges ------------------------------------------------------------------------- */

static int connected(int fds[2])
{
        char where[NET_TEXT];
        int  listener = net_listen("tcp", "127.0.0.1:0", where);

        fds[0] = weft_dial("tcp", where);
        fds[1] = weft_accept(listener);
        CHECK(fds[0] >= 0 && fds[1] >= 0);
        return listener;
}

GO_TEST(ten_thousand_round_trips_on_one_connection)
{
        char sent[512], got[sizeof(sent)];
        int  fds[2], listener = connected(fds);
        long n = test_scale(10000);

        int64_t id = sched_go(serve, (void *)(intptr_t)fds[1]);

        for (long i = 0; i < n; i++) {
                memset(sent, (char)i, sizeof(sent));
                CHECK_EQ(weft_write_all(fds[0], sent, sizeof(sent)), sizeof(sent));
                CHECK_EQ(weft_read_full(fds[0], got, sizeof(got)), sizeof(got));
                CHECK_EQ(memcmp(sent, got, sizeof(got)), 0);
        }
        net_close(fds[0]);
        sched_join(id);
        net_close(listener);
}

static void read_end(void *arg)
{
        char c;

        CHECK_EQ(weft_read(*(int *)arg, &c, 1), 0);
}

/* Half of a connection is closed, also during a wait; no bytes are asked for. */
GO_TEST(halves_of_a_connection_are_closed)
{
        int  fds[2], listener = connected(fds);
        char c;

        CHECK_EQ(weft_read(fds[0], &c, 0), 0);          /* there is nothing, and it does not wait */
        CHECK_EQ(weft_write(fds[0], &c, 0), 0);
        int64_t id = sync_go_waiting(read_end, &fds[0]);

        CHECK_EQ(shutdown(fds[0], SHUT_RD), 0);
        sched_join(id);
        CHECK_EQ(weft_write(fds[0], "x", 1), 1);        /* the other half is open */
        CHECK_EQ(weft_read(fds[1], &c, 1), 1);
        id = sync_go_waiting(read_end, &fds[1]);
        CHECK_EQ(shutdown(fds[0], SHUT_WR), 0);
        CHECK_EQ(weft_write(fds[0], "x", 1), -EPIPE);
        sched_join(id);
        CHECK_EQ(weft_read(fds[1], &c, 0), 0);
        net_close(fds[0]);
        net_close(fds[1]);
        net_close(listener);
}

static void copy_all(void *arg)
{
        int    *from_to = arg;
        char    buf[4096];
        ssize_t n;

        while ((n = weft_read(from_to[0], buf, sizeof(buf))) > 0)
                CHECK_EQ(weft_write_all(from_to[1], buf, (size_t)n), n);
        CHECK_EQ(n, 0);
        net_close(from_to[0]);
        net_close(from_to[1]);
}

static uint8_t bytes[300000];

static void write_and_close(void *arg)
{
        int fd = *(int *)arg;

        CHECK_EQ(weft_write_all(fd, bytes, sizeof(bytes)), sizeof(bytes));
        net_close(fd);
}

/* Other code made the pipe, and it blocks. */
GO_TEST(a_pipe_is_copied_into_a_connection)
{
        static uint8_t got[sizeof(bytes) + 1];
        int            fds[2], tubes[2], listener = connected(fds);

        for (size_t i = 0; i < sizeof(bytes); i++)
                bytes[i] = (uint8_t)(i * 7 + i / 256);
        CHECK_EQ(pipe(tubes), 0);
        int     from_to[2] = { tubes[0], fds[0] };
        int64_t copier = sched_go(copy_all, from_to), writer = sched_go(write_and_close, &tubes[1]);

        CHECK_EQ(weft_read_full(fds[1], got, sizeof(got)), sizeof(bytes));
        CHECK_EQ(memcmp(got, bytes, sizeof(bytes)), 0);
        sched_join(copier);
        sched_join(writer);
        net_close(fds[1]);
        net_close(listener);
}

/* ---- Many ------------------------------------------------------------------------------------ */

static char many_where[NET_TEXT];

static void dial_and_echo(void *arg)
{
        int fd = weft_dial("tcp", many_where);

        (void)arg;
        CHECK_MSG(fd >= 0, "dial: %d", fd);
        for (int i = 0; i < 3; i++)
                expect_echo(fd, (char)fd);
        net_close(fd);
}

static void accept_until_closed(void *arg)
{
        int fd;

        while ((fd = weft_accept(*(int *)arg)) >= 0)
                (void)sched_go(serve, (void *)(intptr_t)fd);
        CHECK(fd == -EBADF || fd == -ENOTSOCK);         /* the number may be a file's by now */
}

static void many_main(void *arg)
{
        int     listener = net_listen("tcp", "127.0.0.1:0", many_where);
        int64_t id = sched_go(accept_until_closed, &listener);

        (void)arg;
        sync_together((uint32_t)test_scale(500), dial_and_echo, NULL);
        net_close(listener);
        sched_join(id);
}

/* A thousand descriptors at once. */
TEST(many_connections_echo_at_the_same_time)
{
        struct rlimit lim;

        CHECK_EQ(getrlimit(RLIMIT_NOFILE, &lim), 0);
        lim.rlim_cur = lim.rlim_max < 4096 ? lim.rlim_max : 4096;
        CHECK_EQ(setrlimit(RLIMIT_NOFILE, &lim), 0);
        sched_run(many_main, NULL);
}

/* ---- Packets --------------------------------------------------------------------------------- */

static void packets_over(const char *net, const char *addr)
{
        char where[NET_TEXT], got[8];
        int  receiver = net_listen(net, addr, where);
        int  sender = weft_dial(net, where);

        CHECK_MSG(sender >= 0, "dial %s %s: %d", net, where, sender);
        check_flags(receiver, false);
        check_flags(sender, false);
        CHECK_EQ(weft_write(sender, "one", 3), 3);
        CHECK_EQ(weft_write(sender, "three", 5), 5);
        CHECK_EQ(weft_read(receiver, got, sizeof(got)), 3);     /* packets keep their bounds */
        CHECK_EQ(memcmp(got, "one", 3), 0);
        CHECK_EQ(weft_read(receiver, got, sizeof(got)), 5);
        net_close(sender);
        net_close(receiver);
}

GO_TEST(packets_go_over_every_network)
{
        char path[NET_TEXT], abstract[NET_TEXT];

        net_path(path, "packets");
        snprintf(abstract, sizeof(abstract), "@weft-packets-%ld", (long)getpid());
        packets_over("udp", "127.0.0.1:0");
        packets_over("udp4", ":0");
        packets_over("unixgram", path);
        CHECK(!net_exists(path));
        packets_over("unixgram", abstract);
        if (!net_has_ip6())
                return;
        packets_over("udp", ":0");
        packets_over("udp6", "[::1]:0");
}

/* ---- Threads of the program ------------------------------------------------------------------ */

static void thread_accepts(void *arg)
{
        int fd = weft_accept(*(int *)arg);

        CHECK_MSG(fd >= 0, "accept: %d", fd);
        serve((void *)(intptr_t)fd);
}

GO_TEST(foreign_threads_accept_and_dial)
{
        struct sync_thread threads[2];
        int                listener = net_listen("tcp", "127.0.0.1:0", many_where);

        sync_thread_start(&threads[0], thread_accepts, &listener);
        dial_and_echo(NULL);
        sync_thread_join(&threads[0]);
        int64_t id = sched_go(thread_accepts, &listener);

        sync_thread_start(&threads[1], dial_and_echo, NULL);
        sched_join(id);
        sync_thread_join(&threads[1]);
        net_close(listener);
}

/* ---- The other end is gone ------------------------------------------------------------------- */

/* SIGPIPE would end the test. */
GO_TEST(writing_without_a_reader_is_an_error_and_no_signal)
{
        char    where[NET_TEXT];
        int     listener = net_listen("tcp", "127.0.0.1:0", where), fd = weft_dial("tcp", where);
        ssize_t rc = 0;

        CHECK(fd >= 0);
        net_close(weft_accept(listener));
        for (int i = 0; i < 1000 && rc >= 0; i++) {
                rc = weft_write(fd, "x", 1);
                CHECK_EQ(weft_sleep(100000), 0);
        }
        CHECK_MSG(rc == -EPIPE || rc == -ECONNRESET, "write: %ld", (long)rc);
        CHECK_EQ(weft_write(fd, "x", 1), -EPIPE);
        net_close(fd);
        net_close(listener);
}

TEST(without_a_runtime_there_are_no_sockets)
{
        CHECK_EQ(weft_listen("tcp", ":0"), -ESHUTDOWN);
        CHECK_EQ(weft_listen_packet("udp", ":0"), -ESHUTDOWN);
        CHECK_EQ(weft_dial("tcp", "127.0.0.1:1"), -ESHUTDOWN);
        CHECK_EQ(weft_accept(0), -ESHUTDOWN);
}
