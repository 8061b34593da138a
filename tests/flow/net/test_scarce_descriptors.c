/* tests/flow/net/test_scarce_descriptors.c - a server that has fewer descriptors than it has
 * clients, round after round: a client that waits is served as soon as another has gone, no
 * goroutine spins meanwhile, and nothing is left over.
 *
 * The clients are a process of its own, without weft. In check a few rounds; TEST_LONG=1, as `make
 * stress` sets it: 300.
 *
 * test: procs=1,2,4 timeout=600
 * The long form takes minutes.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/net.h"

#include "os/inject.h"

#include <time.h>

enum {
        LIMIT = 40,                     /* descriptors of the server */
        N_CLIENTS = 100,                /* at once */
        LEAVES_EVERY = 3,               /* client that does not wait for the answer */
        HOLD_NS = 50000000,
        PAUSE_NS = 5000000,             /* at least, before an accept is tried again */
        TRIES_MORE = 2 * N_CLIENTS,     /* some may have gone only now */
};

static w_atomic_u32 n_served;

static uint32_t n_rounds(void)
{
        return getenv("TEST_LONG") ? 300 : test_is_slow() ? 2 : 4;
}

/* ---- The clients ----------------------------------------------------------------------------- */

static bool leaves(int i)
{
        return i % LEAVES_EVERY == LEAVES_EVERY - 1;
}

/* They are in the queue of the listener; some have gone before they leave it. */
static void come(int fds[N_CLIENTS], int port, uint32_t round)
{
        struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) },
                                  .sin_port = htons((uint16_t)port) };
        struct linger      at_once = { .l_onoff = 1 };

        for (int i = 0; i < N_CLIENTS; i++) {
                uint32_t tag = round << 8 | (uint32_t)i;

                fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
                CHECK(fds[i] >= 0);
                CHECK_EQ(connect(fds[i], (void *)&at, sizeof(at)), 0);
                CHECK_EQ(send(fds[i], &tag, sizeof(tag), MSG_NOSIGNAL), sizeof(tag));
                CHECK_EQ(setsockopt(fds[i], SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)), 0);
        }
        for (int i = 0; i < N_CLIENTS; i++)
                if (leaves(i))
                        CHECK_EQ(close(fds[i]), 0);
}

/* Each client that goes makes room for a client that waits. */
static void wait_and_go(const int fds[N_CLIENTS], uint32_t round)
{
        for (int i = 0; i < N_CLIENTS; i++) {
                uint32_t tag = 0;

                if (leaves(i))
                        continue;
                CHECK_EQ(recv(fds[i], &tag, sizeof(tag), MSG_WAITALL), sizeof(tag));
                CHECK_EQ(tag, round << 8 | (uint32_t)i);
                CHECK_EQ(close(fds[i]), 0);
        }
}

/* A word to begin with, a word to continue; each gets a word as its answer. */
static void client_main(int in, int out)
{
        int      fds[N_CLIENTS];
        uint32_t word, port;

        CHECK_EQ(test_read(in, &port, sizeof(port)), sizeof(port));
        while (test_read(in, &word, sizeof(word)) == sizeof(word)) {
                come(fds, (int)port, word);
                CHECK_EQ(write(out, &word, sizeof(word)), sizeof(word));
                CHECK_EQ(test_read(in, &word, sizeof(word)), sizeof(word));
                wait_and_go(fds, word);
                CHECK_EQ(write(out, &word, sizeof(word)), sizeof(word));
        }
}

/* ---- The server ------------------------------------------------------------------------------ */

static void serve(void *arg)
{
        int      fd = (int)(intptr_t)arg;
        uint32_t tag;

        while (weft_read_full(fd, &tag, sizeof(tag)) == sizeof(tag))
                (void)!weft_write_all(fd, &tag, sizeof(tag));    /* it may have gone */
        net_close(fd);
        w_add_acqrel(&n_served, 1);
}

static void accept_all(void *arg)
{
        int fd;

        while ((fd = weft_accept(*(int *)arg)) >= 0)
                sched_go(serve, (void *)(intptr_t)fd);
        CHECK_EQ(fd, -EBADF);
}

static void tell(const int fds[2], uint32_t word)
{
        uint32_t answer = 0;

        CHECK_EQ(weft_write(fds[1], &word, sizeof(word)), sizeof(word));
        CHECK_EQ(weft_read_full(fds[0], &answer, sizeof(answer)), sizeof(answer));
        CHECK_EQ(answer, word);
}

static int64_t cpu_time(void)
{
        struct timespec ts;

        CHECK_EQ(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts), 0);
        return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

#if defined(W_DEBUG)
static uint32_t n_tries(void)
{
        return w_inject_calls(W_CALL_ACCEPT);
}
#else
static uint32_t n_tries(void)
{
        return 0;
}
#endif

static bool has_descriptors(void)
{
        int fd = dup(0);

        if (fd >= 0)
                CHECK_EQ(close(fd), 0);
        return fd >= 0;
}

/* All descriptors are in use, and stay so. */
static void hold(void)
{
        while (has_descriptors())
                CHECK_EQ(weft_sleep(1000000), 0);
        int64_t  since = w_os_now(), cpu = cpu_time();
        uint32_t tries = n_tries();

        CHECK_EQ(weft_sleep(HOLD_NS), 0);
        cpu = cpu_time() - cpu;
        tries = n_tries() - tries;
        int64_t ns = w_os_now() - since;

        CHECK_MSG(cpu < ns / 2, "%lld ns of CPU time in %lld", (long long)cpu, (long long)ns);
        CHECK_MSG(tries <= (uint64_t)ns / PAUSE_NS + TRIES_MORE, "%u tries in %lld ns", tries,
                  (long long)ns);
}

static void round_main(const int fds[2], uint32_t round)
{
        tell(fds, round);
        hold();
        tell(fds, round);
        while (w_load_acq(&n_served) < round * N_CLIENTS || weft_count() > 2)
                CHECK_EQ(weft_sleep(1000000), 0);       /* then this and the acceptor are left */
        CHECK_EQ(w_load_acq(&n_served), round * N_CLIENTS);
}

static void limit_to(rlim_t n)
{
        struct rlimit lim;

        CHECK_EQ(getrlimit(RLIMIT_NOFILE, &lim), 0);
        lim.rlim_cur = n;
        CHECK_EQ(setrlimit(RLIMIT_NOFILE, &lim), 0);
}

static void scarce_main(void *arg)
{
        char     where[NET_TEXT];
        int     *fds = arg, listener = net_listen("tcp4", "127.0.0.1:0", where);
        uint32_t port = (uint32_t)net_port(listener);
        int64_t  acceptor = sync_go_waiting(accept_all, &listener);

        CHECK_EQ(weft_write(fds[1], &port, sizeof(port)), sizeof(port));
        limit_to(LIMIT);
        for (uint32_t round = 1; round <= n_rounds(); round++)
                round_main(fds, round);
        net_close(listener);
        sched_join(acceptor);
        net_close(fds[0]);
        net_close(fds[1]);
}

TEST(a_server_without_descriptors_recovers_each_time)
{
        int fds[2], status;

        if (test_under_valgrind())
                test_skip("valgrind keeps limits in its own way");
        struct test_resources before = test_resources_now();
        pid_t                 pid = net_fork(client_main, fds);

        sched_run(scarce_main, fds);
        test_wait_for(pid, &status);
        CHECK_EQ(status, 0);
        CHECK_EQ(test_resources_now().descriptors, before.descriptors);
}
