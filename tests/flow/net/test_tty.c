/* tests/flow/net/test_tty.c - terminals that block: a full terminal, and a terminal that gives up,
 * end a call as they should.
 *
 * test: procs=1,2,4 libs=util
 * The library is for openpty.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/sync.h"

#include <pty.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>

enum { MUCH = 200000 };         /* bytes: more than a terminal holds */

/* fds[0] is the master; bytes go through as they are. */
static void open_terminal(int fds[2])
{
        struct termios how;

        if (openpty(&fds[0], &fds[1], NULL, NULL, NULL) != 0)
                test_skip("no terminal is available");
        CHECK_EQ(tcgetattr(fds[1], &how), 0);
        cfmakeraw(&how);
        CHECK_EQ(tcsetattr(fds[1], TCSANOW, &how), 0);
}

/* The same, where weft can identify the terminal: else writes are regions, which nothing ends. */
static void open_known_terminal(int fds[2])
{
        unsigned int device;

        open_terminal(fds);
        if (ioctl(fds[1], TIOCGDEV, &device) != 0)
                test_skip("terminals cannot be identified here: a write to one waits");
}

static void close_both(const int fds[2])
{
        CHECK_EQ(weft_close(fds[1]), 0);
        CHECK_EQ(weft_close(fds[0]), 0);
}

/* ---- Writing --------------------------------------------------------------------------------- */

static char much[MUCH];

static void write_much(void *arg)
{
        ssize_t done = weft_write_all(*(int *)arg, much, sizeof(much));

        CHECK_MSG((done > 0 && done < MUCH) || done == -ETIMEDOUT, "wrote %zd", done);
}

static void writev_much(void *arg)
{
        struct iovec v[] = { { much, MUCH / 2 }, { much + MUCH / 2, MUCH / 2 } };
        int          fd = *(int *)arg;
        ssize_t      done;

        while ((done = weft_writev(fd, v, 2)) > 0)
                ;
        CHECK(done == -ETIMEDOUT || done == -EBADF);
}

static void in_scope(void (*fn)(void *), int fd)
{
        weft_scope s;

        CHECK_EQ(weft_scope_open(&s, WEFT_MS(20)), 0);
        fn(&fd);
        CHECK_EQ(weft_write(fd, much, 1), -ETIMEDOUT);
        CHECK_EQ(weft_scope_close(&s), 0);
}

static void deadline_main(void *arg)
{
        int fds[2];

        (void)arg;
        open_known_terminal(fds);
        int flags = fcntl(fds[1], F_GETFL);

        in_scope(write_much, fds[1]);
        CHECK_EQ(tcflush(fds[0], TCIOFLUSH), 0);
        in_scope(writev_much, fds[1]);
        CHECK_EQ(fcntl(fds[1], F_GETFL), flags);
        CHECK(!(flags & O_NONBLOCK));
        close_both(fds);
}

static void closed_main(void *arg)
{
        int fds[2];

        (void)arg;
        for (int i = 0; i < 2; i++) {
                open_known_terminal(fds);
                int64_t id = sync_go_waiting(i ? writev_much : write_much, &fds[1]);

                CHECK_EQ(weft_close(fds[1]), 0);
                sched_join(id);
                CHECK_EQ(weft_close(fds[0]), 0);
        }
}

TEST(a_deadline_ends_a_write_to_a_terminal) { sched_run(deadline_main, NULL); }
TEST(close_ends_a_write_to_a_terminal)      { sched_run(closed_main, NULL); }

static void write_lines(void *arg)
{
        CHECK_EQ(weft_write_all(*(int *)arg, much, sizeof(much)), MUCH);
}

/* Two characters for each written character, as on a screen. */
static void order_main(void *arg)
{
        static char got[2 * MUCH];
        int         fds[2];
        size_t      n = 0, n_ends = 0;

        (void)arg;
        for (int i = 0; i < MUCH; i++) {
                much[i] = (char)(i % 3 ? 'a' + i % 23 : '\n');
                n_ends += much[i] == '\n';
        }
        open_terminal(fds);
        struct termios how;

        CHECK_EQ(tcgetattr(fds[1], &how), 0);
        how.c_oflag |= OPOST | ONLCR;
        CHECK_EQ(tcsetattr(fds[1], TCSANOW, &how), 0);
        int64_t id = sched_go(write_lines, &fds[1]);

        CHECK_EQ(weft_read_full(fds[0], got, MUCH + n_ends), MUCH + n_ends);
        sched_join(id);
        for (int i = 0; i < MUCH; i++) {
                if (much[i] == '\n')
                        CHECK_EQ(got[n++], '\r');
                CHECK_EQ(got[n++], much[i]);
        }
        close_both(fds);
}

TEST(all_that_is_written_to_a_terminal_comes_in_order) { sched_run(order_main, NULL); }

static void refused_main(void *arg)
{
        int  fds[2];
        char name[64], buf[8];

        (void)arg;
        open_terminal(fds);
        CHECK_EQ(ttyname_r(fds[1], name, sizeof(name)), 0);
        int reads = open(name, O_RDONLY | O_NOCTTY | O_CLOEXEC);

        CHECK(reads >= 0);
        CHECK_EQ(weft_write(reads, "x", 1), -EBADF);    /* though the terminal may be written to */
        CHECK_EQ(weft_write(fds[0], "abc", 3), 3);      /* to this terminal, and no new one */
        CHECK_EQ(weft_read(reads, buf, sizeof(buf)), 3);
        CHECK_EQ(weft_close(reads), 0);
        CHECK_EQ(weft_close(fds[0]), 0);
        CHECK_EQ(weft_write(fds[1], "x", 1), -EIO);     /* hung up */
        CHECK_EQ(weft_close(fds[1]), 0);
}

TEST(a_terminal_is_written_to_only_as_it_was_opened) { sched_run(refused_main, NULL); }

/* ---- Reading --------------------------------------------------------------------------------- */

static void set_vtime(int fd, int tenths)
{
        struct termios how;

        CHECK_EQ(tcgetattr(fd, &how), 0);
        how.c_cc[VMIN] = 0;
        how.c_cc[VTIME] = (cc_t)tenths;
        CHECK_EQ(tcsetattr(fd, TCSANOW, &how), 0);
}

static void give_up_main(void *arg)
{
        int  fds[2];
        char buf[8];

        (void)arg;
        open_terminal(fds);
        set_vtime(fds[1], 1);
        CHECK_EQ(weft_read(fds[1], buf, sizeof(buf)), 0);
        CHECK_EQ(weft_read_full(fds[1], buf, sizeof(buf)), 0);
        CHECK_EQ(weft_write(fds[0], "ab", 2), 2);
        CHECK_EQ(weft_read(fds[1], buf, sizeof(buf)), 2);
        set_vtime(fds[1], 0);
        CHECK_EQ(weft_read(fds[1], buf, sizeof(buf)), 0);
        close_both(fds);
}

TEST(a_terminal_that_gives_up_is_read) { sched_run(give_up_main, NULL); }

static void read_two(void *arg)
{
        char buf[8];

        CHECK_EQ(weft_read(*(int *)arg, buf, sizeof(buf)), 2);
}

/* It would have to be asked again and again. */
GO_TEST(a_terminal_that_gives_up_and_does_not_wait_is_waited_for)
{
        int fds[2];

        open_terminal(fds);
        set_vtime(fds[1], 1);
        CHECK_EQ(fcntl(fds[1], F_SETFL, fcntl(fds[1], F_GETFL) | O_NONBLOCK), 0);
        int64_t id = sync_go_waiting(read_two, &fds[1]);

        CHECK_EQ(weft_write(fds[0], "ab", 2), 2);
        sched_join(id);
        close_both(fds);
}

/* ---- Several at one end ---------------------------------------------------------------------- */

enum { N_READERS = 4 };

struct race {
        int          fd;
        w_atomic_u32 n_begun, n_read, n_closed;
};

/* On foreign threads, so that they poll at the same time, however many Ps there are. */
static void race_to_read(void *arg)
{
        struct race *r = arg;
        char         c;

        w_add_acqrel(&r->n_begun, 1);
        while (w_load_acq(&r->n_begun) <= N_READERS)
                sched_yield();
        ssize_t got = weft_read(r->fd, &c, 1);

        CHECK_MSG(got == 1 || got == -EBADF, "read %zd", got);
        w_add_acqrel(got == 1 ? &r->n_read : &r->n_closed, 1);
}

/* There is a byte for one of them. */
static void race_once(void)
{
        struct sync_thread threads[N_READERS];
        struct race        r = { 0 };
        int                fds[2];

        open_terminal(fds);
        r.fd = fds[1];
        for (int i = 0; i < N_READERS; i++)
                sync_thread_start(&threads[i], race_to_read, &r);
        CHECK_EQ(weft_write(fds[0], "x", 1), 1);
        w_add_acqrel(&r.n_begun, 1);
        sched_await(&r.n_read, 1);
        CHECK_EQ(weft_close(fds[1]), 0);
        sched_await(&r.n_closed, N_READERS - 1);
        for (int i = 0; i < N_READERS; i++)
                sync_thread_join(&threads[i]);
        CHECK_EQ(weft_close(fds[0]), 0);
}

/* And no reader takes what was not there when it polled. */
GO_TEST(close_reaches_a_reader_that_was_not_the_quickest_at_a_terminal)
{
        for (uint32_t i = 0; i < sched_scale(300); i++)
                race_once();
}

static void read_hurriedly(void *arg)
{
        struct race *r = arg;
        weft_scope   s;
        char         c;

        CHECK_EQ(weft_scope_open(&s, WEFT_MS(2)), 0);
        w_add_acqrel(&r->n_begun, 1);
        sched_await(&r->n_begun, N_READERS);
        ssize_t got = weft_read(r->fd, &c, 1);

        CHECK_EQ(weft_scope_close(&s), 0);
        CHECK_MSG(got == 1 || got == -ETIMEDOUT, "read %zd", got);
        w_add_acqrel(&r->n_read, got == 1);
}

static void hurry_main(void *arg)
{
        int fds[2];

        (void)arg;
        open_terminal(fds);
        struct race r = { .fd = fds[1] };

        for (uint32_t i = 0; i < sched_scale(100); i++) {
                CHECK_EQ(weft_write(fds[0], "x", 1), 1);
                w_store_rel(&r.n_begun, 0);
                sync_together(N_READERS, read_hurriedly, &r);
        }
        close_both(fds);
}

TEST(deadlines_reach_all_readers_of_a_terminal) { sched_run(hurry_main, NULL); }

static void read_nothing(void *arg)
{
        char c;

        CHECK_EQ(weft_read(*(int *)arg, &c, 1), 0);
}

static void all_give_up_main(void *arg)
{
        int fds[2];

        (void)arg;
        open_terminal(fds);
        set_vtime(fds[1], 1);
        sync_together(3, read_nothing, &fds[1]);
        close_both(fds);
}

TEST(all_readers_of_a_terminal_that_may_read_empty_return) { sched_run(all_give_up_main, NULL); }

/* To the master, in a region that nothing ends: it takes a part, and waits for a reader. */
static void write_to_master(void *arg)
{
        CHECK_EQ(weft_write_all(*(int *)arg, much, sizeof(much)), MUCH);
}

GO_TEST(a_writer_that_waits_for_a_terminal_keeps_no_reader_from_reading)
{
        static char got[MUCH];
        int         fds[2];

        open_terminal(fds);
        int64_t id = sched_go(write_to_master, &fds[0]);

        CHECK_EQ(weft_read_full(fds[1], got, 1), 1);    /* it has begun */
        CHECK_EQ(weft_sleep(WEFT_MS(20)), 0);           /* and come to a halt */
        CHECK_EQ(weft_write(fds[1], "x", 1), 1);
        CHECK_EQ(weft_read(fds[0], got, sizeof(got)), 1);
        CHECK_EQ(weft_read_full(fds[1], got, MUCH - 1), MUCH - 1);
        sched_join(id);
        close_both(fds);
}
