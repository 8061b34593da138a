/* tests/flow/chan/test_select_fd.c - descriptors among the cases of a select.
 *
 * test: procs=1,2,4
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/sync.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void make_pipe(int fds[2])
{
        CHECK_EQ(pipe(fds), 0);
}

static void close_both(const int fds[2])
{
        CHECK_EQ(weft_close(fds[0]), 0);
        CHECK_EQ(weft_close(fds[1]), 0);
}

static int result_of_one(weft_case one)
{
        weft_case cs[] = { one, WEFT_DEFAULT };
        int       i = weft_select(cs, 2);

        return i == 0 ? cs[0].result : 0;
}

/* ---- At once --------------------------------------------------------------------------------- */

static void ready_main(void *arg)
{
        int  fds[2];
        char c;
        int  file = open("/proc/self/exe", O_RDONLY);
        weft_case made;

        (void)arg;
        make_pipe(fds);
        CHECK_EQ(result_of_one(WEFT_READABLE(fds[0])), 0);
        CHECK_EQ(result_of_one(WEFT_WRITABLE(fds[1])), POLLOUT);
        CHECK_EQ(weft_write(fds[1], "x", 1), 1);
        CHECK_EQ(result_of_one(WEFT_READABLE(fds[0])), POLLIN);
        weft_case_readable(&made, fds[0]);
        CHECK_EQ(result_of_one(made), POLLIN);          /* it is still there */
        weft_case_writable(&made, fds[1]);
        CHECK_EQ(result_of_one(made), POLLOUT);
        CHECK_EQ(weft_read(fds[0], &c, 1), 1);
        CHECK_EQ(weft_close(fds[1]), 0);
        CHECK_EQ(result_of_one(WEFT_READABLE(fds[0])), POLLHUP);
        CHECK_EQ(weft_close(fds[0]), 0);
        CHECK_EQ(result_of_one(WEFT_READABLE(fds[0])), -EBADF);
        CHECK_EQ(result_of_one(WEFT_WRITABLE(-1)), -EBADF);
        CHECK_EQ(result_of_one(WEFT_READABLE(INT64_MAX)), -EBADF);
        CHECK_EQ(result_of_one(WEFT_READABLE(file)), POLLIN);
        CHECK_EQ(result_of_one(WEFT_WRITABLE(file)), POLLOUT);
        CHECK_EQ(weft_close(file), 0);
}

TEST(what_is_ready_is_found_at_once)
{
        sched_run(ready_main, NULL);
}

/* ---- Waiting --------------------------------------------------------------------------------- */

struct watched {
        weft_case cs[3];
        size_t    n;
        int       i, result;
};

static void watch(void *arg)
{
        struct watched *w = arg;

        w->i = weft_select(w->cs, w->n);
        w->result = w->i >= 0 ? w->cs[w->i].result : 0;
}

GO_TEST(the_first_that_happens_ends_the_wait)
{
        int            fds[2], others[2], value = 0, sent = 5;
        weft_chan     *c = weft_chan_new(sizeof(int), 0);
        struct watched w = { .n = 3 };

        make_pipe(fds);
        make_pipe(others);
        for (int round = 0; round < 3; round++) {
                w.cs[0] = WEFT_READABLE(fds[0]);
                w.cs[1] = WEFT_RECV(c, &value);
                w.cs[2] = WEFT_READABLE(others[0]);
                int64_t id = sync_go_waiting(watch, &w);

                if (round == 1)
                        CHECK_EQ(weft_chan_send(c, &sent), 0);
                else
                        CHECK_EQ(weft_write(round ? others[1] : fds[1], "x", 1), 1);
                sched_join(id);
                CHECK_EQ(w.i, round);
                CHECK_EQ(w.result, round == 1 ? 0 : POLLIN);
                if (round == 0)
                        CHECK_EQ(weft_read(fds[0], &value, 1), 1);
        }
        weft_chan_unref(c);
        close_both(fds);
        close_both(others);
}

GO_TEST(a_close_ends_the_wait)
{
        int            fds[2];
        struct watched w = { .cs = { WEFT_AFTER(WEFT_SEC(100)) }, .n = 3 };

        make_pipe(fds);
        sync_renumber(&fds[0], SYNC_PRIVATE_NUMBER);
        w.cs[1] = w.cs[2] = WEFT_READABLE(fds[0]);
        int64_t id = sync_go_waiting(watch, &w);

        CHECK_EQ(weft_close(fds[0]), 0);
        sched_join(id);
        CHECK(w.i == 1 || w.i == 2);
        CHECK_EQ(w.result, -EBADF);
        CHECK_EQ(fcntl(fds[0], F_GETFD), -1);
        CHECK_EQ(weft_close(fds[1]), 0);
}

static void time_main(void *arg)
{
        int        fds[2];
        weft_case  cs[2];
        weft_scope s;

        (void)arg;
        make_pipe(fds);
        cs[0] = WEFT_READABLE(fds[0]);
        cs[1] = WEFT_AFTER(WEFT_MS(2));
        int64_t begin = weft_now();

        CHECK_EQ(weft_select(cs, 2), 1);
        CHECK(weft_now() - begin >= WEFT_MS(2));
        CHECK_EQ(weft_scope_open(&s, WEFT_MS(2)), 0);
        CHECK_EQ(weft_select(cs, 1), -ETIMEDOUT);
        CHECK_EQ(weft_scope_close(&s), 0);
        CHECK_EQ(weft_write(fds[1], "x", 1), 1);
        CHECK_EQ(weft_select(cs, 2), 0);                /* the array can be used again */
        CHECK_EQ(cs[0].result, POLLIN);
        close_both(fds);
}

TEST(deadlines_end_the_wait)
{
        sched_run(time_main, NULL);
}

TEST(a_thread_selects_on_descriptors)
{
        struct sync_thread t;

        CHECK_EQ(weft_start(NULL), 0);
        sync_thread_start(&t, ready_main, NULL);
        sync_thread_join(&t);
        sync_thread_start(&t, time_main, NULL);
        sync_thread_join(&t);
        CHECK_EQ(weft_stop(), 0);
        CHECK_EQ(weft_threads_left(), 0);
}

GO_TEST(both_directions_of_one_socket)
{
        int            fds[2];
        char           big[4096] = { 0 };
        struct watched w = { .n = 2 };

        CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
        while (write(fds[0], big, sizeof(big)) > 0)
                continue;
        w.cs[0] = WEFT_READABLE(fds[0]);
        w.cs[1] = WEFT_WRITABLE(fds[0]);
        int64_t id = sync_go_waiting(watch, &w);

        CHECK_EQ(weft_write(fds[1], "x", 1), 1);
        sched_join(id);
        CHECK_EQ(w.i, 0);
        CHECK_EQ(weft_read(fds[0], big, 1), 1);
        id = sync_go_waiting(watch, &w);
        while (read(fds[1], big, sizeof(big)) > 0)
                continue;
        sched_join(id);
        CHECK_EQ(w.i, 1);
        CHECK_EQ(w.result, POLLOUT);
        close_both(fds);
}

static void left_main(void *arg)
{
        static struct watched w;

        w = (struct watched){ .cs = { WEFT_READABLE(*(int *)arg) }, .n = 1 };
        (void)sync_go_waiting(watch, &w);
}

TEST(a_run_ends_while_a_goroutine_selects)
{
        int fds[2];

        make_pipe(fds);
        for (int i = 0; i < 3; i++)
                sched_run(left_main, &fds[0]);
        close_both(fds);
}

/* ---- Chance ---------------------------------------------------------------------------------- */

GO_TEST(each_ready_descriptor_is_as_likely)
{
        enum { N = 3000 };
        int        fds[2], value, counts[3] = { 0 };
        weft_chan *c = weft_chan_new(sizeof(int), 1);

        make_pipe(fds);
        CHECK_EQ(weft_write(fds[1], "x", 1), 1);
        CHECK_EQ(weft_chan_close(c), 0);
        weft_case cs[] = { WEFT_READABLE(fds[0]), WEFT_RECV(c, &value), WEFT_WRITABLE(fds[1]) };

        for (int i = 0; i < N; i++)
                counts[weft_select(cs, 3)]++;
        for (int i = 0; i < 3; i++)     /* 1,000 each; five deviations are 130 */
                CHECK_MSG(counts[i] > 850 && counts[i] < 1150, "case %d: %d times", i, counts[i]);
        weft_chan_unref(c);
        close_both(fds);
}

/* ---- A server in one select ------------------------------------------------------------------ */

enum { N_LINES = 8, N_BYTES = 200 };

static struct {
        int        fds[N_LINES][2];
        weft_chan *done;
} server;

static void feed(void *arg)
{
        int line = (int)(uintptr_t)arg;

        for (int i = 0; i < N_BYTES; i++) {
                CHECK_EQ(weft_write(server.fds[line][1], "x", 1), 1);
                if (i % 7 == 0)
                        weft_yield();
        }
        CHECK_EQ(weft_chan_send(server.done, &line), 0);
}

GO_TEST(one_select_serves_many)
{
        weft_case cs[N_LINES + 1];
        int       n_bytes = 0, n_done = 0, line;
        int64_t   ids[N_LINES];
        char      buf[3];

        server.done = weft_chan_new(sizeof(int), 0);
        for (uintptr_t i = 0; i < N_LINES; i++) {
                make_pipe(server.fds[i]);
                cs[i] = WEFT_READABLE(server.fds[i][0]);
                ids[i] = sched_go(feed, (void *)i);
        }
        cs[N_LINES] = WEFT_RECV(server.done, &line);
        while (n_done < N_LINES || n_bytes < N_LINES * N_BYTES) {
                int i = weft_select(cs, N_LINES + 1);

                CHECK_MSG(i >= 0 && i <= N_LINES, "select: %d", i);
                if (i == N_LINES)
                        n_done++;
                else
                        n_bytes += (int)weft_read(server.fds[i][0], buf, sizeof(buf));
        }
        for (int i = 0; i < N_LINES; i++) {
                sched_join(ids[i]);
                close_both(server.fds[i]);
        }
        weft_chan_unref(server.done);
}
