/* bench/weft/echo.c - an echo server under load: one goroutine for each connection.
 *
 * The load comes from another process (bench/echo/load.c). The figures besides requests per second
 * are CPU time of the server per request, round trips, and the memory of a connection that has been
 * used.
 *
 * SPDX-License-Identifier: MIT
 */
#include "bench.h"
#include "measure.h"

#include <weft.h>

#include <arpa/inet.h>
#include <sys/socket.h>

struct job {
        int                 port, connections;
        int64_t             requests;
        struct echo_figures figures;
};

static void serve(void *arg)
{
        int     fd = (int)(intptr_t)arg;
        char    bytes[1024];
        ssize_t n;

        while ((n = weft_read(fd, bytes, sizeof(bytes))) > 0)
                if (weft_write_all(fd, bytes, (size_t)n) < n)
                        break;
        weft_close(fd);
}

static void accept_all(void *arg)
{
        int fd, listener = (int)(intptr_t)arg;

        while ((fd = weft_accept(listener)) >= 0)
                bench_must("weft_go", weft_go(serve, (void *)(intptr_t)fd));
}

static void measure(void *arg)
{
        struct job *job = arg;

        job->figures = echo_measure(job->port, job->connections, job->requests);
}

static void run(const struct bench_options *options, struct bench_result *result, int connections)
{
        int                listener = (int)bench_must("weft_listen",
                                                      weft_listen("tcp4", "127.0.0.1:0"));
        struct sockaddr_in sa;
        socklen_t          len = sizeof(sa);

        echo_raise_limit();
        getsockname(listener, (struct sockaddr *)&sa, &len);
        struct job job = { .port = ntohs(sa.sin_port), .connections = connections,
                           .requests = options->n };

        bench_must("weft_go", weft_go(accept_all, (void *)(intptr_t)listener));
        bench_must("weft_blocking", weft_blocking(measure, &job));
        weft_close(listener);
        result->value = job.figures.requests_per_s;
        bench_extra(result, "p50_us", job.figures.p50_us);
        bench_extra(result, "p99_us", job.figures.p99_us);
        bench_extra(result, "cpu_us_per_request", job.figures.cpu_us_per_request);
        bench_extra(result, "idle_bytes", job.figures.idle_bytes);
        bench_extra(result, "idle_cpu_ms", job.figures.idle_cpu_ms);
}

void bench_echo_100(const struct bench_options *options, struct bench_result *result)
{
        run(options, result, 100);
}

void bench_echo_1k(const struct bench_options *options, struct bench_result *result)
{
        run(options, result, 1000);
}

void bench_echo_10k(const struct bench_options *options, struct bench_result *result)
{
        run(options, result, 10000);
}
