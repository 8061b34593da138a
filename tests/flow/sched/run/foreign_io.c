/* tests/flow/sched/run/foreign_io.c - calls of weft/io.h for the table in test_foreign.c: each by a
 * foreign thread, and a call that can wait does wait.
 *
 * SPDX-License-Identifier: MIT
 */
#include "flow/sched/run/foreign_io.h"

void write_later(void *fd)
{
        CHECK_EQ(weft_sleep(WEFT_MS(1)), 0);
        CHECK_EQ(weft_write(*(int *)fd, "abcd", 4), 4);
}

void foreign_bytes(void)
{
        int          fds[2];
        char         to[8] = "";
        struct iovec v[2] = { { to, 1 }, { to + 1, 2 } };

        CHECK_EQ(pipe(fds), 0);
        CHECK(weft_go(write_later, &fds[1]) > 0);
        CHECK_EQ(weft_read(fds[0], to, 2), 2);
        CHECK_EQ(weft_read_full(fds[0], to + 2, 2), 2);
        CHECK_STR(to, "abcd");
        CHECK_EQ(weft_write_all(fds[1], "efgh", 4), 4);
        CHECK_EQ(weft_readv(fds[0], v, 2), 3);
        CHECK_EQ(weft_writev(fds[1], v, 2), 3);
        CHECK_EQ(weft_read(fds[0], to, 8), 4);
        CHECK(memcmp(to, "hefg", 4) == 0);
        net_close(fds[1]);
        CHECK_EQ(weft_read(fds[0], to, 8), 0);
        net_close(fds[0]);
        CHECK_EQ(weft_close(fds[0]), -EBADF);
}

void foreign_file_slots(void)
{
        FILE *file = tmpfile();
        char  to[4] = "";

        CHECK(file);
        CHECK_EQ(weft_pwrite(fileno(file), "xyz", 3, 100), 3);
        CHECK_EQ(weft_pread(fileno(file), to, 2, 101), 2);
        CHECK_STR(to, "yz");
        fclose(file);
}

void foreign_waits(void)
{
        int       fds[2];
        char      to[4];
        weft_case cs[2];

        CHECK_EQ(pipe(fds), 0);
        CHECK_EQ(weft_fd_wait(fds[1], POLLOUT), POLLOUT);
        CHECK(weft_go(write_later, &fds[1]) > 0);
        CHECK_EQ(weft_fd_wait(fds[0], POLLIN), POLLIN);
        CHECK_EQ(weft_read(fds[0], to, 4), 4);
        weft_case_readable(&cs[0], fds[0]);
        weft_case_writable(&cs[1], fds[1]);
        CHECK_EQ(weft_select(cs, 2), 1);
        CHECK(weft_go(write_later, &fds[1]) > 0);
        CHECK_EQ(weft_select(cs, 1), 0);
        CHECK_EQ(weft_read(fds[0], to, 4), 4);
        net_close(fds[0]);
        net_close(fds[1]);
}

static void send_back(void *arg)
{
        int                fd = *(int *)arg;
        char               buf[8];
        struct sockaddr_in from;
        unsigned           len = sizeof(from);
        ssize_t            n = weft_recvfrom(fd, buf, sizeof(buf), 0, (void *)&from, &len);

        CHECK_EQ(n, 3);
        CHECK_EQ(weft_sendto(fd, buf, (size_t)n, 0, (void *)&from, len), n);
}

void foreign_packets(void)
{
        int                far = weft_listen_packet("udp4", "127.0.0.1:0");
        int                near = weft_listen_packet("udp4", "127.0.0.1:0");
        struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
        struct sockaddr_in from;
        unsigned           len = sizeof(from);
        char               buf[8] = "";

        CHECK(far >= 0 && near >= 0);
        to.sin_port = htons((uint16_t)net_port(far));
        int64_t id = weft_go(send_back, &far);

        CHECK_EQ(weft_sendto(near, "udp", 3, 0, (void *)&to, sizeof(to)), 3);
        CHECK_EQ(weft_recvfrom(near, buf, sizeof(buf), 0, (void *)&from, &len), 3);
        CHECK_STR(buf, "udp");
        CHECK_EQ(from.sin_port, to.sin_port);
        CHECK_EQ(weft_join(id), 0);
        net_close(far);
        net_close(near);
}

void foreign_messages(void)
{
        int           fds[2];
        char          buf[8] = "";
        struct iovec  out = { "msg", 3 }, in = { buf, sizeof(buf) };
        struct msghdr msg = { .msg_iov = &out, .msg_iovlen = 1 };

        CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
        CHECK_EQ(weft_sendmsg(fds[0], &msg, 0), 3);
        msg.msg_iov = &in;
        CHECK_EQ(weft_recvmsg(fds[1], &msg, 0), 3);
        CHECK_STR(buf, "msg");
        CHECK(weft_go(write_later, &fds[0]) > 0);
        CHECK_EQ(weft_recvmsg(fds[1], &msg, 0), 4);
        net_close(fds[0]);
        net_close(fds[1]);
}

void dial(void *where)
{
        CHECK_EQ(weft_sleep(WEFT_MS(1)), 0);
        int fd = weft_dial("tcp4", where);

        CHECK_MSG(fd >= 0, "dial says %d", fd);
        net_close(fd);
}

void foreign_connections(void)
{
        char               where[NET_TEXT], c;
        int                listener = weft_listen("tcp4", "127.0.0.1:0");
        struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) },
                                  .sin_port = htons((uint16_t)net_port(listener)) };

        snprintf(where, sizeof(where), "127.0.0.1:%d", net_port(listener));
        int64_t id = weft_go(dial, where);
        int     in = weft_accept(listener), out;

        CHECK(in >= 0);
        CHECK_EQ(weft_read(in, &c, 1), 0);              /* waits for the other to close it */
        CHECK_EQ(weft_join(id), 0);
        net_close(in);
        out = weft_dial("tcp4", where);
        CHECK(out >= 0);
        net_close(out);
        out = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        CHECK_EQ(weft_connect(out, (void *)&to, sizeof(to)), 0);
        net_close(out);
        net_close(listener);
}

void foreign_names(void)
{
        struct addrinfo hints = { .ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM };
        struct addrinfo *list = NULL;

        CHECK_EQ(weft_getaddrinfo("127.0.0.1", "80", &hints, &list), 0);
        CHECK(list && list->ai_family == AF_INET);
        freeaddrinfo(list);
}

void foreign_children(void)
{
        char *argv[] = { "sh", "-c", "exit 5", NULL };
        pid_t pid;
        int   status = 0;

        CHECK_EQ(posix_spawn(&pid, "/bin/sh", NULL, NULL, argv, environ), 0);
        CHECK_EQ(weft_waitpid(pid, &status, 0), pid);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 5);
        CHECK_EQ(weft_waitpid(pid, &status, 0), -ECHILD);
}
