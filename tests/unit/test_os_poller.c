/* tests/unit/test_os_poller.c - the contract of os/os.h about descriptors.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/nowait.h"
#include "harness/test.h"
#include "os/inject.h"
#include "os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MS = 1000000 };

static struct w_os_poller poller;

static void open_all(int fds[2])
{
        CHECK_EQ(pipe(fds), 0);
        CHECK_EQ(w_os_poller_open(&poller), 0);
}

static void close_all(const int fds[2])
{
        w_os_poller_close(&poller);
        CHECK_EQ(w_os_fd_close(fds[0]), 0);
        CHECK_EQ(w_os_fd_close(fds[1]), 0);
}

TEST(one_event_is_reported_once_until_it_is_armed_again)
{
        struct w_os_event ev[4];
        int               fds[2];

        nowait_need();
        open_all(fds);
        CHECK_EQ(w_os_poller_arm(&poller, fds[0], 1, W_POLL_IN), -ENOENT);
        CHECK_EQ(w_os_poller_add(&poller, fds[0], 7, W_POLL_IN), 0);
        CHECK_EQ(w_os_poller_add(&poller, fds[0], 7, W_POLL_IN), -EEXIST);
        CHECK_EQ(w_os_poller_wait(&poller, ev, 4, 0), 0);
        CHECK_EQ(w_os_fd_write(fds[1], "x", 1), 1);
        CHECK_EQ(w_os_poller_wait(&poller, ev, 4, W_FOREVER), 1);
        CHECK_EQ(ev[0].fd, fds[0]);
        CHECK_EQ(ev[0].seq, 7);
        CHECK_EQ(ev[0].events, W_POLL_IN);
        CHECK_EQ(w_os_poller_wait(&poller, ev, 4, 0), 0);
        CHECK_EQ(w_os_poller_arm(&poller, fds[0], 8, W_POLL_IN), 0);
        CHECK_EQ(w_os_poller_wait(&poller, ev, 4, 0), 1);       /* it is still so */
        CHECK_EQ(ev[0].seq, 8);
        CHECK_EQ(w_os_poller_arm(&poller, fds[0], 9, W_POLL_IN), 0);
        w_os_poller_forget(&poller, fds[0]);
        CHECK_EQ(w_os_poller_wait(&poller, ev, 4, 0), 0);
        close_all(fds);
}

#if defined(SYS_epoll_pwait2)
/* From now on the kernel returns EPERM for it, as some container runtimes do for calls that they do
 * not know. */
static void refuse_pwait2(void)
{
        struct sock_filter code[] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_epoll_pwait2, 0, 1),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
            prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
                test_skip("no filters for calls of the kernel here");
}
#endif

TEST(where_a_filter_refuses_the_newest_call_it_waits_all_the_same)
{
#if defined(SYS_epoll_pwait2)
        struct w_os_event ev[4];
        int               fds[2];

        nowait_need();
        refuse_pwait2();
        open_all(fds);
        CHECK_EQ(w_os_poller_add(&poller, fds[0], 7, W_POLL_IN), 0);
        int64_t until = w_os_now() + 2 * MS;

        while (w_os_now() < until)
                CHECK_EQ(w_os_poller_wait(&poller, ev, 4, until), 0);
        CHECK_EQ(w_os_fd_write(fds[1], "x", 1), 1);
        CHECK_EQ(w_os_poller_wait(&poller, ev, 4, W_FOREVER), 1);
        CHECK_EQ(ev[0].seq, 7);
        close_all(fds);
#else
        test_skip("that call is not known here");
#endif
}

/* Each event once, with the state at that time. */
TEST(a_watched_descriptor_is_reported_when_something_new_happens)
{
        struct w_os_event ev[4];
        int               pair[2];
        char              c;

        nowait_need();
        CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
        CHECK_EQ(w_os_poller_open(&poller), 0);
        CHECK_EQ(w_os_poller_remind(&poller, pair[0], 1), -ENOENT);
        CHECK_EQ(w_os_poller_watch(&poller, pair[0], 7), 0);
        CHECK_EQ(w_os_poller_watch(&poller, pair[0], 7), -EEXIST);
        CHECK_EQ(w_os_poller_wait(&poller, ev, 4, 0), 1);
        CHECK_EQ(ev[0].events, W_POLL_OUT);
        CHECK_EQ(ev[0].fd, pair[0]);
        CHECK_EQ(ev[0].seq, 7);
        CHECK_EQ(w_os_poller_wait(&poller, ev, 4, 0), 0);
        CHECK_EQ(w_os_fd_write(pair[1], "xyz", 3), 3);
        CHECK_EQ(w_os_poller_wait(&poller, ev, 4, 0), 1);
        CHECK_EQ(ev[0].events, W_POLL_IN | W_POLL_OUT);
        CHECK_EQ(w_os_fd_read(pair[0], &c, 1), 1);
        CHECK_EQ(w_os_poller_wait(&poller, ev, 4, 0), 0);       /* there is more, but not new */
        CHECK_EQ(w_os_poller_remind(&poller, pair[0], 8), 0);
        CHECK_EQ(w_os_poller_wait(&poller, ev, 4, 0), 1);
        CHECK_EQ(ev[0].seq, 8);
        CHECK_EQ(w_os_fd_write(pair[1], "x", 1), 1);
        CHECK_EQ(shutdown(pair[1], SHUT_WR), 0);
        CHECK_EQ(w_os_poller_wait(&poller, ev, 4, 0), 1);       /* both at once */
        CHECK_EQ(ev[0].events, W_POLL_IN | W_POLL_OUT | W_POLL_RDHUP);
        close_all(pair);
}

TEST(bad_files_are_refused)
{
        FILE *file = tmpfile();
        int   fds[2];

        CHECK(file);
        open_all(fds);
        CHECK_EQ(w_os_poller_add(&poller, fileno(file), 1, W_POLL_IN), -EPERM);
        CHECK_EQ(w_os_poller_add(&poller, 1000000, 1, W_POLL_IN), -EBADF);
        CHECK_EQ(w_os_poller_arm(&poller, 1000000, 1, W_POLL_IN), -EBADF);
        fclose(file);
        close_all(fds);
}

TEST(a_wait_ends_at_its_time)
{
        struct w_os_event ev[1];
        int               fds[2];
        int64_t           at;

        open_all(fds);
        at = w_os_now() + 2 * MS;
        while (w_os_now() < at)
                CHECK_EQ(w_os_poller_wait(&poller, ev, 1, at), 0);
        CHECK(w_os_now() >= at);
        CHECK_EQ(w_os_poller_wait(&poller, ev, 1, at), 0);
        close_all(fds);
}

static void *ring_later(void *arg)
{
        (void)arg;
        w_os_sleep_until(w_os_now() + 2 * MS);
        w_os_poller_wake(&poller);
        return NULL;
}

/* Set before or meanwhile, and seen by all until it is cleared. */
TEST(a_wakeup_ends_waits)
{
        struct w_os_event ev[1];
        pthread_t         ringer;
        int               fds[2];

        open_all(fds);
        CHECK_EQ(pthread_create(&ringer, NULL, ring_later, NULL), 0);
        CHECK_EQ(w_os_poller_wait(&poller, ev, 1, W_FOREVER), 0);
        CHECK_EQ(pthread_join(ringer, NULL), 0);
        CHECK_EQ(w_os_poller_wait(&poller, ev, 1, W_FOREVER), 0);
        w_os_poller_wake(&poller);
        w_os_poller_wake_clear(&poller);
        CHECK_EQ(w_os_poller_wait(&poller, ev, 1, w_os_now() + MS), 0);
        close_all(fds);
}

TEST(every_step_of_the_opening_may_fail)
{
#if defined(W_DEBUG)
        for (uint32_t k = 1; k <= 3; k++) {
                w_inject_once(W_CALL_POLLER, k, EMFILE);
                CHECK_EQ(w_os_poller_open(&poller), -EMFILE);
                w_inject_off();
        }
        int fd = dup(0);

        CHECK_EQ(w_os_poller_open(&poller), 0);
        w_os_poller_close(&poller);
        CHECK_EQ(close(fd), 0);
        CHECK_EQ(dup(0), fd);           /* nothing was left open */
        CHECK_EQ(close(fd), 0);
#else
        test_skip("calls are refused in debug builds only");
#endif
}

/* ---- Reading and writing --------------------------------------------------------------------- */

TEST(nothing_waits_and_no_flag_changes)
{
        int         fds[2], pair[2];
        static char big[1 << 20];
        char        c;

        nowait_need();
        CHECK_EQ(pipe(fds), 0);
        CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
        CHECK_EQ(w_os_fd_read(fds[0], &c, 1), -EAGAIN);
        CHECK_EQ(w_os_fd_read(pair[0], &c, 1), -EAGAIN);
        CHECK(w_os_fd_write(fds[1], big, sizeof(big)) > 0);
        CHECK_EQ(w_os_fd_write(fds[1], big, sizeof(big)), -EAGAIN);
        while (w_os_fd_write(pair[0], big, sizeof(big)) > 0)
                ;
        CHECK_EQ(w_os_fd_write(pair[0], big, sizeof(big)), -EAGAIN);
        CHECK_EQ(w_os_fd_poll(fds[0], W_POLL_IN | W_POLL_OUT), W_POLL_IN);
        CHECK_EQ(w_os_fd_poll(fds[1], W_POLL_OUT), 0);
        CHECK_EQ(w_os_fd_poll(1000000, W_POLL_OUT), W_POLL_NVAL);
        CHECK_EQ(fcntl(fds[0], F_GETFL) & O_NONBLOCK, 0);
        CHECK_EQ(fcntl(pair[0], F_GETFL) & O_NONBLOCK, 0);
        for (int i = 0; i < 2; i++) {
                CHECK_EQ(w_os_fd_close(fds[i]), 0);
                CHECK_EQ(w_os_fd_close(pair[i]), 0);
                CHECK_EQ(w_os_fd_close(pair[i]), -EBADF);
        }
}

static void connect_pair(int fds[2])
{
        struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000001) };
        socklen_t          size = sizeof(at);
        int                listener = socket(AF_INET, SOCK_STREAM, 0);

        CHECK_EQ(bind(listener, (struct sockaddr *)&at, size), 0);
        CHECK_EQ(listen(listener, 1), 0);
        CHECK_EQ(getsockname(listener, (struct sockaddr *)&at, &size), 0);
        fds[0] = socket(AF_INET, SOCK_STREAM, 0);
        CHECK_EQ(test_connect(fds[0], &at, size), 0);
        fds[1] = test_accept(listener);
        CHECK_EQ(close(listener), 0);
}

/* A control message, as TLS in the kernel sends with each record, is a reason for doubt. */
TEST(a_short_read_of_tcp_leaves_nothing)
{
        int  fds[2], pair[2], one = 1;
        char buf[8];
        bool dry = true;

        connect_pair(fds);
        CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
        CHECK_EQ(w_os_fd_is_tcp(fds[0]), 1);
        CHECK_EQ(w_os_fd_is_tcp(pair[0]), 0);
        CHECK_EQ(w_os_fd_is_tcp(1000000), -EBADF);
        CHECK_EQ(w_os_fd_read_tcp(fds[1], buf, sizeof(buf), &dry), -EAGAIN);
        CHECK(!dry);
        CHECK_EQ(w_os_fd_write(fds[0], "12345", 5), 5);
        CHECK_EQ(w_os_fd_read_tcp(fds[1], buf, 2, &dry), 2);
        CHECK(!dry);
        CHECK_EQ(w_os_fd_read_tcp(fds[1], buf, sizeof(buf), &dry), 3);
        CHECK(dry);
        CHECK_EQ(setsockopt(fds[1], SOL_SOCKET, SO_TIMESTAMP, &one, sizeof(one)), 0);
        for (int i = 0; i < 1000 && dry; i++) {         /* the kernel begins some time later */
                CHECK_EQ(w_os_fd_write(fds[0], "12345", 5), 5);
                CHECK_EQ(w_os_fd_read_tcp(fds[1], buf, sizeof(buf), &dry), 5);
                w_os_sleep_until(w_os_now() + 1000000);
        }
        CHECK(!dry);
        for (int i = 0; i < 2; i++) {
                CHECK_EQ(w_os_fd_close(fds[i]), 0);
                CHECK_EQ(w_os_fd_close(pair[i]), 0);
        }
}

/* A SIGPIPE that was pending before stays. */
TEST(sigpipe_is_taken_and_no_other)
{
        sigset_t pipe_only, pending;
        int      fds[2];

        nowait_need();
        CHECK_EQ(pipe(fds), 0);
        CHECK_EQ(close(fds[0]), 0);
        CHECK_EQ(w_os_fd_write(fds[1], "x", 1), -EPIPE);
        CHECK_EQ(w_os_fd_write_blocking(fds[1], "x", 1), -EPIPE);
        sigemptyset(&pipe_only);
        sigaddset(&pipe_only, SIGPIPE);
        CHECK_EQ(pthread_sigmask(SIG_BLOCK, &pipe_only, NULL), 0);
        CHECK_EQ(w_os_fd_write(fds[1], "x", 1), -EPIPE);
        CHECK_EQ(sigpending(&pending), 0);
        CHECK_EQ(sigismember(&pending, SIGPIPE), 0);
        CHECK_EQ(raise(SIGPIPE), 0);
        CHECK_EQ(w_os_fd_write(fds[1], "x", 1), -EPIPE);
        CHECK_EQ(sigpending(&pending), 0);
        CHECK_EQ(sigismember(&pending, SIGPIPE), 1);
        CHECK_EQ(w_os_fd_close(fds[1]), 0);
}
