/* tests/flow/net/test_edge_triggered.c - edge-triggered sockets, which are registered once with the
 * poller: what is known to go wrong with them.
 *
 * test: procs=1,2,4
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/edge.h"

#include <poll.h>
#include <string.h>

/* ---- Bytes ----------------------------------------------------------------------------------- */

struct stream {
        int      fds[2];
        uint32_t n;
};

static void write_counted(void *arg)
{
        const struct stream *s = arg;
        uint8_t              buf[50000];

        for (uint32_t sent = 0; sent < s->n;) {
                size_t n = 1 + sent % sizeof(buf);

                n = n < s->n - sent ? n : s->n - sent;
                for (size_t i = 0; i < n; i++)
                        buf[i] = (uint8_t)(sent + i);
                ssize_t done = weft_write(s->fds[1], buf, n);

                CHECK_MSG(done > 0 && (size_t)done <= n, "write returned %zd", done);
                sent += (uint32_t)done;
        }
        CHECK_EQ(shutdown(s->fds[1], SHUT_WR), 0);
}

static void read_counted(void *arg)
{
        const struct stream *s = arg;
        uint8_t              buf[30000];
        uint32_t             n = 0;

        for (;;) {
                ssize_t got = weft_read(s->fds[0], buf, 1 + n % sizeof(buf));

                CHECK_MSG(got >= 0, "read returned %zd", got);
                if (got == 0)
                        break;
                for (ssize_t i = 0; i < got; i++, n++)
                        CHECK_EQ(buf[i], (uint8_t)n);
        }
        CHECK_EQ(n, s->n);
        CHECK_EQ(weft_read(s->fds[0], buf, 1), 0);
}

static void bytes_main(void *arg)
{
        struct stream s = { .n = (uint32_t)test_scale(4000000) };

        (*(void (**)(int[2]))arg)(s.fds);
        edge_both(s.fds);
        int64_t reader = sched_go(read_counted, &s), writer = sched_go(write_counted, &s);

        sched_join(writer);
        sched_join(reader);
        edge_close(s.fds);
}

TEST(bytes_go_through_tcp)
{
        void (*make)(int[2]) = edge_tcp_pair;

        sched_run(bytes_main, &make);
}

TEST(bytes_go_through_a_unix_socket)
{
        void (*make)(int[2]) = edge_unix_pair;

        sched_run(bytes_main, &make);
}

/* ---- One event for several changes ----------------------------------------------------------- */

static void expect_end(void *arg)
{
        char buf[100];

        CHECK_EQ(weft_read(*(int *)arg, buf, sizeof(buf)), 5);
        CHECK_EQ(weft_read(*(int *)arg, buf, sizeof(buf)), 0);
        CHECK_EQ(weft_read(*(int *)arg, buf, sizeof(buf)), 0);
}

/* With a cork the last bytes and the FIN are one segment. */
GO_TEST(bytes_and_the_end_in_one_segment)
{
        int one = 1;

        for (int i = 0; i < 100; i++) {
                int fds[2];

                edge_tcp_pair(fds);
                edge_both(fds);
                int64_t id = sync_go_waiting(expect_end, &fds[0]);

                CHECK_EQ(setsockopt(fds[1], IPPROTO_TCP, TCP_CORK, &one, sizeof(one)), 0);
                CHECK_EQ(weft_write(fds[1], "bytes", 5), 5);
                CHECK_EQ(shutdown(fds[1], SHUT_WR), 0);
                sched_join(id);
                edge_close(fds);
        }
}

static void expect_all(void *arg)
{
        char buf[100];

        for (int n = 0; n < 6;) {
                ssize_t got = weft_read(*(int *)arg, buf, sizeof(buf));

                CHECK_MSG(got > 0, "read returned %zd after %d bytes", got, n);
                n += (int)got;
        }
}

/* A read stops at the urgent byte, and the bytes after it have come with it. */
GO_TEST(bytes_after_an_urgent_byte_are_read)
{
        for (int i = 0; i < 100; i++) {
                int fds[2], one = 1;

                edge_tcp_pair(fds);
                CHECK_EQ(setsockopt(fds[0], SOL_SOCKET, SO_OOBINLINE, &one, sizeof(one)), 0);
                edge_both(fds);
                CHECK_EQ(send(fds[1], "abc", 3, MSG_OOB), 3);
                CHECK_EQ(send(fds[1], "def", 3, 0), 3);
                expect_all(&fds[0]);
                int64_t id = sync_go_waiting(expect_all, &fds[0]);

                CHECK_EQ(send(fds[1], "abc", 3, MSG_OOB), 3);
                CHECK_EQ(send(fds[1], "def", 3, 0), 3);
                sched_join(id);
                edge_close(fds);
        }
}

static w_atomic_u32 n_read;

static void read_bytes(void *arg)
{
        char c;

        while (weft_read(*(int *)arg, &c, 1) == 1)
                w_add_rlx(&n_read, 1);
}

/* Each of them takes less than there is: the poller reports once only. */
static void readers_main(void *arg)
{
        enum { N = 10, BYTES = 1000 };
        int     fds[2];
        int64_t ids[N];
        char    bytes[7] = { 0 };

        (*(void (**)(int[2]))arg)(fds);
        edge_both(fds);
        for (int i = 0; i < N; i++)
                ids[i] = i % 2 ? sync_go_waiting(read_bytes, &fds[0])
                               : sched_go(read_bytes, &fds[0]);
        uint32_t sent = 0;

        while (sent < BYTES) {
                ssize_t done = weft_write(fds[1], bytes, 1 + sent % sizeof(bytes));

                CHECK(done > 0);
                sent += (uint32_t)done;
                if (sent % 3 == 0)
                        weft_yield();
        }
        CHECK_EQ(shutdown(fds[1], SHUT_WR), 0);
        for (int i = 0; i < N; i++)
                sched_join(ids[i]);
        CHECK_EQ(w_load_rlx(&n_read), sent);
        edge_close(fds);
}

TEST(many_read_one_tcp_socket)
{
        void (*make)(int[2]) = edge_tcp_pair;

        sched_run(readers_main, &make);
}

TEST(many_read_one_unix_socket)
{
        void (*make)(int[2]) = edge_unix_pair;

        sched_run(readers_main, &make);
}

static void fill(void *arg)
{
        static const char zeros[1 << 16];

        for (size_t sent = 0; sent < 4 * sizeof(zeros);) {
                ssize_t done = weft_write(*(int *)arg, zeros, sizeof(zeros));

                CHECK(done > 0);
                sent += (size_t)done;
        }
}

static void drain(void *arg)
{
        static char buf[20000];

        for (ssize_t got; (got = weft_read(*(int *)arg, buf, sizeof(buf))) != 0;)
                CHECK(got > 0);
}

static void writers_main(void *arg)
{
        int     fds[2];
        int64_t ids[8];

        (*(void (**)(int[2]))arg)(fds);
        edge_both(fds);
        for (int i = 0; i < 8; i++)
                ids[i] = sched_go(fill, &fds[1]);
        int64_t reader = sched_go(drain, &fds[0]);

        for (int i = 0; i < 8; i++)
                sched_join(ids[i]);
        CHECK_EQ(shutdown(fds[1], SHUT_WR), 0);
        sched_join(reader);
        edge_close(fds);
}

TEST(many_write_to_one_tcp_socket)
{
        void (*make)(int[2]) = edge_tcp_pair;

        sched_run(writers_main, &make);
}

TEST(many_write_to_one_unix_socket)
{
        void (*make)(int[2]) = edge_unix_pair;

        sched_run(writers_main, &make);
}

/* ---- Observers ------------------------------------------------------------------------------- */

static void know_in(void *arg)
{
        CHECK_EQ(weft_fd_wait(*(int *)arg, POLLIN), POLLIN);
}

static void know_urgent(void *arg)
{
        CHECK_EQ(weft_fd_wait(*(int *)arg, POLLPRI), POLLPRI);
}

static void know_end(void *arg)
{
        CHECK_EQ(weft_fd_wait(*(int *)arg, POLLRDHUP), POLLRDHUP);
}

GO_TEST(observers_see_every_event)
{
        int     fds[2];
        int64_t ids[4];
        char    c;

        edge_tcp_pair(fds);
        edge_both(fds);
        CHECK_EQ(weft_fd_wait(fds[0], POLLIN | POLLOUT), POLLOUT);
        for (int i = 0; i < 2; i++)
                ids[i] = sync_go_waiting(know_in, &fds[0]);
        ids[2] = sync_go_waiting(know_urgent, &fds[0]);
        ids[3] = sync_go_waiting(know_end, &fds[0]);
        CHECK_EQ(weft_write(fds[1], "x", 1), 1);
        for (int i = 0; i < 2; i++)
                sched_join(ids[i]);
        CHECK_EQ(weft_fd_wait(fds[0], POLLIN), POLLIN);
        CHECK_EQ(weft_read(fds[0], &c, 1), 1);
        CHECK_EQ(send(fds[1], "y", 1, MSG_OOB), 1);
        sched_join(ids[2]);
        CHECK_EQ(shutdown(fds[1], SHUT_WR), 0);
        sched_join(ids[3]);
        edge_close(fds);
}

/* ---- Ends ------------------------------------------------------------------------------------ */

static void expect_ebadf(void *arg)
{
        char c;

        CHECK_EQ(weft_read(*(int *)arg, &c, 1), -EBADF);
}

static void expect_ebadf_in_scope(void *arg)
{
        weft_scope s;

        CHECK_EQ(weft_scope_open(&s, WEFT_FOREVER), 0);
        expect_ebadf(arg);
        CHECK_EQ(weft_scope_close(&s), 0);
}

static void expect_ebadf_knowing(void *arg)
{
        CHECK_EQ(weft_fd_wait(*(int *)arg, POLLIN), -EBADF);
}

/* Alone; in the queue; and observers. */
GO_TEST(close_ends_all_waits)
{
        static void (*const who[])(void *) = { expect_ebadf, expect_ebadf_in_scope,
                                               expect_ebadf_knowing };
        int     fds[2];
        int64_t ids[3];

        for (int n = 1; n <= 3; n++) {
                edge_tcp_pair(fds);
                sync_renumber(&fds[0], SYNC_PRIVATE_NUMBER);
                edge_both(fds);
                for (int i = 0; i < n; i++)
                        ids[i] = sync_go_waiting(who[(n + i) % 3], &fds[0]);
                CHECK_EQ(weft_close(fds[0]), 0);
                for (int i = 0; i < n; i++)
                        sched_join(ids[i]);
                CHECK_EQ(weft_close(fds[0]), -EBADF);
                CHECK_EQ(weft_close(fds[1]), 0);
        }
}

static void read_n(void *arg)
{
        char c = 0;

        CHECK_EQ(weft_read(*(const int *)arg, &c, 1), 1);
        CHECK_EQ(c, 'n');
}

/* Another number leads to the closed file, and things happen there. */
GO_TEST(events_of_a_closed_socket_that_lives_on_are_ignored)
{
        for (int i = 0; i < 50; i++) {
                int  old[2], fresh[2], keep;
                char c;

                edge_unix_pair(old);
                sync_renumber(&old[0], SYNC_PRIVATE_NUMBER);
                edge_both(old);
                keep = dup(old[0]);
                CHECK_EQ(weft_close(old[0]), 0);
                edge_unix_pair(fresh);
                sync_renumber(&fresh[0], SYNC_PRIVATE_NUMBER);
                edge_both(fresh);
                int64_t id = sync_go_waiting(read_n, &fresh[0]);

                CHECK_EQ(weft_write(old[1], "o", 1), 1);
                weft_yield();
                CHECK_EQ(weft_write(fresh[1], "n", 1), 1);
                sched_join(id);
                CHECK_EQ(weft_read(keep, &c, 1), 1);
                CHECK_EQ(c, 'o');
                CHECK_EQ(weft_close(keep), 0);
                edge_close(fresh);
                CHECK_EQ(weft_close(old[1]), 0);
        }
}

static void use(int fds[2])
{
        int64_t id = sync_go_waiting(read_n, &fds[0]);

        CHECK_EQ(weft_write(fds[1], "n", 1), 1);
        sched_join(id);
}

/* Other code closes what weft made: the waiters are woken once weft makes that number again. */
static void misuse_main(void *arg)
{
        int old[2], fresh[2];

        (void)arg;
        edge_unix_pair(old);
        sync_renumber(&old[0], SYNC_PRIVATE_NUMBER);
        edge_both(old);
        int64_t first = sync_go_waiting(expect_ebadf, &old[0]);
        int64_t second = sync_go_waiting(expect_ebadf_in_scope, &old[0]);

        CHECK_EQ(weft_sleep(WEFT_MS(20)), 0);   /* a trier woken in vain just then reads anew */
        sched_await_parked(first);
        sched_await_parked(second);
        CHECK_EQ(close(old[0]), 0);
        edge_unix_pair(fresh);
        sync_renumber(&fresh[0], SYNC_PRIVATE_NUMBER);
        edge_both(fresh);
        sched_join(first);
        sched_join(second);
        use(fresh);
        edge_close(fresh);
        CHECK_EQ(weft_close(old[1]), 0);
}

TEST(others_close_and_weft_makes_the_number_again) { sched_run(misuse_main, NULL); }

/* A goroutine waits under that number before weft knows the file. */
static void early_main(void *arg)
{
        int fds[2];

        (void)arg;
        edge_unix_pair(fds);
        int64_t id = sync_go_waiting(expect_ebadf_knowing, &fds[0]);

        edge_both(fds);
        sched_join(id);
        use(fds);
        edge_close(fds);
}

TEST(a_wait_before_the_file_is_made_does_no_harm) { sched_run(early_main, NULL); }

GO_TEST(files_that_cannot_be_watched_are_refused)
{
        FILE *file = tmpfile();

        CHECK(file);
        CHECK_EQ(edge_made(fileno(file)), -EPERM);
        CHECK_EQ(weft_fd_wait(fileno(file), POLLIN), POLLIN);
        fclose(file);
        CHECK_EQ(edge_made(1 << 20), -EBADF);
}

/* A descriptor outlives the run in which it was made, and is foreign in the next run. */
static void across_main(void *arg)
{
        int *fds = arg;

        if (fds[2]++ == 0)
                edge_both(fds);
        use(fds);
}

TEST(a_descriptor_outlives_its_run)
{
        int fds[3] = { 0 };

        edge_unix_pair(fds);
        for (int i = 0; i < 3; i++)
                sched_run(across_main, fds);
        CHECK_EQ(close(fds[0]), 0);
        CHECK_EQ(close(fds[1]), 0);
}
