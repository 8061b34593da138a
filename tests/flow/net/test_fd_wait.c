/* tests/flow/net/test_fd_wait.c - weft_fd_wait, which thread polls when, and how that affects
 * timers.
 *
 * test: procs=1,2,4
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/edge.h"
#include "sched/thread/netpoll.h"

#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

static void expect_in(void *arg)
{
        CHECK_EQ(weft_fd_wait(*(int *)arg, POLLIN), POLLIN);
}

GO_TEST(fd_wait_returns_the_events_of_poll)
{
        int fds[2];

        CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
        CHECK_EQ(weft_fd_wait(fds[0], POLLOUT), POLLOUT);
        CHECK_EQ(weft_fd_wait(fds[0], POLLIN | POLLOUT), POLLOUT);
        int64_t ids[3];

        for (int i = 0; i < 3; i++)
                ids[i] = sync_go_waiting(expect_in, &fds[0]);
        CHECK_EQ(write(fds[1], "x", 1), 1);
        for (int i = 0; i < 3; i++)
                sched_join(ids[i]);     /* all of them: nothing was taken away */
        CHECK_EQ(weft_fd_wait(fds[0], POLLIN), POLLIN);
        CHECK_EQ(close(fds[1]), 0);
        CHECK_EQ(weft_fd_wait(fds[0], POLLIN), POLLIN | POLLHUP);
        CHECK_EQ(weft_fd_wait(fds[0], 0), POLLHUP);
        CHECK_EQ(close(fds[0]), 0);
        CHECK_EQ(weft_fd_wait(fds[0], POLLIN), -EBADF);
        CHECK_EQ(weft_fd_wait(-1, POLLIN), -EBADF);
}

static void expect_hup(void *arg)
{
        CHECK_EQ(weft_fd_wait(*(int *)arg, 0), POLLHUP);
}

static void expect_ebadf(void *arg)
{
        CHECK_EQ(weft_fd_wait(*(int *)arg, POLLIN), -EBADF);
}

GO_TEST(fd_wait_reports_errors_and_the_end)
{
        int     fds[2];
        FILE   *file = tmpfile();
        int64_t id;

        CHECK(file);
        CHECK_EQ(weft_fd_wait(fileno(file), POLLIN), POLLIN);
        CHECK_EQ(weft_fd_wait(fileno(file), POLLPRI), -EPERM);
        fclose(file);
        CHECK_EQ(pipe(fds), 0);
        id = sync_go_waiting(expect_hup, &fds[0]);
        CHECK_EQ(close(fds[1]), 0);
        sched_join(id);
        CHECK_EQ(close(fds[0]), 0);
        CHECK_EQ(pipe(fds), 0);
        id = sync_go_waiting(expect_ebadf, &fds[0]);
        CHECK_EQ(weft_close(fds[0]), 0);
        sched_join(id);
        CHECK_EQ(weft_close(fds[1]), 0);
}

GO_TEST(waits_are_counted_and_pass_the_checks)
{
        int          fds[2];
        weft_stats_t st = { .size = sizeof(st) };

        CHECK_EQ(pipe(fds), 0);
        CHECK(!w_netpoll_is_waited_for());
        int64_t id = sync_go_waiting(expect_in, &fds[0]);

        CHECK(w_netpoll_is_waited_for());
        CHECK_EQ(strcmp(w_wait_reason_name(W_WAIT_IO), "IO wait"), 0);
        CHECK_EQ(weft_check(), 0);
        CHECK_EQ(weft_stats(&st), 0);
        CHECK(st.parks_io >= 1);
        CHECK_EQ(write(fds[1], "x", 1), 1);
        sched_join(id);
        CHECK(!w_netpoll_is_waited_for());
        CHECK_EQ(weft_close(fds[0]), 0);
        CHECK_EQ(weft_close(fds[1]), 0);
}

/* Each kind of wait, and each way in which it ends. */
static int wait_by_read(void *arg)
{
        char c;

        return (int)weft_read(*(int *)arg, &c, 1);
}

static int wait_by_poll(void *arg)
{
        return weft_fd_wait(*(int *)arg, POLLIN);
}

static int wait_by_select(void *arg)
{
        weft_case c[] = { WEFT_READABLE(*(int *)arg), WEFT_READABLE(*(int *)arg) };
        int       i = weft_select(c, 2);

        return i < 0 ? i : c[i].result;
}

struct waiting {
        int (*wait)(void *fd);
        int   fds[2], rc;
};

static void do_wait(void *arg)
{
        struct waiting *w = arg;

        w->rc = w->wait(&w->fds[0]);
}

static void count_off(int (*wait)(void *fd), bool own)
{
        struct waiting w = { .wait = wait };

        edge_unix_pair(w.fds);
        if (own)
                edge_both(w.fds);
        CHECK_EQ(sync_call_timed(wait, &w.fds[0], WEFT_MS(1)), -ETIMEDOUT);
        CHECK(!w_netpoll_is_waited_for());
        CHECK_EQ(sync_call_cancelled(wait, &w.fds[0]), -ECANCELED);
        CHECK(!w_netpoll_is_waited_for());
        int64_t id = sync_go_waiting(do_wait, &w);

        CHECK(w_netpoll_is_waited_for());
        CHECK_EQ(write(w.fds[1], "x", 1), 1);
        sched_join(id);
        CHECK_EQ(w.rc, 1);              /* a byte, or POLLIN */
        CHECK(!w_netpoll_is_waited_for());
        if (wait != wait_by_read)
                CHECK_EQ(wait_by_read(&w.fds[0]), 1);
        id = sync_go_waiting(do_wait, &w);
        CHECK_EQ(weft_close(w.fds[0]), 0);
        sched_join(id);
        CHECK_EQ(w.rc, -EBADF);
        CHECK(!w_netpoll_is_waited_for());
        CHECK_EQ(weft_close(w.fds[1]), 0);
}

GO_TEST(waits_that_have_ended_are_counted_off)
{
        for (int own = 0; own < 2; own++) {
                count_off(wait_by_read, own);
                count_off(wait_by_poll, own);
                count_off(wait_by_select, own);
        }
}

/* ---- All threads sleep ----------------------------------------------------------------------- */

struct later {
        int fd;
        int us;
};

static void write_later(void *arg)
{
        struct later *l = arg;

        w_os_sleep_until(w_os_now() + l->us * INT64_C(1000));
        CHECK_EQ(write(l->fd, "x", 1), 1);
}

/* Goroutine 1 waits, and with it all threads of the runtime: no deadlock, and it is woken. */
GO_TEST(a_lone_waiter_is_woken)
{
        int fds[2];

        CHECK_EQ(pipe(fds), 0);
        for (int i = 0; i < 30; i++) {
                struct sync_thread t;
                struct later       l = { fds[1], i * 100 };
                char               c;

                sync_thread_start(&t, write_later, &l);
                CHECK_EQ(weft_read(fds[0], &c, 1), 1);
                sync_thread_join(&t);
        }
        CHECK_EQ(weft_close(fds[0]), 0);
        CHECK_EQ(weft_close(fds[1]), 0);
}

/* Only threads of the runtime exist, and it has no timer: a timer of the kernel wakes it. */
GO_TEST(to_wait_for_the_kernel_is_no_deadlock)
{
        struct itimerspec soon = { .it_value.tv_nsec = 30000000 };
        uint64_t          count = 0;
        int               fd = timerfd_create(CLOCK_MONOTONIC, 0);

        CHECK(fd >= 0);
        CHECK_EQ(timerfd_settime(fd, 0, &soon, NULL), 0);
        CHECK_EQ(weft_read(fd, &count, sizeof(count)), sizeof(count));
        CHECK_EQ(count, 1);
        CHECK_EQ(weft_close(fd), 0);
}

static w_atomic_u32 n_slept;

static void sleeper(void *arg)
{
        (void)arg;
        for (int i = 0; i < 50; i++) {
                CHECK_EQ(weft_sleep(100000 + i * 1000), 0);
                w_add_rlx(&n_slept, 1);
        }
}

/* Timers go off while all other goroutines wait for a descriptor without events. */
GO_TEST(timers_go_off_during_a_wait_for_a_descriptor)
{
        int fds[2];

        CHECK_EQ(pipe(fds), 0);
        int64_t waiter = sync_go_waiting(expect_in, &fds[0]);
        int64_t ids[3];

        for (int i = 0; i < 3; i++)
                ids[i] = sched_go(sleeper, NULL);
        for (int i = 0; i < 3; i++)
                sched_join(ids[i]);
        CHECK_EQ(w_load_rlx(&n_slept), 150);
        CHECK_EQ(write(fds[1], "x", 1), 1);
        sched_join(waiter);
        CHECK_EQ(weft_close(fds[0]), 0);
        CHECK_EQ(weft_close(fds[1]), 0);
}

static w_atomic_u32 heard;

static void hear(void *arg)
{
        expect_in(arg);
        w_store_rel(&heard, 1);
}

/* Goroutine 1 computes and never calls weft: other threads poll, in the end the monitor. */
GO_TEST(descriptors_are_seen_while_goroutines_compute)
{
        int fds[2];

        CHECK_EQ(pipe(fds), 0);
        int64_t id = sync_go_waiting(hear, &fds[0]);

        CHECK_EQ(write(fds[1], "x", 1), 1);
        while (!w_load_acq(&heard))
                w_cpu_pause();
        sched_join(id);
        CHECK_EQ(weft_close(fds[0]), 0);
        CHECK_EQ(weft_close(fds[1]), 0);
}

/* More goroutines yield than a ring holds: some always wait in the global queue. The delay of a
 * waiter for a descriptor is measured by how often they yield meanwhile. The waiter enters the
 * queue after them, and has its turn when they have theirs; not 61 times as late. */
enum { N_YIELDERS = 3 * W_RUNQ_CAP, N_YIELDS_MAX = 20 * N_YIELDERS, N_ROUNDS = 10, TURN_NS = 2000 };

static w_atomic_u32 n_yields, enough;

static void yield_often(void *arg)
{
        (void)arg;
        while (!w_load_rlx(&enough)) {
                for (int64_t since = w_os_now(); w_os_now() - since < TURN_NS;)
                        ;
                w_add_rlx(&n_yields, 1);
                weft_yield();
        }
}

static w_atomic_u32 n_before, n_heard;

static void hear_each(void *arg)
{
        char c;

        while (weft_read(*(int *)arg, &c, 1) == 1) {
                uint32_t n = w_load_rlx(&n_yields) - w_load_rlx(&n_before);

                CHECK_MSG(n < N_YIELDS_MAX, "others have yielded %u times", n);
                w_add_acqrel(&n_heard, 1);
        }
}

static void backlog_main(void *arg)
{
        int     fds[2];
        int64_t ids[N_YIELDERS], reader;

        (void)arg;
        CHECK_EQ(pipe(fds), 0);
        reader = sched_go(hear_each, &fds[0]);
        for (int i = 0; i < N_YIELDERS; i++)
                ids[i] = sched_go(yield_often, NULL);
        for (uint32_t i = 1; i <= N_ROUNDS; i++) {
                sched_await_parked(reader);
                w_store_rlx(&n_before, w_load_rlx(&n_yields));
                CHECK_EQ(write(fds[1], "x", 1), 1);
                sched_await(&n_heard, i);
        }
        w_store_rlx(&enough, 1);
        CHECK_EQ(weft_close(fds[1]), 0);
        sched_join(reader);
        for (int i = 0; i < N_YIELDERS; i++)
                sched_join(ids[i]);
        CHECK_EQ(weft_close(fds[0]), 0);
}

TEST(descriptors_are_seen_despite_a_backlog)
{
        weft_config cfg = { .procs = 1 };       /* others would yield while one is preempted */

        test_set_dump(sched_dump);
        CHECK_EQ(sched_run_left(&cfg, backlog_main, NULL), 0);
}

/* The thread that waits in the poller is needed for work. */
static void nothing(void *arg)
{
        (void)arg;
}

static void needed_main(void *arg)
{
        int fds[2];

        (void)arg;
        CHECK_EQ(pipe(fds), 0);
        int64_t waiter = sync_go_waiting(expect_in, &fds[0]);

        for (int i = 0; i < 200; i++) {
                sched_join(sched_go(nothing, NULL));
                if (i % 20 == 0)
                        CHECK_EQ(weft_sleep(50000), 0);
        }
        CHECK_EQ(write(fds[1], "x", 1), 1);
        sched_join(waiter);
        CHECK_EQ(weft_close(fds[0]), 0);
        CHECK_EQ(weft_close(fds[1]), 0);
}

TEST(the_m_in_the_poller_works_if_no_other_m_can)
{
        weft_config cfg = { .max_threads = 2, .procs = 1 };

        test_set_dump(sched_dump);
        CHECK_EQ(sched_run_left(&cfg, needed_main, NULL), 0);
}

static void read_events(void *arg)
{
        uint64_t count;
        int      fd = *(int *)arg;

        for (int i = 0; i < 300; i++) {
                CHECK_EQ(weft_read(fd, &count, sizeof(count)), sizeof(count));
                CHECK_EQ(count, 1);
        }
}

static void write_event(void *arg)
{
        uint64_t one = 1;

        CHECK_EQ(weft_write(*(int *)arg, &one, sizeof(one)), sizeof(one));
}

GO_TEST(an_eventfd_is_a_descriptor_too)
{
        int fd = eventfd(0, EFD_SEMAPHORE);

        CHECK(fd >= 0);
        int64_t reader = sched_go(read_events, &fd);

        sync_together(300, write_event, &fd);
        sched_join(reader);
        CHECK_EQ(weft_close(fd), 0);
}
