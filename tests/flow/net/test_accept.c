/* tests/flow/net/test_accept.c - weft_accept: without descriptors, with a listener that blocks,
 * closed, cancelled.
 *
 * test: procs=1,2,4
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/net.h"

#include "os/inject.h"

static w_atomic_u32 n_accepted;

static int accept_call(void *arg)
{
        return weft_accept(*(int *)arg);
}

static void accept_until_closed(void *arg)
{
        int fd;

        while ((fd = weft_accept(*(int *)arg)) >= 0) {
                w_add_rlx(&n_accepted, 1);
                net_close(fd);
        }
        CHECK(fd == -EBADF || fd == -ENOTSOCK);         /* the number may be a file's by now */
}

/* ---- Errors ---------------------------------------------------------------------------------- */

GO_TEST(what_does_not_listen_is_refused)
{
        char where[NET_TEXT];
        int  fds[2], udp = net_listen("udp", "127.0.0.1:0", where);

        CHECK_EQ(weft_accept(-1), -EBADF);
        CHECK_EQ(weft_accept(100000), -EBADF);
        CHECK_EQ(weft_accept(udp), -EOPNOTSUPP);
        CHECK_EQ(pipe(fds), 0);
        CHECK_EQ(weft_accept(fds[0]), -ENOTSOCK);
        net_close(fds[0]);
        net_close(fds[1]);
        CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);  /* they would wait */
        CHECK_EQ(weft_accept(fds[0]), -EINVAL);
        net_close(fds[0]);
        net_close(fds[1]);
        net_close(udp);
}

GO_TEST(accept_ends_with_its_scope)
{
        char where[NET_TEXT];
        int  listener = net_listen("tcp", "127.0.0.1:0", where);

        CHECK_EQ(sync_call_timed(accept_call, &listener, 0), -ETIMEDOUT);
        CHECK_EQ(sync_call_timed(accept_call, &listener, 1000000), -ETIMEDOUT);
        CHECK_EQ(sync_call_cancelled(accept_call, &listener), -ECANCELED);
        int fd = weft_dial("tcp", where);

        CHECK(fd >= 0);
        int other = weft_accept(listener);

        CHECK(other >= 0);
        net_close(other);
        net_close(fd);
        net_close(listener);
}

GO_TEST(close_ends_all_accepts)
{
        char    where[NET_TEXT];
        int     listener = net_listen("tcp", "127.0.0.1:0", where);
        int64_t ids[5];

        for (int i = 0; i < 5; i++)
                ids[i] = sync_go_waiting(accept_until_closed, &listener);
        net_close(listener);
        for (int i = 0; i < 5; i++)
                sched_join(ids[i]);
        CHECK_EQ(w_load_rlx(&n_accepted), 0);
        CHECK_EQ(weft_dial("tcp", where), -ECONNREFUSED);
        listener = net_listen("tcp", where, where);     /* the same port */
        net_close(listener);
}

static void shared_dial(void *arg)
{
        int fd = weft_dial("tcp", arg);

        CHECK_MSG(fd >= 0, "dial: %d", fd);
        char c;

        CHECK_EQ(weft_read(fd, &c, 1), 0);
        net_close(fd);
}

static void share(int listener, char *where)
{
        int64_t ids[10];

        w_store_rlx(&n_accepted, 0);
        for (int i = 0; i < 10; i++)
                ids[i] = sched_go(accept_until_closed, &listener);
        sync_together(100, shared_dial, where);
        CHECK_EQ(w_load_rlx(&n_accepted), 100);
        net_close(listener);
        for (int i = 0; i < 10; i++)
                sched_join(ids[i]);
}

/* A listener of other code, which blocks. */
static int listen_blocking(char *where)
{
        struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
        int                fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        CHECK(fd >= 0 && bind(fd, (void *)&in, sizeof(in)) == 0 && listen(fd, 128) == 0);
        snprintf(where, NET_TEXT, "127.0.0.1:%d", net_port(fd));
        return fd;
}

/* Each connection is accepted once, and every caller gets the end, also where accept(2) would
 * wait. */
GO_TEST(many_accept_from_one_listener)
{
        char where[NET_TEXT];

        share(net_listen("tcp", "127.0.0.1:0", where), where);
        share(listen_blocking(where), where);
}

GO_TEST(a_listener_that_blocks_can_be_left)
{
        char where[NET_TEXT];
        int  listener = listen_blocking(where), on = 0;

        CHECK_EQ(sync_call_timed(accept_call, &listener, 2000000), -ETIMEDOUT);
        CHECK_EQ(sync_call_cancelled(accept_call, &listener), -ECANCELED);
        int fd = weft_dial("tcp", where), other = weft_accept(listener);

        CHECK(fd >= 0 && other >= 0);
        CHECK(fcntl(other, F_GETFL) & O_NONBLOCK);
        CHECK_EQ(fcntl(listener, F_GETFL) & O_NONBLOCK, 0);
        CHECK_EQ(getsockopt(other, IPPROTO_TCP, TCP_NODELAY, &on, &(socklen_t){ sizeof(on) }), 0);
        CHECK(on);
        net_close(fd);
        net_close(other);
        net_close(listener);
}

/* ---- Without descriptors --------------------------------------------------------------------- */

/* Takes all free numbers except n. Returns how many. */
static int take_all(int *fds, int most, int n)
{
        int taken = 0;

        while (taken < most && (fds[taken] = dup(0)) >= 0)
                taken++;
        CHECK_EQ(errno, EMFILE);
        for (int i = 0; i < n; i++)
                CHECK_EQ(close(fds[--taken]), 0);
        return taken;
}

static void read_one(void *arg)
{
        char c;

        CHECK_EQ(weft_read(*(int *)arg, &c, 1), 1);
}

/* A goroutine has waited for a descriptor, so weft's own descriptors are open. */
static void open_poller(void)
{
        int fds[2];

        CHECK_EQ(pipe(fds), 0);
        int64_t id = sync_go_waiting(read_one, &fds[0]);

        CHECK_EQ(write(fds[1], "x", 1), 1);
        sched_join(id);
        net_close(fds[0]);
        net_close(fds[1]);
}

static void limit_to(rlim_t n)
{
        struct rlimit lim;

        CHECK_EQ(getrlimit(RLIMIT_NOFILE, &lim), 0);
        lim.rlim_cur = n;
        CHECK_EQ(setrlimit(RLIMIT_NOFILE, &lim), 0);
}

static void accept_one(void *arg)
{
        int fd = weft_accept(((int *)arg)[0]);

        CHECK_MSG(fd >= 0, "accept: %d", fd);
        ((int *)arg)[1] = fd;
}

/* The monitor may take some too, for the state of threads, and keeps them: more than there are
 * threads. */
enum { LIMIT = 64, N_SPARE = 16 };

static void shortage_main(void *arg)
{
        char    where[NET_TEXT];
        int     both[2] = { net_listen("tcp", "127.0.0.1:0", where), -1 }, fds[LIMIT];
        bool    by_weft = arg;

        open_poller();
        limit_to(LIMIT);
        int     n = take_all(fds, LIMIT, 1), fd = weft_dial("tcp", where);

        CHECK(fd >= 0);                                 /* that was the last */
        CHECK_EQ(sync_call_timed(accept_call, &both[0], 30000000), -ETIMEDOUT);
        CHECK_EQ(sync_call_cancelled(accept_call, &both[0]), -ECANCELED);
        int64_t id = sync_go_waiting(accept_one, both);

        for (int i = 0; i < N_SPARE; i++)
                if (!by_weft)
                        CHECK_EQ(close(fds[--n]), 0);   /* it finds out by itself */
                else
                        net_close(fds[--n]);
        sched_join(id);
        CHECK_EQ(weft_write(fd, "x", 1), 1);
        char c;

        CHECK_EQ(weft_read(both[1], &c, 1), 1);
        while (n > 0)
                CHECK_EQ(close(fds[--n]), 0);
        net_close(both[0]);
        net_close(both[1]);
        net_close(fd);
}

/* It accepts, closes, and says that there was no room: the connection is gone. */
static void need_true_limits(void)
{
        if (test_under_valgrind())
                test_skip("valgrind keeps limits in its own way");
}

TEST(accept_without_descriptors_waits_and_recovers)
{
        need_true_limits();
        sched_run(shortage_main, NULL);
}

TEST(accept_without_descriptors_hears_of_a_close)
{
        need_true_limits();
        sched_run(shortage_main, "by weft_close");
}

/* Close also ends the callers that back off. */
GO_TEST(close_ends_a_wait_for_descriptors)
{
        char where[NET_TEXT];
        int  listener = net_listen("tcp", "127.0.0.1:0", where), fds[LIMIT];

        open_poller();
        limit_to(LIMIT);
        int n = take_all(fds, LIMIT, 1), fd = weft_dial("tcp", where);

        CHECK(fd >= 0);
        int64_t id = sync_go_waiting(accept_until_closed, &listener);

        CHECK_EQ(weft_sleep(20000000), 0);
        net_close(listener);
        sched_join(id);
        while (n > 0)
                CHECK_EQ(close(fds[--n]), 0);
        net_close(fd);
}

#if defined(W_DEBUG)
static void injected_main(void *arg)
{
        static const int errors[] = { ECONNABORTED, EPROTO, EMFILE, ENFILE, ENOMEM, ENOBUFS,
                                      EHOSTUNREACH };
        char where[NET_TEXT];
        int  listener = net_listen("tcp", "127.0.0.1:0", where);

        (void)arg;
        for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
                int fd = weft_dial("tcp", where);

                CHECK(fd >= 0);
                w_inject_once(W_CALL_ACCEPT, 1, errors[i]);
                int other = weft_accept(listener);

                CHECK_EQ(w_inject_hits(), 1);
                w_inject_off();
                CHECK_MSG(other >= 0, "accept after %d: %d", errors[i], other);
                net_close(other);
                net_close(fd);
        }
        w_inject_once(W_CALL_ACCEPT, 1, EPERM);
        CHECK_EQ(weft_accept(listener), -EPERM);
        w_inject_off();
        net_close(listener);
}
#endif

TEST(accept_goes_on_after_what_passes)
{
#if defined(W_DEBUG)
        sched_run(injected_main, NULL);
#else
        test_skip("calls are refused in debug builds only");
#endif
}

/* ---- Without room for what was accepted ------------------------------------------------------ */

#if defined(W_DEBUG)
/* A non-blocking socket that other code made. */
static int listen_foreign(void)
{
        char where[NET_TEXT];
        int  fd = listen_blocking(where);

        CHECK_EQ(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
        return fd;
}

/* Made by other code: this needs nothing of the runtime. */
static int connect_to(int listener)
{
        struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) },
                                  .sin_port = htons((uint16_t)net_port(listener)) };
        int                fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        CHECK(fd >= 0 && connect(fd, (void *)&in, sizeof(in)) == 0);
        return fd;
}

/* It is the connection of that peer, and can be waited for. */
static void check_works(int fd, int peer)
{
        w_inject_off();
        CHECK_MSG(fd >= 0, "accept: %d", fd);
        int64_t id = sync_go_waiting(read_one, &fd);

        CHECK_EQ(send(peer, "x", 1, MSG_NOSIGNAL), 1);
        sched_join(id);
        net_close(fd);
        CHECK_EQ(close(peer), 0);
}

static void no_room_main(void *arg)
{
        static const int errors[] = { EMFILE, ENFILE, ENOMEM, ENOSPC };
        char             where[NET_TEXT];
        int listeners[] = { net_listen("tcp", "127.0.0.1:0", where), listen_foreign() };

        (void)arg;
        for (size_t i = 0; i < 2 * sizeof(errors) / sizeof(errors[0]); i++) {
                int listener = listeners[i % 2], peer = connect_to(listener);

                w_inject_once(W_CALL_POLLER, 1, errors[i / 2]);
                int fd = weft_accept(listener);

                CHECK_EQ(w_inject_hits(), 1);
                check_works(fd, peer);
        }
        net_close(listeners[0]);
        net_close(listeners[1]);
}

/* The end of the call does not end the connection. */
static void taken_along_main(void *arg)
{
        char where[NET_TEXT];
        int  both[2] = { net_listen("tcp", "127.0.0.1:0", where), -1 };
        int  peer = connect_to(both[0]);

        (void)arg;
        w_inject_from(W_CALL_POLLER, 1, ENOSPC);
        int fd = sync_call_timed(accept_call, &both[0], 20000000);

        CHECK(w_inject_hits() >= 2);
        check_works(fd, peer);
        peer = connect_to(both[0]);
        w_inject_from(W_CALL_POLLER, 1, ENOMEM);
        check_works(sync_call_cancelled(accept_call, &both[0]), peer);
        peer = connect_to(both[0]);
        w_inject_from(W_CALL_POLLER, 1, EMFILE);
        int64_t id = sync_go_waiting(accept_one, both);

        net_close(both[0]);
        sched_join(id);
        check_works(both[1], peer);
}

static void no_poller_main(void *arg)
{
        int listener = listen_foreign(), peer = connect_to(listener);

        (void)arg;
        w_inject_from(W_CALL_POLLER, 1, EMFILE);
        CHECK_EQ(sync_call_timed(accept_call, &listener, 20000000), -ETIMEDOUT);
        CHECK(w_inject_hits() >= 2);
        CHECK_EQ(w_inject_calls(W_CALL_ACCEPT), 0);
        CHECK_EQ(sync_call_cancelled(accept_call, &listener), -ECANCELED);
        w_inject_off();
        check_works(weft_accept(listener), peer);
        net_close(listener);
}

static void no_wait_main(void *arg)
{
        int listener = listen_foreign();

        (void)arg;
        open_poller();
        w_inject_from(W_CALL_POLLER, 1, ENOMEM);
        CHECK_EQ(sync_call_timed(accept_call, &listener, 50000000), -ETIMEDOUT);
        CHECK_MSG(w_inject_hits() < 50, "%u times", w_inject_hits());
        w_inject_off();
        net_close(listener);
}

static void run_injected(void (*fn)(void *))
{
        sched_run(fn, NULL);
}
#else
#define run_injected(fn) test_skip("calls are refused in debug builds only")
#endif

TEST(what_there_is_no_room_for_is_accepted_all_the_same)  { run_injected(no_room_main); }
TEST(a_caller_that_must_leave_returns_what_was_accepted)      { run_injected(taken_along_main); }
TEST(nothing_is_accepted_before_there_is_a_poller)        { run_injected(no_poller_main); }
TEST(accept_that_cannot_wait_pauses_and_ends_in_time)     { run_injected(no_wait_main); }

/* ---- The end --------------------------------------------------------------------------------- */

static int accept_across(void *arg)
{
        return weft_accept(*(int *)arg);
}

TEST(the_end_of_the_run_ends_an_accept)
{
        struct sockaddr_in in = { .sin_family = AF_INET };
        int                fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

        CHECK(fd >= 0 && bind(fd, (void *)&in, sizeof(in)) == 0 && listen(fd, 1) == 0);
        CHECK_EQ(sync_call_across_the_end(accept_across, &fd), -ESHUTDOWN);
        CHECK_EQ(close(fd), 0);
}
