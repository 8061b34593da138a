/* bench/weft/resize.c - stopping the world: to change the number of Ps, and to check everything.
 *
 * resize: the number of Ps goes from 1 to 4 and back while eight goroutines yield and compute. The
 * figure is the time that a change takes its caller; the 99th percentile is reported too.
 *
 * stop: the world is stopped and started again beside goroutines that yield, compute without a call
 * and sleep in blocking regions. A thread of the program sleeps for 1 ms again and again, to notice
 * when the machine itself was late. Rounds during a sleep that took 5 ms too long are not counted;
 * their number is reported.
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

enum { WORKERS = 8, STEPS = 2000, MANY_PS = 4 };

static weft_wg         group = WEFT_WG_INIT;
static _Atomic int     enough;
static _Atomic uint64_t number;         /* the result, so that the compiler keeps the loop */

static void compute(int steps)
{
        uint64_t x = atomic_load_explicit(&number, memory_order_relaxed);

        for (int i = 0; i < steps; i++)
                x = x * 6364136223846793005u + 1442695040888963407u;
        atomic_store_explicit(&number, x, memory_order_relaxed);
}

static void yields(void *arg)
{
        (void)arg;
        while (!atomic_load(&enough)) {
                compute(STEPS);
                weft_yield();
        }
        weft_wg_done(&group);
}

static void computes(void *arg)
{
        (void)arg;
        while (!atomic_load(&enough))
                compute(STEPS);
        weft_wg_done(&group);
}

static void blocks(void *arg)
{
        static const struct timespec pause = { .tv_nsec = 50000 };

        (void)arg;
        while (!atomic_load(&enough)) {
                weft_block_begin();
                nanosleep(&pause, NULL);
                weft_block_end();
        }
        weft_wg_done(&group);
}

static void start(void (*fn)(void *), int n)
{
        weft_wg_add(&group, n);
        for (int i = 0; i < n; i++)
                bench_must("weft_go", weft_go(fn, NULL));
}

static int64_t *times_for(int64_t n)
{
        int64_t *ns = calloc((size_t)n, sizeof(ns[0]));

        if (!ns)
                bench_fail("no memory for the times", -ENOMEM);
        return ns;
}

/* Computes the percentiles and frees `ns`. */
static struct bench_spread finish(int64_t *ns, int64_t n)
{
        atomic_store(&enough, 1);
        bench_must("weft_wg_wait", weft_wg_wait(&group));
        struct bench_spread us = bench_spread_us(ns, n);

        free(ns);
        return us;
}

void bench_resize(const struct bench_options *options, struct bench_result *result)
{
        int64_t *ns = times_for(options->n);
        int64_t  sum = 0;

        bench_must("weft_procs", weft_procs(1));
        start(yields, WORKERS);
        for (int64_t i = 0; i < options->n; i++) {
                int64_t begin = bench_now_ns();

                bench_must("weft_procs", weft_procs(i % 2 ? 1 : MANY_PS));
                ns[i] = bench_now_ns() - begin;
                sum += ns[i];
                weft_yield();
        }
        struct bench_spread us = finish(ns, options->n);

        result->value = (double)sum / 1e3 / (double)options->n;
        bench_extra(result, "p50_us", us.p50);
        bench_extra(result, "p99_us", us.p99);
}

/* ---- How late the machine is ----------------------------------------------------------------- */

enum { SLEEP_NS = 1000000, LATE_NS = 5000000, LATE_MAX = 4096 };

static struct {
        int64_t begin, end;
} late[LATE_MAX];
static int n_late;

static void *control(void *arg)
{
        static const struct timespec pause = { .tv_nsec = SLEEP_NS };

        (void)arg;
        while (!atomic_load(&enough)) {
                int64_t begin = bench_now_ns();

                nanosleep(&pause, NULL);
                int64_t end = bench_now_ns();

                if (end - begin > SLEEP_NS + LATE_NS && n_late < LATE_MAX) {
                        late[n_late].begin = begin;
                        late[n_late++].end = end;
                }
        }
        return NULL;
}

static int was_late(int64_t begin, int64_t end)
{
        for (int i = 0; i < n_late; i++)
                if (begin < late[i].end && end > late[i].begin)
                        return 1;
        return 0;
}

/* Moves the rounds that count to the front. Returns how many there are. */
static int64_t keep_those_that_count(int64_t *ns, const int64_t *begins, int64_t n)
{
        int64_t kept = 0;

        for (int64_t i = 0; i < n; i++)
                if (!was_late(begins[i], begins[i] + ns[i]))
                        ns[kept++] = ns[i];
        return kept;
}

void bench_stop(const struct bench_options *options, struct bench_result *result)
{
        int64_t  *ns = times_for(options->n), *begins = times_for(options->n);
        pthread_t thread;

        if (pthread_create(&thread, NULL, control, NULL) != 0)
                bench_fail("no thread", -EAGAIN);
        start(yields, WORKERS / 2);
        start(computes, 1);
        start(blocks, WORKERS / 2);
        for (int64_t i = 0; i < options->n; i++) {
                begins[i] = bench_now_ns();
                bench_must("weft_check", weft_check());
                ns[i] = bench_now_ns() - begins[i];
                bench_must("weft_sleep", weft_sleep(WEFT_US(200)));
        }
        atomic_store(&enough, 1);
        weft_block_begin();
        pthread_join(thread, NULL);
        weft_block_end();
        int64_t kept = keep_those_that_count(ns, begins, options->n);

        free(begins);
        if (kept == 0)
                bench_fail("the machine was late in every round", -EAGAIN);
        struct bench_spread us = finish(ns, kept);

        result->value = us.p99;
        bench_extra(result, "p50_us", us.p50);
        bench_extra(result, "max_us", us.max);
        bench_extra(result, "not_counted", (double)(options->n - kept));
}
