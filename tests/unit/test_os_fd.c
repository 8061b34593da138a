/* tests/unit/test_os_fd.c - the contract of os/os.h about pieces, messages, files and children.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/nowait.h"
#include "harness/test.h"
#include "os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static void close_both(const int fds[2])
{
        CHECK_EQ(w_os_fd_close(fds[0]), 0);
        CHECK_EQ(w_os_fd_close(fds[1]), 0);
}

static void check_pieces(const int fds[2])
{
        char         a[2], b[10];
        struct iovec out[] = { { "ab", 2 }, { "", 0 }, { "cde", 3 } };
        struct iovec in[] = { { a, 2 }, { b, 10 } };

        CHECK_EQ(w_os_fd_readv(fds[0], in, 2, -1), -EAGAIN);
        CHECK_EQ(w_os_fd_writev(fds[1], out, 3, -1), 5);
        CHECK_EQ(w_os_fd_readv(fds[0], in, 2, -1), 5);
        CHECK(memcmp(a, "ab", 2) == 0 && memcmp(b, "cde", 3) == 0);
        CHECK_EQ(w_os_fd_writev(fds[1], &out[1], 1, -1), 0);
        CHECK_EQ(w_os_fd_writev_blocking(fds[1], out, 3, -1), 5);
        CHECK_EQ(w_os_fd_readv_blocking(fds[0], in, 2, -1), 5);
        CHECK_EQ(w_os_fd_readv(fds[0], in, 2, 0), -ESPIPE);
        CHECK_EQ(w_os_fd_writev(fds[1], out, 3, 0), -ESPIPE);
}

/* Nothing here may send SIGPIPE: its default would end the test. */
static void check_broken(const int fds[2])
{
        struct iovec out = { "ab", 2 };

        CHECK_EQ(w_os_fd_close(fds[0]), 0);
        CHECK_EQ(w_os_fd_writev(fds[1], &out, 1, -1), -EPIPE);
        CHECK_EQ(w_os_fd_writev_blocking(fds[1], &out, 1, -1), -EPIPE);
        CHECK_EQ(w_os_fd_close(fds[1]), 0);
        CHECK_EQ(w_os_fd_writev(fds[1], &out, 1, -1), -EBADF);
}

TEST(pieces_go_through_pipes_and_sockets)
{
        int fds[2];

        nowait_need();
        CHECK_EQ(pipe(fds), 0);
        check_pieces(fds);
        check_broken(fds);
        CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
        check_pieces(fds);
        check_broken(fds);
}

TEST(messages_do_not_wait)
{
        int           fds[2];
        char          buf[10] = { 0 };
        struct iovec  v = { buf, sizeof(buf) };
        struct msghdr msg = { .msg_iov = &v, .msg_iovlen = 1 };

        CHECK_EQ(socketpair(AF_UNIX, SOCK_DGRAM, 0, fds), 0);
        CHECK_EQ(w_os_fd_recv(fds[0], &msg, 0), -EAGAIN);
        CHECK_EQ(w_os_fd_send(fds[1], &msg, 0), sizeof(buf));
        CHECK_EQ(w_os_fd_recv(fds[0], &msg, 0), sizeof(buf));
        CHECK(!w_os_fd_is_stream(fds[0]));
        close_both(fds);
        CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
        CHECK(w_os_fd_is_stream(fds[0]));
        CHECK_EQ(w_os_fd_close(fds[0]), 0);
        CHECK_EQ(w_os_fd_send(fds[1], &msg, 0), -EPIPE);
        CHECK_EQ(w_os_fd_close(fds[1]), 0);
        CHECK_EQ(w_os_fd_recv(fds[1], &msg, 0), -EBADF);
        CHECK(!w_os_fd_is_stream(fds[1]));
}

TEST(files_are_told_apart)
{
        struct w_os_file file, same, pipe_end;
        int              fd = open("/proc/self/exe", O_RDONLY), other = dup(fd), fds[2];

        CHECK_EQ(pipe(fds), 0);
        CHECK_EQ(w_os_fd_ask(fd, &file), 0);
        CHECK_EQ(w_os_fd_ask(other, &same), 0);
        CHECK_EQ(w_os_fd_ask(fds[0], &pipe_end), 0);
        CHECK(file.is_file && !pipe_end.is_file);
        CHECK(!file.tells_once && !pipe_end.tells_once);
        CHECK(file.device == same.device && file.number == same.number);
        CHECK(file.device != pipe_end.device || file.number != pipe_end.number);
        close_both(fds);
        CHECK_EQ(w_os_fd_ask(fds[0], &file), -EBADF);
        CHECK_EQ(w_os_fd_close(fd), 0);
        CHECK_EQ(w_os_fd_close(other), 0);
}

TEST(a_child_is_waited_for)
{
        int   status = -1, fd;
        pid_t pid = fork();

        if (pid == 0) {
                pause();
                _exit(1);
        }
        CHECK(pid > 0);
        CHECK_EQ(w_os_child_wait(pid, &status, 0), 0);
        fd = w_os_child_open(pid);
        if (fd >= 0)
                CHECK_EQ(w_os_fd_poll(fd, W_POLL_IN), 0);
        CHECK_EQ(kill(pid, SIGKILL), 0);
        while (w_os_child_wait(pid, &status, 0) == 0)
                test_sleep_us(100);
        CHECK(WIFSIGNALED(status));
        CHECK_EQ(w_os_child_wait(pid, &status, 0), -ECHILD);
        if (fd >= 0) {
                CHECK(w_os_fd_poll(fd, W_POLL_IN) & W_POLL_IN);
                CHECK_EQ(w_os_fd_close(fd), 0);
        }
}
