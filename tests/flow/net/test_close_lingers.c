/* tests/flow/net/test_close_lingers.c - other goroutines run during a close(2) that takes long.
 *
 * test: procs=1,2,4 valgrind=no
 * Valgrind assumes that close(2) never waits.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/edge.h"
#include "harness/storm.h"

#include <poll.h>

/* One socket that lingers: close(2) returns once the other end, fds[1], is reset by its close; or,
 * with 0 all the same, at the first signal: the storm must pause while the test waits for it. */
struct lingerer {
        int          fds[2];
        int64_t      ids[2];            /* its users */
        w_atomic_u32 n_left;            /* of them have not returned: one of these closes it */
};

enum { MOST = 5, LINGER_S = 20 };

static uint32_t more_than_ps(void)
{
        return (uint32_t)sched_procs() + 1;
}

static bool has_room(int fd)
{
        struct pollfd pfd = { .fd = fd, .events = POLLOUT };
        int           n;

        do
                n = poll(&pfd, 1, 0);
        while (n < 0 && errno == EINTR);
        CHECK(n >= 0);
        return n == 1;
}

/* The other end takes some of it little by little, without a reader. */
static void fill(int fd)
{
        static const char bytes[1 << 16];

        do {
                while (send(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
                        ;
                test_sleep_us(20000);
        } while (has_room(fd));
}

static void make_lingerer(struct lingerer *l, bool is_edge_triggered)
{
        struct linger wait = { .l_onoff = 1, .l_linger = LINGER_S };

        *l = (struct lingerer){ .n_left = W_ATOMIC_INIT(0) };
        edge_tcp_pair(l->fds);
        if (is_edge_triggered)
                edge_both(l->fds);
        CHECK_EQ(setsockopt(l->fds[0], SOL_SOCKET, SO_LINGER, &wait, sizeof(wait)), 0);
        fill(l->fds[0]);
}

/* ---- The closers ----------------------------------------------------------------------------- */

static void close_it(void *arg)
{
        struct lingerer *l = arg;

        CHECK_EQ(weft_close(l->fds[0]), 0);
        w_sub_acqrel(&l->n_left, 1);
}

static void close_in_region(void *arg)
{
        weft_block_begin();
        close_it(arg);
        weft_block_end();
}

static void close_in_call(void *arg)
{
        CHECK_EQ(weft_blocking(close_it, arg), 0);
}

/* The last user of a number that another goroutine has closed makes the real close(2). */
static void read_it(void *arg)
{
        struct lingerer *l = arg;
        char             c;

        CHECK_EQ(weft_read(l->fds[0], &c, 1), -EBADF);
        w_sub_acqrel(&l->n_left, 1);
}

static void select_it(void *arg)
{
        struct lingerer *l = arg;
        weft_case        cases[] = { WEFT_READABLE(l->fds[0]) };

        CHECK_EQ(weft_select(cases, 1), 0);
        CHECK_EQ(cases[0].result, -EBADF);
        w_sub_acqrel(&l->n_left, 1);
}

/* ---- Other goroutines ------------------------------------------------------------------------ */

static void add_user(struct lingerer *l, void (*fn)(void *))
{
        uint32_t i = w_add_acqrel(&l->n_left, 1);

        l->ids[i] = sched_go(fn, l);
}

/* A goroutine is in close(2), and goroutine 1 returns before that ends. */
static void await_linger(struct lingerer *l)
{
        while (sched_state_of(l->ids[0]) != G_REGION && sched_state_of(l->ids[1]) != G_REGION) {
                CHECK_EQ(weft_sleep(WEFT_MS(1)), 0);
                CHECK_MSG(w_load_acq(&l->n_left) > 0, "the P was kept from others");
        }
}

static void check_and_end(struct lingerer *ls, uint32_t n)
{
        for (uint32_t i = 0; i < n; i++)
                await_linger(&ls[i]);
        test_storm_resume();
        CHECK_EQ(weft_check(), 0);
        for (uint32_t i = 0; i < n; i++)
                CHECK_EQ(weft_close(ls[i].fds[1]), 0);
        for (uint32_t i = 0; i < n; i++)
                for (int k = 0; k < 2 && ls[i].ids[k]; k++)
                        sched_join(ls[i].ids[k]);
}

static void run_closers(void (*fn)(void *), bool is_edge_triggered)
{
        struct lingerer ls[MOST];
        uint32_t        n = more_than_ps();

        for (uint32_t i = 0; i < n; i++)
                make_lingerer(&ls[i], is_edge_triggered);
        test_storm_pause();
        for (uint32_t i = 0; i < n; i++)
                add_user(&ls[i], fn);
        check_and_end(ls, n);
}

static void run_users(void (*fn)(void *), bool is_edge_triggered)
{
        struct lingerer ls[MOST];
        uint32_t        n = more_than_ps();

        for (uint32_t i = 0; i < n; i++) {
                make_lingerer(&ls[i], is_edge_triggered);
                add_user(&ls[i], fn);
                sched_await_parked(ls[i].ids[0]);
        }
        test_storm_pause();
        for (uint32_t i = 0; i < n; i++)
                add_user(&ls[i], close_it);
        check_and_end(ls, n);
}

static void closers_main(void *arg)
{
        (void)arg;
        run_closers(close_it, false);
        run_closers(close_it, true);
}

static void within_main(void *arg)
{
        (void)arg;
        run_closers(close_in_region, true);
        run_closers(close_in_call, true);
}

static void readers_main(void *arg)
{
        (void)arg;
        run_users(read_it, false);
        run_users(read_it, true);
}

static void selects_main(void *arg)
{
        (void)arg;
        run_users(select_it, false);
        run_users(select_it, true);
}

TEST(others_go_on_while_sockets_linger)            { sched_run(closers_main, NULL); }
TEST(others_go_on_while_sockets_linger_in_regions) { sched_run(within_main, NULL); }
TEST(others_go_on_while_readers_close)             { sched_run(readers_main, NULL); }
TEST(others_go_on_while_selects_close)             { sched_run(selects_main, NULL); }

/* ---- Foreign threads, and the end ------------------------------------------------------------ */

static void thread_main(void *arg)
{
        struct sync_thread t;
        struct lingerer    l;

        (void)arg;
        make_lingerer(&l, true);
        w_store_rel(&l.n_left, 1);
        test_storm_pause();
        sync_thread_start(&t, close_it, &l);
        CHECK_EQ(weft_sleep(WEFT_MS(5)), 0);
        CHECK_EQ(w_load_acq(&l.n_left), 1);
        test_storm_resume();
        CHECK_EQ(weft_close(l.fds[1]), 0);
        sync_thread_join(&t);
}

TEST(a_socket_that_a_thread_closes_may_linger) { sched_run(thread_main, NULL); }

static struct lingerer left;

static void leave_main(void *arg)
{
        (void)arg;
        make_lingerer(&left, false);
        test_storm_pause();
        add_user(&left, close_it);
        await_linger(&left);
}

/* Its thread is abandoned. */
TEST(a_run_ends_while_a_socket_lingers)
{
        weft_config cfg = { .shutdown_ms = 20 };

        CHECK_EQ(sched_run_left(&cfg, leave_main, NULL), 1);
        CHECK_EQ(w_load_acq(&left.n_left), 1);
        test_storm_resume();
        CHECK_EQ(close(left.fds[1]), 0);
}
