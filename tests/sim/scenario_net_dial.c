/* tests/sim/scenario_net_dial.c - names and several addresses: PROTOCOL offload and the race of
 * net/dial.c.
 *
 * test: seeds=quarter
 *
 * SPDX-License-Identifier: MIT
 */
#include "net/resolve.h"
#include "sim/net_world.h"

#include <netdb.h>      /* struct addrinfo, EAI_* */
#include <string.h>

enum { N_CALLERS = 5, N_DIALERS = 3, LONG_NS = 1600000000, QUICK_NS = 800000000 };

/* ---- Names ----------------------------------------------------------------------------------- */

static int ask(const char *name)
{
        struct addrinfo *res = NULL;
        int              rc = weft_getaddrinfo(name, "80", NULL, &res);

        SIM_CHECK((rc == 0) == (res != NULL), "%d, but an answer", rc);
        w_os_lookup_free(res);
        return rc;
}

static void ask_and_wait(void *arg)
{
        (void)arg;
        int rc = ask(sim_random(2) ? "w-4g" : "6g-4g");

        SIM_CHECK(rc == 0, "lookup: %d", rc);
        rc = ask("x");
        SIM_CHECK(rc == EAI_NONAME, "lookup of an unknown name: %d", rc);
}

/* arg: the run may end. */
static void ask_hurriedly(void *arg)
{
        for (int i = 0; i < 2; i++) {
                weft_scope s;

                SIM_CHECK(weft_scope_open(&s, sim_random(2u << sim_random(22))) == 0, "open");
                int rc = ask(sim_random(2) ? "w-4g" : "6g-4g");

                SIM_CHECK(rc == 0 || rc == EAI_CANCELED || (rc == -ESHUTDOWN && arg),
                          "lookup: %d", rc);
                SIM_CHECK(rc != EAI_CANCELED || weft_cancelled() == -ETIMEDOUT, "in time");
                SIM_CHECK(weft_scope_close(&s) == 0, "close");
        }
}

static void lookup_first(void *arg)
{
        int64_t ids[N_CALLERS];

        (void)arg;
        for (int i = 0; i < N_CALLERS; i++)
                ids[i] = sched_go(sim_random(2) ? ask_hurriedly : ask_and_wait, NULL);
        for (int i = 0; i < N_CALLERS; i++)
                sched_join(ids[i]);
        net_quiet();
}

static void lookup_main(void)
{
        weft_config cfg = { .procs = 1 + (int)sim_random(3) };

        sched_run_well(&cfg, lookup_first);
}

SIM_SCENARIO(net_lookup, "names are looked up, two at a time; some callers do not wait",
             lookup_main, .max_steps = SCHED_MAX_STEPS)

/* Threads ask; the run may end meanwhile, and frees results that no caller takes. */
static void thread_asks(void *arg)
{
        (void)arg;
        foreign_begin();
        int rc = ask("w-4g");

        SIM_CHECK(rc == 0 || rc == -ESHUTDOWN, "lookup: %d", rc);
}

static struct worker caller;

static void lookup_end_first(void *arg)
{
        (void)arg;
        worker_start(&caller, "caller", thread_asks, NULL);
        for (int i = 0; i < 2; i++)
                (void)sched_go(ask_hurriedly, &caller);
        if (sim_random(2))
                SIM_CHECK(weft_sleep(sim_random(4000000)) == 0, "sleep");
}

static void lookup_end_main(void)
{
        for (int i = 0; i < 2; i++) {
                sched_run_well(NULL, lookup_end_first);
                worker_join(&caller);
                SIM_CHECK(sim_lists_left() == 0, "%u answers were not freed", sim_lists_left());
        }
        sched_run_well(NULL, lookup_first);     /* all is well again */
}

SIM_SCENARIO(net_lookup_end, "runs end while names are looked up", lookup_end_main,
             .max_steps = SCHED_MAX_STEPS)

/* No memory, no thread: the queued callers get the error. */
static void ask_in_vain(void *arg)
{
        (void)arg;
        int rc = ask("4g");

        SIM_CHECK(rc == 0 || rc == EAI_MEMORY, "lookup: %d", rc);
}

static void lookup_refused_first(void *arg)
{
        int64_t ids[N_CALLERS];

        (void)arg;
        for (int i = 0; i < N_CALLERS; i++)
                ids[i] = weft_go(ask_in_vain, NULL);
        for (int i = 0; i < N_CALLERS; i++)
                if (ids[i] > 0)
                        sched_join(ids[i]);
}

static void lookup_refused_main(void)
{
        sched_work_may_wait = true;
        (void)sched_run(NULL, lookup_refused_first);
        SIM_CHECK(sim_lists_left() == 0, "%u answers were not freed", sim_lists_left());
}

SIM_SCENARIO(net_lookup_refused, "names are looked up with calls that fail", lookup_refused_main,
             .calls_fail = true, .max_steps = SCHED_MAX_STEPS)

/* ---- Several addresses ----------------------------------------------------------------------- */

/* The addresses that a name stands for, in the order in which they are tried. */
static void expect_order(const char *name, enum addr_use use, const char *order)
{
        struct addrs     as;
        struct net       net;
        struct w_os_addr addr;
        char             tried[NET_TEXT] = "", where[NET_TEXT];
        size_t           n = 0;

        SIM_CHECK(w_net_parse("tcp", &net), "no network");
        snprintf(where, sizeof(where), "%s:7", name);
        W_ENTER();
        int rc = w_addrs_find(&as, &net, where, use);

        SIM_CHECK(rc == 0, "%s: %d", name, rc);
        while (w_addrs_next(&as, &addr))
                tried[n++] = addr.family == W_OS_IP6 ? '6' : '4';
        w_addrs_end(&as);
        W_LEAVE();
        SIM_CHECK(strcmp(tried, order) == 0, "%s: in the order %s", name, tried);
}

static void order_first(void *arg)
{
        (void)arg;
        expect_order("6g-6b-4g-4b", W_TO_DIAL, "6464");
        expect_order("4g-4b-6g-6b", W_TO_DIAL, "4646");
        expect_order("w-6g-6b-6r-4b", W_TO_DIAL, "6466");
        expect_order("6g-6b-4g-4b", W_TO_LISTEN, "4466");
        net_quiet();
}

static void order_main(void)
{
        sched_run_well(NULL, order_first);
}

SIM_SCENARIO(net_order, "to dial, the families take turns, beginning with the first", order_main,
             .max_steps = SCHED_MAX_STEPS)

static void accept_all(void *arg)
{
        int fd;

        while ((fd = weft_accept(*(int *)arg)) >= 0)
                close_well(fd);
        SIM_CHECK(fd == -EBADF, "accept: %d", fd);
}

/* The result for a name with these addresses, if there is time. 0: a connection. */
static int expected_of(const char *name)
{
        if (strpbrk(name, "gs"))
                return 0;
        return strchr(name, 'r') ? -ECONNREFUSED : strchr(name, 'u') ? -ENETUNREACH : -ETIMEDOUT;
}

static void dial_name(const char *name, uint32_t port, int64_t timeout)
{
        char       where[NET_TEXT];
        weft_scope s;

        snprintf(where, sizeof(where), "%s:%u", name, port);
        int64_t since = sim_now();

        SIM_CHECK(weft_scope_open(&s, timeout) == 0, "open");
        int fd = weft_dial("tcp", where), wanted = expected_of(name);

        SIM_CHECK((wanted == 0 ? fd >= 0 : fd == wanted) ||
                  (fd == -ETIMEDOUT && weft_cancelled() == -ETIMEDOUT),
                  "dial %s: %d", name, fd);
        if (timeout > LONG_NS / 2)
                SIM_CHECK(wanted == 0 ? fd >= 0 : fd == wanted, "dial %s in time: %d", name, fd);
        SIM_CHECK(fd < 0 || sim_now() - since < QUICK_NS, "only after %ld ns",
                  (long)(sim_now() - since));
        if (fd >= 0)
                close_well(fd);
        SIM_CHECK(weft_scope_close(&s) == 0, "close");
}

static uint32_t good_port;

static void dial_some(void *arg)
{
        static const char *const names[] = { "4g", "6b-4g", "6r-4g", "6g-4g", "6u-6b-4g", "6r-4r",
                                             "6u-4r",
                                             "6u-4u", "6b-4b", "6s-4g", "4s-6g", "4s-6s", "4r-6u",
                                             "w-6r-4r-4g" };

        (void)arg;
        dial_name(names[sim_random(sizeof(names) / sizeof(names[0]))], good_port,
                  sim_random(2) ? LONG_NS : 1 + sim_random(2u << sim_random(27)));
}

static void dial_first(void *arg)
{
        int     listener = net_listen(&good_port);
        int64_t ids[N_DIALERS], server = sched_go(accept_all, &listener);

        (void)arg;
        for (int i = 0; i < N_DIALERS; i++)
                ids[i] = sched_go(dial_some, NULL);
        for (int i = 0; i < N_DIALERS; i++)
                sched_join(ids[i]);
        close_well(listener);
        sched_join(server);
        net_quiet();
}

static void dial_main(void)
{
        weft_config cfg = { .procs = 1 + (int)sim_random(3) };

        sched_run_well(&cfg, dial_first);
}

SIM_SCENARIO(net_dial, "of several addresses the first that answers counts, the others are closed",
             dial_main, .max_steps = SCHED_MAX_STEPS)

static void dial_refused_first(void *arg)
{
        char     where[NET_TEXT];
        uint32_t port = 9;

        (void)arg;
        for (int i = 0; i < 3; i++) {
                snprintf(where, sizeof(where), "%s:%u", i ? "6r-4u-4r" : "4r", port);
                int fd = weft_dial("tcp", where);

                SIM_CHECK(fd < 0, "dial of an unknown name: %d", fd);
        }
}

static void dial_refused_main(void)
{
        sched_work_may_wait = true;
        (void)sched_run(NULL, dial_refused_first);
        SIM_CHECK(sim_lists_left() == 0, "%u answers were not freed", sim_lists_left());
}

SIM_SCENARIO(net_dial_refused, "dialling with calls that fail", dial_refused_main,
             .calls_fail = true, .max_steps = SCHED_MAX_STEPS)

/* ---- A socket that blocks -------------------------------------------------------------------- */

static void connect_blocking(void *arg)
{
        int              way = sim_random(2) ? SIM_BLACK : SIM_GOOD;
        uint8_t          ip[4] = { 10, 0, 0, (uint8_t)way };
        struct w_os_addr addr;
        weft_scope       s;
        int              fd = w_os_socket_open(W_OS_IP4, W_OS_STREAM);

        SIM_CHECK(fd >= 0, "socket: %d", fd);
        sim_socket_blocks(fd);
        w_os_addr_ip4(&addr, ip, (uint16_t)*(uint32_t *)arg);
        SIM_CHECK(weft_scope_open(&s, sim_random(2u << sim_random(22))) == 0, "open");
        int rc = weft_connect(fd, (void *)addr.bytes, addr.len);

        SIM_CHECK((rc == 0 && way == SIM_GOOD) || rc == -ETIMEDOUT, "connect: %d", rc);
        SIM_CHECK(weft_scope_close(&s) == 0, "close");
        close_well(fd);
}

static struct {
        int              fd;
        struct w_os_addr addr;
} stuck;

static void connect_stuck(void *arg)
{
        (void)arg;
        int rc = weft_connect(stuck.fd, (void *)stuck.addr.bytes, stuck.addr.len);

        SIM_CHECK(rc == -EBADF, "connect of what is closed: %d", rc);
}

/* weft_close ends the wait for the thread that connects, too. */
static void close_while_stuck(void)
{
        uint8_t ip[4] = { 10, 0, 0, SIM_BLACK };

        stuck.fd = w_os_socket_open(W_OS_IP4, W_OS_STREAM);
        sim_socket_blocks(stuck.fd);
        w_os_addr_ip4(&stuck.addr, ip, 7);
        int64_t id = sched_go(connect_stuck, NULL);

        while (n_users(stuck.fd) == 0)
                weft_yield();
        if (sim_random(2))
                sim_work(sim_random(20000));
        else
                SIM_CHECK(weft_sleep(sim_random(100000)) == 0, "sleep");
        close_well(stuck.fd);
        sched_join(id);
}

static void blocking_first(void *arg)
{
        uint32_t port;
        int      listener = net_listen(&port);
        int64_t  ids[2], server = sched_go(accept_all, &listener);

        (void)arg;
        for (int i = 0; i < 2; i++)
                ids[i] = sched_go(connect_blocking, &port);
        close_while_stuck();
        for (int i = 0; i < 2; i++)
                sched_join(ids[i]);
        close_well(listener);
        sched_join(server);
        net_quiet();
}

static void blocking_main(void)
{
        weft_config cfg = { .procs = 1 + (int)sim_random(3) };

        sched_run_well(&cfg, blocking_first);
}

SIM_SCENARIO(net_blocking, "sockets that block are connected by other threads, and left",
             blocking_main, .max_steps = SCHED_MAX_STEPS)
