/* bench/weft/dial.c - connects to a server in the same program while all CPUs are busy.
 *
 * Meanwhile as many other processes as there are CPUs compute. The server accepts and closes.
 *
 * SPDX-License-Identifier: MIT
 */
#include "bench.h"

#include <weft.h>

#include <arpa/inet.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { MAX_BUSY = 64 };

static int busy_begin(pid_t pids[MAX_BUSY])
{
        char *argv[] = { "sh", "-c", "while :; do :; done", NULL };
        int   n = (int)sysconf(_SC_NPROCESSORS_ONLN);

        n = n < MAX_BUSY ? n : MAX_BUSY;
        for (int i = 0; i < n; i++)
                bench_must("posix_spawn", -posix_spawn(&pids[i], "/bin/sh", NULL, NULL, argv,
                                                       environ));
        return n;
}

static void busy_end(const pid_t pids[MAX_BUSY], int n)
{
        for (int i = 0; i < n; i++) {
                kill(pids[i], SIGKILL);
                waitpid(pids[i], NULL, 0);
        }
}

static void accept_all(void *arg)
{
        int fd, listener = (int)(intptr_t)arg;

        while ((fd = weft_accept(listener)) >= 0)
                weft_close(fd);
}

void bench_dial(const struct bench_options *options, struct bench_result *result)
{
        int64_t           *ns = malloc((size_t)options->n * sizeof(*ns));
        int                listener = (int)bench_must("weft_listen",
                                                      weft_listen("tcp4", "127.0.0.1:0"));
        struct sockaddr_in sa;
        socklen_t          len = sizeof(sa);
        char               where[32];
        pid_t              pids[MAX_BUSY];

        getsockname(listener, (struct sockaddr *)&sa, &len);
        snprintf(where, sizeof(where), "127.0.0.1:%d", ntohs(sa.sin_port));
        bench_must("weft_go", weft_go(accept_all, (void *)(intptr_t)listener));
        int n_busy = busy_begin(pids);

        for (int64_t i = 0; i < options->n; i++) {
                int64_t start = bench_now_ns();
                int     fd = (int)bench_must("weft_dial", weft_dial("tcp4", where));

                ns[i] = bench_now_ns() - start;
                weft_close(fd);
                weft_sleep(WEFT_MS(1));
        }
        busy_end(pids, n_busy);
        weft_close(listener);
        struct bench_spread spread = bench_spread_us(ns, options->n);

        free(ns);
        result->value = spread.p99;
        bench_extra(result, "p50_us", spread.p50);
        bench_extra(result, "max_us", spread.max);
}
