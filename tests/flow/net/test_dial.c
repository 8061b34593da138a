/* tests/flow/net/test_dial.c - weft_dial: names, several addresses, and dials without an answer.
 *
 * test: procs=1,2,4 sources=lib/extra/fake_names.c
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/extra/fake_names.h"

#include "os/inject.h"

static int dial_call(void *arg)
{
        return weft_dial("tcp", arg);
}

static void expect_dial(const char *net, const char *addr)
{
        int fd = weft_dial(net, addr);

        CHECK_MSG(fd >= 0, "dial %s %s: %d", net, addr, fd);
        net_close(fd);
}

/* ---- One address ----------------------------------------------------------------------------- */

GO_TEST(a_dial_that_is_refused_returns_an_error)
{
        char where[NET_TEXT];
        int  reserved, port = net_refused_port(&reserved), before = net_sockets();

        snprintf(where, sizeof(where), "127.0.0.1:%d", port);
        for (int i = 0; i < 50; i++)
                CHECK_EQ(weft_dial("tcp", where), -ECONNREFUSED);
        CHECK_EQ(weft_dial("unix", "@weft-without-a-listener"), -ECONNREFUSED);
        snprintf(where, sizeof(where), ":%d", port);
        CHECK_EQ(weft_dial("tcp", where), -ECONNREFUSED);       /* two addresses */
        CHECK_EQ(net_sockets(), before);
        CHECK_EQ(close(reserved), 0);
}

/* A port that is given to the very socket that connects to it: here by force, else by chance. */
TEST(a_socket_connected_to_itself_is_recognized)
{
        struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
        int                fds[2], reserved, port = net_refused_port(&reserved);

        in.sin_port = htons((uint16_t)port);
        CHECK_EQ(test_connect(reserved, &in, sizeof(in)), 0);
        CHECK(w_os_socket_is_self_connected(reserved));
        CHECK_EQ(close(reserved), 0);
        (void)net_full_listener(INADDR_LOOPBACK, 0, fds);
        CHECK(!w_os_socket_is_self_connected(fds[1]));
        CHECK(!w_os_socket_is_self_connected(fds[0]));
        CHECK_EQ(close(fds[0]), 0);
        CHECK_EQ(close(fds[1]), 0);
}

GO_TEST(a_dial_without_an_answer_ends_with_its_scope)
{
        char where[NET_TEXT];
        int  full[2], before;

        snprintf(where, sizeof(where), "127.0.0.1:%d",
                 net_full_listener(INADDR_LOOPBACK, 0, full));
        CHECK_EQ(sync_call_timed(dial_call, where, 0), -ETIMEDOUT);
        CHECK_EQ(sync_call_timed(dial_call, where, 10000000), -ETIMEDOUT);
        before = net_sockets();
        CHECK_EQ(sync_call_timed(dial_call, where, 10000000), -ETIMEDOUT);
        CHECK_EQ(sync_call_cancelled(dial_call, where), -ECANCELED);
        CHECK_EQ(net_sockets(), before);
        CHECK_EQ(close(full[0]), 0);
        CHECK_EQ(close(full[1]), 0);
}

/* ---- Names ----------------------------------------------------------------------------------- */

GO_TEST(names_are_resolved)
{
        char where[NET_TEXT], named[NET_TEXT];
        int  listener = net_listen("tcp", "localhost:0", where);
        int  port = net_port(listener);

        expect_dial("tcp", where);
        snprintf(named, sizeof(named), "localhost:%d", port);
        expect_dial("tcp4", named);
        fake_names(1, INADDR_LOOPBACK, 0, 0);
        snprintf(named, sizeof(named), "list.fake:%d", port);
        expect_dial("tcp", named);
        CHECK_EQ(weft_dial("tcp", "none.fake:1"), -ENOENT);
        CHECK_EQ(weft_dial("tcp", "again.fake:1"), -EAGAIN);
        CHECK_EQ(weft_dial("tcp", "system.fake:1"), -ENFILE);
        CHECK_EQ(weft_listen("tcp", "none.fake:1"), -ENOENT);
        CHECK_EQ(weft_dial("tcp", "127.0.0.1:no-such-service"), -EINVAL);
        CHECK_EQ(weft_dial("tcp", ":no-such-service"), -EINVAL);
        net_close(listener);
        fake_await_none();
}

static void service_main(void *arg)
{
        int fd = weft_listen_packet("udp", "127.0.0.1:domain"), rc = fd;

        (void)arg;
        CHECK_MSG(rc >= 0 || rc == -EACCES || rc == -EADDRINUSE, "%d", rc);
        if (fd >= 0) {
                CHECK_EQ(net_port(fd), 53);
                net_close(fd);
        }
}

TEST(services_have_ports)
{
        if (!getservbyname("domain", "udp"))
                test_skip("this machine knows no services");
        sched_run(service_main, NULL);
}

GO_TEST(a_resolver_that_is_slower_than_the_deadline_is_left)
{
        fake_names(1, INADDR_LOOPBACK, 0, 0);
        CHECK_EQ(sync_call_timed(dial_call, "slow.fake:1", 2000000), -ETIMEDOUT);
        CHECK_EQ(sync_call_cancelled(dial_call, "slow.fake:1"), -ECANCELED);
        fake_await_none();
}

/* ---- Several addresses ----------------------------------------------------------------------- */

enum { ONE = INADDR_LOOPBACK, TWO, THREE };

/* A listener that is silent at 127.0.0.1, a good one at 127.0.0.2, and two addresses that refuse:
 * the port is reserved there. */
struct several {
        int  good, silent[2], refuse[2];
        char where[NET_TEXT];
};

/* -1: the port is in use there. */
static int keep_port(uint32_t addr, int port)
{
        struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr = { htonl(addr) },
                                  .sin_port = htons((uint16_t)port) };
        int                fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        CHECK(fd >= 0);
        if (bind(fd, (void *)&in, sizeof(in)) == 0)
                return fd;
        CHECK_EQ(close(fd), 0);
        return -1;
}

static bool try_ports(struct several *s, int port)
{
        char text[NET_TEXT];

        snprintf(text, sizeof(text), "127.0.0.2:%d", port);
        snprintf(s->where, sizeof(s->where), "list.fake:%d", port);
        s->good = weft_listen("tcp", text);
        s->refuse[0] = keep_port(THREE, port);
        s->refuse[1] = keep_port(THREE + 1, port);
        if (s->good >= 0 && s->refuse[0] >= 0 && s->refuse[1] >= 0)
                return true;
        if (s->good >= 0)
                net_close(s->good);
        for (int i = 0; i < 2; i++)
                if (s->refuse[i] >= 0)
                        CHECK_EQ(close(s->refuse[i]), 0);
        return false;
}

static void several_begin(struct several *s)
{
        while (!try_ports(s, net_full_listener(ONE, 0, s->silent))) {
                CHECK_EQ(close(s->silent[0]), 0);
                CHECK_EQ(close(s->silent[1]), 0);
        }
}

static void several_end(struct several *s)
{
        net_close(s->good);
        for (int i = 0; i < 2; i++) {
                CHECK_EQ(close(s->silent[i]), 0);
                CHECK_EQ(close(s->refuse[i]), 0);
        }
        fake_await_none();
}

GO_TEST(the_first_of_several_that_answers_counts)
{
        struct several s;

        several_begin(&s);
        int before = net_sockets();

        fake_names(2, THREE, TWO, 0);           /* the first refuses */
        expect_dial("tcp", s.where);
        int64_t since = w_os_now();

        fake_names(2, ONE, TWO, 0);             /* the first is silent: a head start */
        expect_dial("tcp", s.where);
        CHECK(w_os_now() - since >= 200000000);
        since = w_os_now();
        fake_names(3, ONE, THREE, TWO);
        expect_dial("tcp", s.where);
        fake_names(2, THREE, THREE + 1, 0);
        CHECK_EQ(weft_dial("tcp", s.where), -ECONNREFUSED);
        fake_names(2, 0xc0000201, THREE, 0);    /* 192.0.2.1: no route, or silent */
        CHECK_EQ(weft_dial("tcp", s.where), -ECONNREFUSED);
        CHECK_EQ(net_sockets(), before);
        several_end(&s);
}

/* The time is shared: the second gets its turn before it is over, unless the machine is busy. */
GO_TEST(several_share_the_time_that_is_left)
{
        struct several s;

        several_begin(&s);
        fake_names(2, ONE, TWO, 0);
        int fd = -ETIMEDOUT;

        for (int i = 0; i < 20 && fd == -ETIMEDOUT; i++)
                fd = sync_call_timed(dial_call, s.where, 200000000);    /* below the head start */
        CHECK_MSG(fd >= 0, "dial: %d", fd);
        net_close(fd);
        int before = net_sockets();

        fake_names(2, ONE, ONE, 0);
        CHECK_EQ(sync_call_timed(dial_call, s.where, 40000000), -ETIMEDOUT);
        CHECK_EQ(sync_call_cancelled(dial_call, s.where), -ECANCELED);
        CHECK_EQ(net_sockets(), before);
        several_end(&s);
}

static void thread_dials(void *arg)
{
        expect_dial("tcp", ((struct several *)arg)->where);
}

GO_TEST(a_thread_dials_several)
{
        struct several     s;
        struct sync_thread t;

        several_begin(&s);
        fake_names(2, THREE, TWO, 0);
        sync_thread_start(&t, thread_dials, &s);
        sync_thread_join(&t);
        several_end(&s);
}

GO_TEST(to_listen_the_first_available_address_is_taken)
{
        fake_names(2, 0xc0000201, TWO, 0);
        int fd = weft_listen("tcp", "list.fake:0");

        CHECK_MSG(fd >= 0, "listen: %d", fd);
        net_close(fd);
        fake_names(1, 0xc0000201, 0, 0);
        CHECK_EQ(weft_listen("tcp", "list.fake:0"), -EADDRNOTAVAIL);
        fake_await_none();
}

/* ---- Refusals -------------------------------------------------------------------------------- */

#if defined(W_DEBUG)
static void injected_main(void *arg)
{
        char where[NET_TEXT];
        int  listener = net_listen("tcp", "127.0.0.1:0", where);

        (void)arg;
        w_inject_once(W_CALL_SOCKET, 1, EMFILE);
        CHECK_EQ(weft_dial("tcp", where), -EMFILE);
        w_inject_once(W_CALL_SOCKET, 2, ENOBUFS);
        int before = net_sockets();

        CHECK_EQ(weft_dial("tcp", where), -ENOBUFS);
        w_inject_off();
        CHECK_EQ(net_sockets(), before);
        net_close(listener);
}
#endif

TEST(a_refused_dial_leaves_no_descriptor)
{
#if defined(W_DEBUG)
        sched_run(injected_main, NULL);
#else
        test_skip("calls are refused in debug builds only");
#endif
}
