/* tests/flow/net/test_pipe.c - reading, writing and closing foreign pipes and sockets.
 *
 * test: procs=1,2,4 libs=util
 * The library is for openpty.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/nowait.h"
#include "lib/sync.h"

#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

struct ends {
        int      fds[2];
        uint32_t n;
        int      flags;         /* of fds[0]: weft must leave them as they are */
};

static void make_pipe(int fds[2])
{
        CHECK_EQ(pipe(fds), 0);
}

static void close_both(const int fds[2])
{
        CHECK_EQ(weft_close(fds[0]), 0);
        CHECK_EQ(weft_close(fds[1]), 0);
}

/* ---- Bytes ----------------------------------------------------------------------------------- */

/* 0, 1, 2, ... in pieces of many sizes. */
static void write_counted(void *arg)
{
        const struct ends *e = arg;
        uint8_t            buf[5000];

        for (uint32_t sent = 0; sent < e->n;) {
                size_t n = 1 + sent % sizeof(buf);

                n = n < e->n - sent ? n : e->n - sent;
                for (size_t i = 0; i < n; i++)
                        buf[i] = (uint8_t)(sent + i);
                ssize_t done = weft_write(e->fds[1], buf, n);

                CHECK_MSG(done > 0 && (size_t)done <= n, "write returned %zd", done);
                sent += (uint32_t)done;
        }
        CHECK_EQ(weft_close(e->fds[1]), 0);
}

static void read_counted(void *arg)
{
        const struct ends *e = arg;
        uint8_t            buf[3000];
        uint32_t           n = 0;

        for (;;) {
                ssize_t got = weft_read(e->fds[0], buf, 1 + n % sizeof(buf));

                CHECK_MSG(got >= 0, "read returned %zd", got);
                if (got == 0)
                        break;
                for (ssize_t i = 0; i < got; i++, n++)
                        CHECK_EQ(buf[i], (uint8_t)n);
        }
        CHECK_EQ(n, e->n);
        CHECK_EQ(weft_read(e->fds[0], buf, 1), 0);
        CHECK_EQ(fcntl(e->fds[0], F_GETFL), e->flags);
        CHECK_EQ(weft_close(e->fds[0]), 0);
}

static void transfer(struct ends *e)
{
        e->flags = fcntl(e->fds[0], F_GETFL);
        CHECK_EQ(e->flags & O_NONBLOCK, 0);
        int64_t reader = sched_go(read_counted, e), writer = sched_go(write_counted, e);

        sched_join(writer);
        sched_join(reader);
}

GO_TEST(bytes_go_through_a_pipe_that_would_block)
{
        struct ends e = { .n = (uint32_t)test_scale(400000) };

        make_pipe(e.fds);
        transfer(&e);
}

GO_TEST(bytes_go_through_a_socket)
{
        struct ends e = { .n = (uint32_t)test_scale(400000) };

        CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, e.fds), 0);
        transfer(&e);
}

GO_TEST(threads_read_and_write_too)
{
        struct ends        e = { .n = (uint32_t)test_scale(100000) };
        struct sync_thread reader;

        make_pipe(e.fds);
        e.flags = fcntl(e.fds[0], F_GETFL);
        sync_thread_start(&reader, read_counted, &e);
        sched_join(sched_go(write_counted, &e));
        sync_thread_join(&reader);
        make_pipe(e.fds);
        struct sync_thread writer;
        int64_t            id = sched_go(read_counted, &e);

        sync_thread_start(&writer, write_counted, &e);
        sched_join(id);
        sync_thread_join(&writer);
}

/* ---- Many ------------------------------------------------------------------------------------ */

static w_atomic_u32 n_waiting, n_read;

static void read_one(void *arg)
{
        int      fd = *(int *)arg;
        uint32_t value = 0;

        w_add_rlx(&n_waiting, 1);
        CHECK_EQ(weft_read(fd, &value, sizeof(value)), sizeof(value));
        CHECK_EQ(value, fd);
        w_add_rlx(&n_read, 1);
}

enum { N_MANY = 10000 };

/* As many pipes as there are goroutines, or as the limit allows: then several read each. */
static uint32_t n_pipes(uint32_t n)
{
        struct rlimit limit;

        CHECK_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
        limit.rlim_cur = limit.rlim_max;
        CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
        uint32_t most = limit.rlim_max > 100000 ? 50000 : (uint32_t)limit.rlim_max / 2 - 50;

        return n < most ? n : most;
}

static void many_main(void *arg)
{
        uint32_t n = sched_scale(N_MANY), n_fds = n_pipes(n);
        int    (*fds)[2] = calloc(n_fds, sizeof(*fds));
        int64_t *ids = calloc(n, sizeof(*ids));

        (void)arg;
        for (uint32_t i = 0; i < n_fds; i++)
                make_pipe(fds[i]);
        for (uint32_t i = 0; i < n; i++)
                ids[i] = sched_go(read_one, &fds[i % n_fds][0]);
        while (w_load_rlx(&n_waiting) < n)
                weft_yield();
        for (uint32_t i = 0; i < n; i++) {
                const int *pair = fds[i * 7919u % n % n_fds];

                CHECK_EQ(weft_write(pair[1], &pair[0], sizeof(int)), sizeof(int));
        }
        for (uint32_t i = 0; i < n; i++)
                sched_join(ids[i]);
        CHECK_EQ(w_load_rlx(&n_read), n);
        for (uint32_t i = 0; i < n_fds; i++)
                close_both(fds[i]);
        free(ids);
        free(fds);
}

TEST(ten_thousand_wait_for_pipes_on_fifty_threads)
{
        weft_config cfg = { .max_threads = 50 };

        test_set_dump(sched_dump);
        CHECK_EQ(sched_run_left(&cfg, many_main, NULL), 0);
}

static void read_bytes(void *arg)
{
        char c;

        while (weft_read(*(int *)arg, &c, 1) == 1)
                w_add_rlx(&n_read, 1);
}

/* Each byte wakes one of them; none is left in the pipe, each of them returns. */
GO_TEST(many_read_one_pipe)
{
        enum { N = 20, BYTES = 1000 };
        int     fds[2];
        int64_t ids[N];
        char    bytes[7] = { 0 };

        make_pipe(fds);
        w_store_rlx(&n_read, 0);
        for (int i = 0; i < N; i++)
                ids[i] = sync_go_waiting(read_bytes, &fds[0]);
        for (int sent = 0; sent < BYTES;) {
                size_t  n = sizeof(bytes) < (size_t)(BYTES - sent) ? sizeof(bytes)
                                                                   : (size_t)(BYTES - sent);
                ssize_t done = weft_write(fds[1], bytes, n);

                CHECK(done > 0);
                sent += (int)done;
                if (sent % 3 == 0)
                        weft_yield();
        }
        CHECK_EQ(weft_close(fds[1]), 0);
        for (int i = 0; i < N; i++)
                sched_join(ids[i]);
        CHECK_EQ(w_load_rlx(&n_read), BYTES);
        CHECK_EQ(weft_close(fds[0]), 0);
}

/* ---- Ends ------------------------------------------------------------------------------------ */

static void expect_ebadf(void *arg)
{
        char c;

        CHECK_EQ(weft_read(*(int *)arg, &c, 1), -EBADF);
}

GO_TEST(close_ends_the_waits_and_frees_the_number)
{
        int     fds[2];
        int64_t ids[3];

        make_pipe(fds);
        sync_renumber(&fds[0], SYNC_PRIVATE_NUMBER);
        for (int i = 0; i < 3; i++)
                ids[i] = sync_go_waiting(expect_ebadf, &fds[0]);
        CHECK_EQ(weft_close(fds[0]), 0);
        for (int i = 0; i < 3; i++)
                sched_join(ids[i]);
        CHECK_EQ(fcntl(fds[0], F_GETFD), -1);
        CHECK_EQ(weft_close(fds[0]), -EBADF);
        CHECK_EQ(weft_write(fds[1], "x", 1), -EPIPE);
        CHECK_EQ(weft_close(fds[1]), 0);
}

/* The number belongs to another file, and other code has closed the old file. A waiter for the old
 * file is woken as soon as a goroutine waits for the new file, and never sees its bytes. */
GO_TEST(a_number_that_others_use_again_is_another_file)
{
        int  old[2], fresh[2], keep;
        char c;

        make_pipe(old);
        sync_renumber(&old[0], SYNC_PRIVATE_NUMBER);
        keep = dup(old[0]);             /* the kernel continues to report it */
        int64_t id = sync_go_waiting(expect_ebadf, &old[0]);

        CHECK_EQ(close(old[0]), 0);
        make_pipe(fresh);
        sync_renumber(&fresh[0], SYNC_PRIVATE_NUMBER);
        w_store_rlx(&n_read, 0);
        int64_t reader = sync_go_waiting(read_bytes, &fresh[0]);

        sched_join(id);
        CHECK_EQ(weft_write(old[1], "old", 3), 3);
        CHECK_EQ(weft_sleep(WEFT_MS(1)), 0);
        CHECK_EQ(w_load_rlx(&n_read), 0);
        CHECK_EQ(weft_write(fresh[1], "new", 3), 3);
        CHECK_EQ(weft_close(fresh[1]), 0);
        sched_join(reader);
        CHECK_EQ(w_load_rlx(&n_read), 3);
        CHECK_EQ(weft_read(keep, &c, 1), 1);
        CHECK_EQ(c, 'o');
        CHECK_EQ(weft_close(keep), 0);
        CHECK_EQ(weft_close(fresh[0]), 0);
        CHECK_EQ(weft_close(old[1]), 0);
}

static int read_in_scope(int fd, int64_t timeout)
{
        weft_scope s;
        char       c;

        CHECK_EQ(weft_scope_open(&s, timeout), 0);
        int rc = (int)weft_read(fd, &c, 1);

        CHECK_EQ(weft_scope_close(&s), 0);
        return rc;
}

static void cancel_main(void *arg)
{
        int fds[2];

        (void)arg;
        make_pipe(fds);
        CHECK_EQ(read_in_scope(fds[0], WEFT_MS(2)), -ETIMEDOUT);
        CHECK_EQ(read_in_scope(fds[0], 0), -ETIMEDOUT);
        CHECK_EQ(weft_write(fds[1], "ab", 2), 2);
        CHECK_EQ(read_in_scope(fds[0], 0), -ETIMEDOUT);         /* also if it need not wait */
        CHECK_EQ(read_in_scope(fds[0], WEFT_FOREVER), 1);
        CHECK_EQ(read_in_scope(fds[0], WEFT_MS(1000)), 1);
        CHECK_EQ(read_in_scope(fds[0], WEFT_MS(2)), -ETIMEDOUT);
        close_both(fds);
}

TEST(a_deadline_ends_a_read)
{
        sched_run(cancel_main, NULL);
}

TEST(a_deadline_ends_a_read_of_a_thread)
{
        struct sync_thread t;
        weft_config        cfg = { 0 };

        CHECK_EQ(weft_start(&cfg), 0);
        sync_thread_start(&t, cancel_main, NULL);
        sync_thread_join(&t);
        CHECK_EQ(weft_stop(), 0);
        CHECK_EQ(weft_threads_left(), 0);
}

static int read_across(void *arg)
{
        char c;

        return (int)weft_read(*(int *)arg, &c, 1);
}

TEST(the_end_of_the_run_ends_the_wait_of_a_thread)
{
        int  fds[2];
        char c;

        make_pipe(fds);
        CHECK_EQ(weft_read(fds[0], &c, 1), -ESHUTDOWN);
        CHECK_EQ(sync_call_across_the_end(read_across, &fds[0]), -ESHUTDOWN);
        close_both(fds);
}

static void left_main(void *arg)
{
        (void)sync_go_waiting(read_bytes, arg);
}

TEST(a_run_ends_during_a_read_and_the_next_run_reads_on)
{
        int fds[2];

        make_pipe(fds);
        for (int i = 0; i < 5; i++)
                sched_run(left_main, &fds[0]);
        close_both(fds);
}

/* ---- Other kinds ----------------------------------------------------------------------------- */

static void bad_main(void *arg)
{
        int  fds[2];
        char c = 0;

        (void)arg;
        make_pipe(fds);
        CHECK_EQ(weft_read(-1, &c, 1), -EBADF);
        CHECK_EQ(weft_read(1 << 30, &c, 1), -EBADF);
        CHECK_EQ(weft_read(fds[1], &c, 1), -EBADF);
        CHECK_EQ(weft_write(fds[0], &c, 1), -EBADF);
        CHECK_EQ(weft_read(fds[0], NULL, 1), -EFAULT);
        CHECK_EQ(weft_read(fds[0], NULL, 0), 0);
        CHECK_EQ(weft_close(-1), -EBADF);
        close_both(fds);
        CHECK_EQ(weft_write(fds[1], &c, 1), -EBADF);
}

/* Without it, a read from the wrong end is not refused, but waits. */
TEST(bad_descriptors_are_refused)
{
        nowait_need();
        sched_run(bad_main, NULL);
}

GO_TEST(files_are_read_and_written)
{
        FILE *file = tmpfile();
        char  buf[8] = { 0 };

        CHECK(file);
        CHECK_EQ(weft_write(fileno(file), "weft", 4), 4);
        CHECK_EQ(lseek(fileno(file), 0, SEEK_SET), 0);
        CHECK_EQ(weft_read(fileno(file), buf, sizeof(buf)), 4);
        CHECK_EQ(memcmp(buf, "weft", 4), 0);
        CHECK_EQ(weft_read(fileno(file), buf, sizeof(buf)), 0);
        fclose(file);
}

static void read_line(void *arg)
{
        char buf[16] = { 0 };

        CHECK_EQ(weft_read(*(int *)arg, buf, sizeof(buf)), 3);
        CHECK_EQ(memcmp(buf, "hi\n", 3), 0);
}

GO_TEST(a_terminal_is_read)
{
        int master, slave;

        if (openpty(&master, &slave, NULL, NULL, NULL) != 0)
                test_skip("no terminal is available");
        int64_t id = sync_go_waiting(read_line, &slave);

        CHECK_EQ(weft_write(master, "hi\n", 3), 3);
        sched_join(id);
        CHECK_EQ(weft_close(slave), 0);
        CHECK_EQ(weft_close(master), 0);
}

GO_TEST(sigpipe_kills_no_writer)
{
        sigset_t pending;
        int      fds[2];

        make_pipe(fds);
        CHECK_EQ(close(fds[0]), 0);
        CHECK_EQ(weft_write(fds[1], "x", 1), -EPIPE);
        CHECK_EQ(sigpending(&pending), 0);
        CHECK_EQ(sigismember(&pending, SIGPIPE), 0);
        CHECK_EQ(weft_close(fds[1]), 0);
        CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
        CHECK_EQ(close(fds[0]), 0);
        CHECK_EQ(weft_write(fds[1], "x", 1), -EPIPE);
        CHECK_EQ(weft_close(fds[1]), 0);
}
