/* bench/weft/wake.c - a foreign thread wakes a goroutine while everything else is idle.
 *
 * It does this every millisecond. The figure is the time from just before the call that wakes to
 * the first step of the goroutine. The next wake does not begin before the goroutine has run: a
 * slow wake counts once and is not hidden by the next.
 *
 * SPDX-License-Identifier: MIT
 */
#include "bench.h"

#include <weft.h>

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

enum { EVERY_NS = 1000000 };

static struct {
        int64_t         id, n;
        _Atomic int64_t sent_at;
        _Atomic int64_t seen;
} waiter;

static void *waker(void *arg)
{
        static const struct timespec pause = { .tv_nsec = EVERY_NS };

        for (int64_t i = 0; i < waiter.n; i++) {
                do
                        nanosleep(&pause, NULL);
                while (atomic_load(&waiter.seen) < i);
                atomic_store(&waiter.sent_at, bench_now_ns());
                bench_must("weft_unpark", weft_unpark(waiter.id));
        }
        return arg;
}

void bench_wake(const struct bench_options *options, struct bench_result *result)
{
        int64_t  *took = calloc((size_t)options->n, sizeof(took[0]));
        pthread_t thread;

        if (!took)
                bench_fail("no memory for the times", -ENOMEM);
        waiter.id = weft_id();
        waiter.n = options->n;
        bench_must("pthread_create", -pthread_create(&thread, NULL, waker, NULL));
        for (int64_t i = 0; i < options->n; i++) {
                bench_must("weft_park", weft_park());
                took[i] = bench_now_ns() - atomic_load(&waiter.sent_at);
                atomic_store(&waiter.seen, i + 1);
        }
        bench_must("pthread_join", -pthread_join(thread, NULL));
        struct bench_spread us = bench_spread_us(took, options->n);

        free(took);
        result->value = us.p50;
        bench_extra(result, "p99_us", us.p99);
        bench_extra(result, "max_us", us.max);
}
