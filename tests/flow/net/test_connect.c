/* tests/flow/net/test_connect.c - weft_connect on foreign sockets, with and without O_NONBLOCK.
 *
 * test: procs=1,2,4
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/net.h"

struct target {
        struct sockaddr_in in;
        int                fd;
};

static struct target target_at(uint32_t addr, int port, int flags)
{
        struct target t = { .in = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port),
                                    .sin_addr = { htonl(addr) } } };

        t.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
        CHECK(t.fd >= 0);
        return t;
}

static int connect_call(void *arg)
{
        struct target *t = arg;

        return weft_connect(t->fd, (void *)&t->in, sizeof(t->in));
}

static void both_kinds(void (*fn)(int flags))
{
        fn(0);
        fn(SOCK_NONBLOCK);
}

/* ---- Success --------------------------------------------------------------------------------- */

static void well(int flags)
{
        char          where[NET_TEXT];
        int           listener = net_listen("tcp", "127.0.0.1:0", where);
        struct target t = target_at(INADDR_LOOPBACK, net_port(listener), flags);
        int           before = fcntl(t.fd, F_GETFL);

        CHECK_EQ(connect_call(&t), 0);
        CHECK_EQ(fcntl(t.fd, F_GETFL), before);
        int other = weft_accept(listener);

        CHECK(other >= 0);
        CHECK_EQ(weft_write(t.fd, "x", 1), 1);
        char c;

        CHECK_EQ(weft_read(other, &c, 1), 1);
        CHECK_EQ(connect_call(&t), -EISCONN);
        net_close(other);
        net_close(t.fd);
        net_close(listener);
}

static void well_main(void *arg)
{
        (void)arg;
        both_kinds(well);
}

TEST(connect_works_on_any_socket_and_leaves_its_flags)
{
        sched_run(well_main, NULL);
}

static void refused(int flags)
{
        int           reserved, port = net_refused_port(&reserved);
        struct target t = target_at(INADDR_LOOPBACK, port, flags);

        CHECK_EQ(connect_call(&t), -ECONNREFUSED);
        net_close(t.fd);
        CHECK_EQ(close(reserved), 0);
}

GO_TEST(connect_says_why_not)
{
        struct target t = target_at(INADDR_LOOPBACK, 1, 0);
        int           fds[2];

        both_kinds(refused);
        CHECK_EQ(weft_connect(-1, (void *)&t.in, sizeof(t.in)), -EBADF);
        CHECK_EQ(weft_connect(t.fd, NULL, 0), -EFAULT);
        CHECK_EQ(weft_connect(t.fd, (void *)&t.in, 1000), -EINVAL);
        CHECK_EQ(weft_connect(t.fd, (void *)&t.in, 1), -EINVAL);
        CHECK_EQ(sync_call_timed(connect_call, &t, 0), -ETIMEDOUT);
        net_close(t.fd);
        CHECK_EQ(pipe(fds), 0);
        CHECK_EQ(weft_connect(fds[0], (void *)&t.in, sizeof(t.in)), -ENOTSOCK);
        net_close(fds[0]);
        net_close(fds[1]);
}

GO_TEST(packet_sockets_connect_at_once)
{
        char               where[NET_TEXT];
        int                udp = net_listen("udp", "127.0.0.1:0", where);
        struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) },
                                  .sin_port = htons((uint16_t)net_port(udp)) };
        int                fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

        CHECK_EQ(weft_connect(fd, (void *)&in, sizeof(in)), 0);
        CHECK_EQ(weft_write(fd, "x", 1), 1);
        char c;

        CHECK_EQ(weft_read(udp, &c, 1), 1);
        net_close(fd);
        net_close(udp);
}

/* ---- No answer ------------------------------------------------------------------------------- */

static int full[2], full_port;

static void timed(int flags)
{
        struct target t = target_at(INADDR_LOOPBACK, full_port, flags);

        CHECK_EQ(sync_call_timed(connect_call, &t, 20000000), -ETIMEDOUT);
        CHECK_EQ(sync_call_timed(connect_call, &t, 20000000), -ETIMEDOUT);
        net_close(t.fd);
        t = target_at(INADDR_LOOPBACK, full_port, flags);
        CHECK_EQ(sync_call_cancelled(connect_call, &t), -ECANCELED);
        net_close(t.fd);
}

static void expect_ebadf(void *arg)
{
        CHECK_EQ(connect_call(arg), -EBADF);
}

static void closed(int flags)
{
        struct target t = target_at(INADDR_LOOPBACK, full_port, flags);
        int64_t       id = sync_go_waiting(expect_ebadf, &t);

        net_close(t.fd);
        sched_join(id);
}

static void thread_call(void *arg)
{
        CHECK_EQ(sync_call_timed(connect_call, arg, 20000000), -ETIMEDOUT);
}

static void from_thread(int flags)
{
        struct target      t = target_at(INADDR_LOOPBACK, full_port, flags);
        struct sync_thread thread;

        sync_thread_start(&thread, thread_call, &t);
        while (weft_sleep(1000000) == 0 && pthread_tryjoin_np(thread.thread, NULL) != 0)
                ;
        net_close(t.fd);
}

static void silent_main(void *arg)
{
        (void)arg;
        full_port = net_full_listener(INADDR_LOOPBACK, 0, full);
        both_kinds(timed);
        both_kinds(closed);
        both_kinds(from_thread);
        net_close(full[0]);
        net_close(full[1]);
        while (weft_count() > 1)        /* threads that connect come back */
                CHECK_EQ(weft_sleep(1000000), 0);
}

TEST(a_connect_without_an_answer_can_be_left)
{
        struct test_resources before = test_resources_now();

        sched_run(silent_main, NULL);
        CHECK_EQ(test_resources_now().descriptors, before.descriptors);
}

/* The run ends with a thread in connect(2): the thread is abandoned, or comes back in time. */
static void stuck(void *arg)
{
        (void)connect_call(arg);
}

static void left_main(void *arg)
{
        static struct target t;

        (void)arg;
        full_port = net_full_listener(INADDR_LOOPBACK, 0, full);
        t = target_at(INADDR_LOOPBACK, full_port, 0);
        (void)sync_go_waiting(stuck, &t);
        CHECK_EQ(weft_sleep(5000000), 0);
}

TEST(a_run_ends_during_a_connect)
{
        weft_config cfg = { .shutdown_ms = 50 };

        if (test_under_valgrind())
                test_skip("valgrind reports the memory of an abandoned thread as lost");
        test_set_dump(sched_dump);
        int n_left = sched_run_left(&cfg, left_main, NULL);

        CHECK_MSG(n_left == 0 || n_left == 1, "%d threads are abandoned", n_left);
        sched_run(well_main, NULL);
}

/* ---- Unix ------------------------------------------------------------------------------------ */

static void late_accept(void *arg)
{
        CHECK_EQ(weft_sleep(10000000), 0);
        for (int i = 0; i < 3; i++)
                net_close(weft_accept(*(int *)arg));
}

/* A full queue of a unix listener cannot be waited for. */
GO_TEST(a_full_queue_of_a_unix_listener_is_waited_for)
{
        struct sockaddr_un un = { .sun_family = AF_UNIX };
        int                fds[3], listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        snprintf(un.sun_path + 1, sizeof(un.sun_path) - 1, "weft-queue-%ld", (long)getpid());
        CHECK_EQ(bind(listener, (void *)&un, sizeof(un)), 0);
        CHECK_EQ(listen(listener, 0), 0);
        int64_t id = sched_go(late_accept, &listener);

        for (int i = 0; i < 3; i++) {
                int flags = SOCK_CLOEXEC | (i == 1 ? 0 : SOCK_NONBLOCK);

                fds[i] = socket(AF_UNIX, SOCK_STREAM | flags, 0);
                CHECK_EQ(weft_connect(fds[i], (void *)&un, sizeof(un)), 0);
        }
        sched_join(id);
        for (int i = 0; i < 3; i++)
                net_close(fds[i]);
        net_close(listener);
}
