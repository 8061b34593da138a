/* bench/weft/bench.h - shared by main.c and the workloads.
 *
 * A workload runs inside goroutine 1, measures itself and fills a result; main.c prints it. The
 * programs use the public interface only: <weft.h> and plain C.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BENCH_WEFT_BENCH_H
#define BENCH_WEFT_BENCH_H

#include <stdint.h>

/* How a parent waits for its children. */
enum bench_wait {
        BENCH_WAIT_DEFAULT,     /* the cheaper way for the workload */
        BENCH_WAIT_JOIN,        /* weft_join of each id */
        BENCH_WAIT_PARK,        /* a count; the last child wakes the parent (latch.h) */
};

struct bench_options {
        int             procs;
        int64_t         n;      /* what the unit counts: switches, goroutines, fib's argument */
        enum bench_wait wait;
};

enum { BENCH_MAX_EXTRAS = 8 };

struct bench_result {
        double      value;      /* the row's figure, in its unit */
        const char *wait;       /* how the parent waited; NULL: there was no choice */
        int         n_extras;
        struct {
                const char *name;
                double      value;
        } extras[BENCH_MAX_EXTRAS];
};

typedef void bench_fn(const struct bench_options *options, struct bench_result *result);

bench_fn bench_yield;
bench_fn bench_spawn;
bench_fn bench_fib;
bench_fn bench_fib_child_first;
bench_fn bench_parked;
bench_fn bench_pingpong;
bench_fn bench_pipe;
bench_fn bench_pipe_4x4;
bench_fn bench_select;
bench_fn bench_sleep;
bench_fn bench_timer_churn;
bench_fn bench_skynet;
bench_fn bench_skynet_child_first;
bench_fn bench_mutex;
bench_fn bench_mutex_4;
bench_fn bench_wake;
bench_fn bench_region;
bench_fn bench_block;
bench_fn bench_hog;
bench_fn bench_resize;
bench_fn bench_stop;
bench_fn bench_echo_100;
bench_fn bench_echo_1k;
bench_fn bench_echo_10k;
bench_fn bench_dial;

/* Memory of this process in KiB, as the kernel counts it. */
struct bench_memory {
        long rss, peak, tables;
};

struct bench_memory bench_memory(void);
double              bench_cpu_ms(void);
int64_t             bench_now_ns(void);

/* Percentiles of n times in ns. */
struct bench_spread {
        double p50, p99, max;
};

struct bench_spread bench_spread_us(int64_t *ns, int64_t n);

/* Adds one more figure to the JSON line. */
void bench_extra(struct bench_result *result, const char *name, double value);

/* Prints what failed and ends the program with status 1. Context: any goroutine. */
_Noreturn void bench_fail(const char *what, int64_t rc);

/* Returns rc, the result of a call that must not fail. */
static inline int64_t bench_must(const char *what, int64_t rc)
{
        if (rc < 0)
                bench_fail(what, rc);
        return rc;
}

#endif
