/* tests/flow/net/test_fd_order.c - the longest wait for a descriptor is served first.
 *
 * One event at a time: before the next event the test knows which waiter was served, and that all
 * other waiters are in the queue again.
 *
 * test: procs=1,2,4
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/edge.h"
#include "lib/fd_waiters.h"

enum { N_WAITERS = 5, N_ROUNDS = 3, N_STOLEN = 20, PAGE = 4096 };

static struct {
        int          fds[2];
        size_t       size;              /* of what each asks for */
        w_atomic_u32 n_served;
        int64_t      served[N_WAITERS]; /* ids, in order */
} world;

static void served(void)
{
        world.served[w_load_rlx(&world.n_served)] = weft_id();
        w_add_acqrel(&world.n_served, 1);
}

static void read_once(void *arg)
{
        char buf[16];

        (void)arg;
        CHECK_EQ(weft_read(world.fds[0], buf, world.size), 1);
        served();
}

static void write_once(void *arg)
{
        static const char page[PAGE];

        (void)arg;
        CHECK_EQ(weft_write(world.fds[1], page, PAGE), PAGE);
        served();
}

static void await_waiters(int fd, int way, uint32_t n)
{
        while (fd_waiters_count(fd, way) != n)
                weft_yield();
}

/* They come one by one and are served in that order. happen() makes something available for one of
 * them. */
static void serve_all(int way, void (*wait)(void *), void (*happen)(void))
{
        int     fd = world.fds[way];
        int64_t ids[N_WAITERS];

        w_store_rlx(&world.n_served, 0);
        for (uint32_t i = 0; i < N_WAITERS; i++) {
                ids[i] = sched_go(wait, NULL);
                await_waiters(fd, way, i + 1);
        }
        for (uint32_t i = 0; i < N_WAITERS; i++) {
                happen();
                sched_await(&world.n_served, i + 1);
                CHECK_MSG(world.served[i] == ids[i], "%lld was served before %lld, round %u",
                          (long long)world.served[i], (long long)ids[i], i);
                await_waiters(fd, way, N_WAITERS - 1 - i);
        }
        for (uint32_t i = 0; i < N_WAITERS; i++)
                sched_join(ids[i]);
}

static void write_byte(void)
{
        CHECK_EQ(weft_write(world.fds[1], "x", 1), 1);
}

static void read_page(void)
{
        char page[PAGE];

        CHECK_EQ(weft_read(world.fds[0], page, PAGE), PAGE);
}

/* ---- Readers --------------------------------------------------------------------------------- */

/* They ask for what they get, and need not know whether there is more; or for more. */
static void read_in_order(void)
{
        for (int i = 0; i < N_ROUNDS; i++) {
                world.size = i % 2 ? 16 : 1;
                serve_all(W_DIR_IN, read_once, write_byte);
        }
        edge_close(world.fds);
}

GO_TEST(readers_of_an_edge_triggered_socket_are_served_in_order)
{
        edge_unix_pair(world.fds);
        edge_both(world.fds);
        read_in_order();
}

GO_TEST(readers_of_an_edge_triggered_connection_are_served_in_order)
{
        edge_tcp_pair(world.fds);
        edge_both(world.fds);
        read_in_order();
}

GO_TEST(readers_of_a_one_shot_descriptor_are_served_in_order)
{
        edge_unix_pair(world.fds);
        read_in_order();
        edge_tcp_pair(world.fds);
        read_in_order();
        CHECK_EQ(pipe2(world.fds, O_CLOEXEC), 0);
        read_in_order();
}

/* Other code may be quicker to take the bytes; the waiter that was woken is still the first. */
static void write_some(void)
{
        char c;

        for (int i = 0; i < N_STOLEN; i++) {
                write_byte();
                if (i % 2)
                        weft_yield();
                if (read(world.fds[0], &c, 1) < 0)
                        return;         /* it was not quicker */
        }
        write_byte();
}

GO_TEST(a_waiter_woken_in_vain_is_still_the_first)
{
        edge_unix_pair(world.fds);
        world.size = 1;
        for (int i = 0; i < N_ROUNDS; i++)
                serve_all(W_DIR_IN, read_once, write_some);
        edge_close(world.fds);
}

/* ---- Writers --------------------------------------------------------------------------------- */

/* A page that is read makes room for one of them. */
GO_TEST(writers_are_served_in_order)
{
        static char pages[1 << 20];

        CHECK_EQ(pipe2(world.fds, O_CLOEXEC | O_NONBLOCK), 0);
        while (write(world.fds[1], pages, PAGE) == PAGE)
                ;
        for (int i = 0; i < N_ROUNDS; i++)
                serve_all(W_DIR_OUT, write_once, read_page);
        edge_close(world.fds);
}
