/* tests/flow/net/test_connections.c - ten thousand connections at once: each gets its own bytes
 * back, on few threads; idle connections cost little memory and no CPU time to speak of.
 *
 * The other ends are a process of its own, without weft: they would need as many descriptors again.
 * Where everything is slow there are fewer; TEST_LONG=1, as `make stress` sets it: all of them
 * there too.
 *
 * test: procs=1,2,4 timeout=600
 * The long form takes minutes.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/net.h"

#include <time.h>

enum {
        N_CONNECTIONS = 10000,
        AHEAD_MAX = 100,
        THREADS_MAX = 50,
        EACH_MAX = 5 * 1024,            /* bytes of memory, idle */
        IDLE_NS = 200000000,
        IDLE_CPU_NS = IDLE_NS / 20,
        IDLE_ATTEMPTS = 5,              /* a goroutine may still be about to sleep */
        EXACTLY_FROM = 5000,            /* connections, or what else is there counts too much */
};

struct tag { uint32_t connection, round; };

static uint32_t     n_clients;
static w_atomic_u32 n_serving;

/* ---- The server ------------------------------------------------------------------------------ */

static void serve(void *arg)
{
        int        fd = (int)(intptr_t)arg;
        struct tag t;

        w_add_acqrel(&n_serving, 1);
        while (weft_read_full(fd, &t, sizeof(t)) == sizeof(t))
                CHECK_EQ(weft_write_all(fd, &t, sizeof(t)), sizeof(t));
        net_close(fd);
        w_sub_acqrel(&n_serving, 1);
}

static void accept_all(void *arg)
{
        int fd;

        while ((fd = weft_accept(*(int *)arg)) >= 0)
                sched_go(serve, (void *)(intptr_t)fd);
        CHECK_EQ(fd, -EBADF);
}

/* ---- The clients ----------------------------------------------------------------------------- */

/* The end that closes first keeps no port in use. */
static int connect_to(const struct sockaddr_in *in)
{
        struct linger at_once = { .l_onoff = 1 };
        int           fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        CHECK(fd >= 0);
        CHECK_EQ(connect(fd, (const void *)in, sizeof(*in)), 0);
        CHECK_EQ(setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)), 0);
        return fd;
}

static void ask(int fd, uint32_t i, uint32_t round)
{
        struct tag t = { i, round };

        CHECK_EQ(send(fd, &t, sizeof(t), MSG_NOSIGNAL), sizeof(t));
}

static void expect(int fd, uint32_t i, uint32_t round)
{
        struct tag t;

        CHECK_EQ(recv(fd, &t, sizeof(t), MSG_WAITALL), sizeof(t));
        CHECK_MSG(t.connection == i && t.round == round, "%u in %u got %u in %u", i, round,
                  t.connection, t.round);
}

/* A client that is answered has been accepted, and so have all clients before it. The queue of the
 * listener never overflows; from a full queue the kernel would drop some for a second. */
static void connect_all(int *fds, const struct sockaddr_in *at)
{
        for (uint32_t i = 0; i < n_clients; i++) {
                fds[i] = connect_to(at);
                if (i % AHEAD_MAX == 0) {
                        ask(fds[i], i, 0);
                        expect(fds[i], i, 0);
                }
        }
}

/* All have sent before the first reads. */
static void exchange(const int *fds, uint32_t round)
{
        for (uint32_t i = 0; i < n_clients; i++)
                ask(fds[i], i, round);
        for (uint32_t i = 0; i < n_clients; i++)
                expect(fds[i], i, round);
}

/* What comes over the pipe is the port, then a word for each round; the answers are the rounds. */
static void client_main(int in, int out)
{
        struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
        int               *fds = calloc(n_clients, sizeof(*fds));
        uint32_t           word;

        CHECK(fds);
        CHECK_EQ(test_read(in, &word, sizeof(word)), sizeof(word));
        at.sin_port = htons((uint16_t)word);
        connect_all(fds, &at);
        while (test_read(in, &word, sizeof(word)) == sizeof(word)) {
                exchange(fds, word);
                CHECK_EQ(write(out, &word, sizeof(word)), sizeof(word));
        }
        for (uint32_t i = 0; i < n_clients; i++)
                CHECK_EQ(close(fds[i]), 0);
        free(fds);
}

/* ---- What they cost -------------------------------------------------------------------------- */

static int64_t cpu_time(void)
{
        struct timespec ts;

        CHECK_EQ(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts), 0);
        return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

static int64_t idle_cpu_time(void)
{
        int64_t before = cpu_time();

        CHECK_EQ(weft_sleep(IDLE_NS), 0);
        return cpu_time() - before;
}

static void check_idle(long resident_before)
{
        long    each = (test_resident_kib() - resident_before) * 1024 / (long)n_clients;
        int64_t used = idle_cpu_time();

        for (int i = 1; used >= IDLE_CPU_NS && i < IDLE_ATTEMPTS; i++)
                used = idle_cpu_time();
        printf("%u connections, %ld threads, %ld bytes of memory each; %.1f ms of CPU time in %d "
               "ms\n", n_clients, test_resources_now().threads, each, (double)used / 1e6,
               IDLE_NS / 1000000);
        CHECK_MSG(used < IDLE_CPU_NS, "%lld ns of CPU time", (long long)used);
        if (!test_is_slow() && n_clients >= EXACTLY_FROM)
                CHECK_MSG(each <= EACH_MAX, "%ld bytes for each", each);
}

static void exchange_round(const int fds[2], uint32_t round)
{
        uint32_t word = 0;

        CHECK_EQ(weft_write(fds[1], &round, sizeof(round)), sizeof(round));
        CHECK_EQ(weft_read_full(fds[0], &word, sizeof(word)), sizeof(word));
        CHECK_EQ(word, round);
}

static void connections_main(void *arg)
{
        char     where[NET_TEXT];
        int     *fds = arg, listener = net_listen("tcp4", "127.0.0.1:0", where);
        uint32_t port = (uint32_t)net_port(listener);
        int64_t  acceptor = sched_go(accept_all, &listener);
        long     before = test_resident_kib();

        CHECK_EQ(weft_write(fds[1], &port, sizeof(port)), sizeof(port));
        exchange_round(fds, 1);
        CHECK_EQ(w_load_acq(&n_serving), n_clients);
        check_idle(before);
        exchange_round(fds, 2);
        net_close(fds[1]);
        while (w_load_acq(&n_serving) > 0)
                CHECK_EQ(weft_sleep(1000000), 0);
        net_close(fds[0]);
        net_close(listener);
        sched_join(acceptor);
}

/* False: that many descriptors are not available. */
static bool allow(uint32_t n_fds)
{
        struct rlimit lim;

        CHECK_EQ(getrlimit(RLIMIT_NOFILE, &lim), 0);
        if (lim.rlim_cur < n_fds)
                lim.rlim_cur = n_fds;
        return lim.rlim_cur <= lim.rlim_max && setrlimit(RLIMIT_NOFILE, &lim) == 0;
}

TEST(ten_thousand_connections)
{
        weft_config cfg = { .max_threads = THREADS_MAX };
        int         fds[2], status;

        n_clients = getenv("TEST_LONG") ? N_CONNECTIONS : sched_scale(N_CONNECTIONS);
        if (!allow(n_clients + 100))
                test_skip("the limit of descriptors is too low");
        struct test_resources before = test_resources_now();
        pid_t                 pid = net_fork(client_main, fds);

        test_set_dump(sched_dump);
        CHECK_EQ(sched_run_left(&cfg, connections_main, fds), 0);
        test_wait_for(pid, &status);
        CHECK_EQ(status, 0);
        CHECK_EQ(test_resources_now().descriptors, before.descriptors);
}
