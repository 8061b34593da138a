/* tests/sim/scenario_net.c - sockets: each connection is made or ends with a clear error, and
 * nothing is leaked.
 *
 * test: seeds=quarter
 *
 * SPDX-License-Identifier: MIT
 */
#include "sim/net_world.h"

enum { N_DIALS = 3, N_BYTES = 9 };

/* ---- Echo ------------------------------------------------------------------------------------ */

/* Sends back what comes; a connection may break at any time. */
static void serve(void *arg)
{
        int           fd = (int)(intptr_t)arg;
        unsigned char c;

        while (weft_read(fd, &c, 1) == 1)
                if (weft_write(fd, &c, 1) != 1)
                        break;
        close_well(fd);
}

static void accept_all(void *arg)
{
        int listener = *(int *)arg;

        for (;;) {
                int fd = weft_accept(listener);

                if (fd == -EBADF)
                        return;
                SIM_CHECK(fd >= 0, "accept: %d", fd);
                (void)sched_go(serve, (void *)(intptr_t)fd);
        }
}

static void talk(int fd, bool breaks)
{
        uint32_t n = sim_random(N_BYTES);

        for (uint32_t i = 0; i < n; i++) {
                unsigned char c = (unsigned char)(i + 1), got = 0;
                ssize_t       rc = weft_write(fd, &c, 1);

                if (rc == 1)
                        rc = weft_read(fd, &got, 1);
                if (breaks && (rc == -ECONNRESET || rc == -EPIPE || rc == 0))
                        return;
                SIM_CHECK(rc == 1 && got == c, "%ld, byte %u for %u", (long)rc, got, c);
        }
}

static void dial_and_talk(void *arg)
{
        char where[NET_TEXT];
        bool breaks = sim_random(3) == 0;

        net_where(where, breaks ? SIM_RESETS : SIM_GOOD, *(uint32_t *)arg);
        int fd = weft_dial("tcp", where);

        if (breaks && fd == -ECONNRESET)
                return;
        SIM_CHECK(fd >= 0, "dial: %d", fd);
        talk(fd, breaks);
        close_well(fd);
}

static void echo_first(void *arg)
{
        uint32_t port;
        int      listener = net_listen(&port);
        int64_t  ids[N_DIALS], server = sched_go(accept_all, &listener);

        (void)arg;
        for (int i = 0; i < N_DIALS; i++)
                ids[i] = sched_go(dial_and_talk, &port);
        for (int i = 0; i < N_DIALS; i++)
                sched_join(ids[i]);
        close_well(listener);
        sched_join(server);
        net_quiet();
}

static void echo_main(void)
{
        weft_config cfg = { .procs = 1 + (int)sim_random(3) };

        sched_run_well(&cfg, echo_first);
}

SIM_SCENARIO(net_echo, "connections are made, used and broken", echo_main,
             .max_steps = SCHED_MAX_STEPS)

/* ---- Without descriptors --------------------------------------------------------------------- */

enum { PAUSE_NS = 100000000 };  /* the longest pause of a back-off */

static void accept_one(void *arg)
{
        int fd = weft_accept(*(int *)arg);

        SIM_CHECK(fd >= 0, "accept: %d", fd);
        close_well(fd);
}

static void dial_and_keep(void *arg)
{
        char where[NET_TEXT];

        net_where(where, SIM_GOOD, *(uint32_t *)arg);
        int fd = weft_dial("tcp", where);

        SIM_CHECK(fd >= 0, "dial: %d", fd);
        unsigned char c;
        ssize_t       rc = weft_read(fd, &c, 1);

        SIM_CHECK(rc == 0, "read: %ld", (long)rc);
        close_well(fd);
}

/* There is one number too few, until something is closed: a close ends the pause long before its
 * time. */
static void scarce_first(void *arg)
{
        uint32_t port;
        int      spare[2], listener = net_listen(&port);

        (void)arg;
        sim_pipe(spare);
        sim_fds_at_most(4);             /* the listener, the pipe, and the dialers */
        int64_t dialler = sched_go(dial_and_keep, &port), server = sched_go(accept_one, &listener);

        SIM_CHECK(weft_sleep(5 * PAUSE_NS + (int64_t)sim_random(PAUSE_NS)) == 0, "sleep");
        int64_t since = sim_now();

        close_well(spare[0]);
        sched_join(server);
        sched_join(dialler);
        SIM_CHECK(sim_now() - since < PAUSE_NS / 2, "after %ld ns", (long)(sim_now() - since));
        close_well(spare[1]);
        close_well(listener);
        sim_fds_at_most(0);
        net_quiet();
}

static void scarce_main(void)
{
        weft_config cfg = { .procs = 1 + (int)sim_random(2) };

        sched_run_well(&cfg, scarce_first);
}

SIM_SCENARIO(net_scarce, "an accept without descriptors continues as soon as one is closed",
             scarce_main, .max_steps = SCHED_MAX_STEPS)

static w_atomic_u32 n_served;

static void expect_closed(void *arg)
{
        int fd = weft_accept(*(int *)arg);

        w_add_rlx(&n_served, 1);
        SIM_CHECK(fd >= 0 || fd == -EBADF, "accept: %d", fd);
        if (fd >= 0)
                close_well(fd);
}

/* The listener itself is closed, while an accept backs off or is about to. */
static void scarce_close_first(void *arg)
{
        char     where[NET_TEXT];
        uint32_t port;
        int      listener = net_listen(&port);

        (void)arg;
        w_store_rlx(&n_served, 0);
        net_where(where, SIM_GOOD, port);
        int fd = weft_dial("tcp", where);

        SIM_CHECK(fd >= 0, "dial: %d", fd);
        sim_fds_at_most(2);
        int64_t server = sched_go(expect_closed, &listener);

        while (n_users(listener) == 0 && w_load_rlx(&n_served) == 0)
                weft_yield();
        sim_work(sim_random(2u << sim_random(14)));
        int64_t since = sim_now();

        close_well(listener);
        sched_join(server);
        SIM_CHECK(sim_now() - since < 4000000, "after %ld ns", (long)(sim_now() - since));
        close_well(fd);
        sim_fds_at_most(0);
        net_quiet();
}

static void scarce_close_main(void)
{
        weft_config cfg = { .procs = 1 + (int)sim_random(3) };

        sched_run_well(&cfg, scarce_close_first);
}

SIM_SCENARIO(net_scarce_close, "a listener is closed while an accept waits for descriptors",
             scarce_close_main, .max_steps = SCHED_MAX_STEPS)

/* ---- Without room for what was accepted ------------------------------------------------------ */

static bool is_refusal(ssize_t rc)
{
        return rc == -EMFILE || rc == -ENOMEM;
}

static int accept_hurriedly(int listener)
{
        weft_scope s;

        SIM_CHECK(weft_scope_open(&s, sim_random(PAUSE_NS / 4)) == 0, "open");
        int fd = weft_accept(listener);

        SIM_CHECK(weft_scope_close(&s) == 0, "close");
        return fd;
}

/* Each connection gets a byte; some are gone by then. */
static void greet_all(void *arg)
{
        int on = *(int *)arg, fd;

        while ((fd = sim_random(2) ? weft_accept(on) : accept_hurriedly(on)) != -EBADF) {
                SIM_CHECK(fd >= 0 || fd == -ETIMEDOUT, "accept: %d", fd);
                if (fd < 0)
                        continue;
                ssize_t rc = weft_write(fd, "x", 1);

                SIM_CHECK(rc == 1 || rc == -EPIPE, "write: %ld", (long)rc);
                close_well(fd);
        }
}

static void dial_and_be_greeted(void *arg)
{
        char          where[NET_TEXT];
        unsigned char c;
        int           fd;

        net_where(where, SIM_GOOD, *(uint32_t *)arg);
        while (is_refusal(fd = weft_dial("tcp", where)))
                ;
        SIM_CHECK(fd >= 0, "dial: %d", fd);
        ssize_t rc = weft_read(fd, &c, 1);

        SIM_CHECK(rc == 1, "accepted, and dropped: %ld", (long)rc);
        close_well(fd);
}

/* Made by weft, or by other code. */
static int listen_somehow(uint32_t *port)
{
        struct w_os_addr any = { .family = W_OS_IP4 };

        if (sim_random(2))
                return net_listen(port);
        int fd = w_os_socket_open(W_OS_IP4, W_OS_STREAM);

        w_os_addr_ip4(&any, (const uint8_t[4]){ 0 }, 0);
        SIM_CHECK(fd >= 0 && w_os_socket_bind(fd, &any, W_OS_STREAM, false) == 0 &&
                  w_os_socket_listen(fd) == 0, "listen");
        *port = sim_port(fd);
        return fd;
}

static void no_room_first(void *arg)
{
        uint32_t port;
        int      listener = listen_somehow(&port);
        int64_t  servers[2], ids[N_DIALS];

        (void)arg;
        sim_poller_refuses(400);
        for (int i = 0; i < 2; i++)
                servers[i] = sched_go(greet_all, &listener);
        for (int i = 0; i < N_DIALS; i++)
                ids[i] = sched_go(dial_and_be_greeted, &port);
        for (int i = 0; i < N_DIALS; i++)
                sched_join(ids[i]);
        sim_poller_refuses(0);
        close_well(listener);
        for (int i = 0; i < 2; i++)
                sched_join(servers[i]);
        net_quiet();
}

static void no_room_main(void)
{
        weft_config cfg = { .procs = 1 + (int)sim_random(3) };

        sched_run_well(&cfg, no_room_first);
}

SIM_SCENARIO(net_no_room, "no connection is dropped though the poller has no room for it",
             no_room_main, .max_steps = SCHED_MAX_STEPS)

/* ---- Connections that are gone --------------------------------------------------------------- */

static void accept_many(void *arg)
{
        int fd;

        while ((fd = weft_accept(*(int *)arg)) >= 0) {
                w_add_rlx(&n_served, 1);
                close_well(fd);
        }
        SIM_CHECK(fd == -EBADF, "accept: %d", fd);
}

static void dial_until_served(void *arg)
{
        char where[NET_TEXT];

        net_where(where, SIM_GOOD, *(uint32_t *)arg);
        for (;;) {
                int           fd = weft_dial("tcp", where);
                unsigned char c;

                SIM_CHECK(fd >= 0 || fd == -ECONNRESET, "dial: %d", fd);
                if (fd < 0)
                        continue;
                ssize_t rc = weft_read(fd, &c, 1);

                close_well(fd);
                SIM_CHECK(rc == 0 || rc == -ECONNRESET, "read: %ld", (long)rc);
                if (rc == 0)
                        return;
        }
}

static void aborts_first(void *arg)
{
        uint32_t port;
        int      listener = net_listen(&port);
        int64_t  servers[2], ids[N_DIALS];

        (void)arg;
        w_store_rlx(&n_served, 0);
        sim_accepts_abort(300);
        for (int i = 0; i < 2; i++)
                servers[i] = sched_go(accept_many, &listener);
        for (int i = 0; i < N_DIALS; i++)
                ids[i] = sched_go(dial_until_served, &port);
        for (int i = 0; i < N_DIALS; i++)
                sched_join(ids[i]);
        SIM_CHECK(w_load_rlx(&n_served) >= N_DIALS, "%u served", w_load_rlx(&n_served));
        sim_accepts_abort(0);
        close_well(listener);
        for (int i = 0; i < 2; i++)
                sched_join(servers[i]);
        net_quiet();
}

static void aborts_main(void)
{
        weft_config cfg = { .procs = 1 + (int)sim_random(3) };

        sched_run_well(&cfg, aborts_first);
}

SIM_SCENARIO(net_aborts, "connections that are gone before they are accepted", aborts_main,
             .max_steps = SCHED_MAX_STEPS)
