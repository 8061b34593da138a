/* bench/weft/hog.c - an endless loop that never calls weft, beside goroutines that must run.
 *
 * 100 goroutines ping every millisecond, n times each. The lateness of a ping is the time since it
 * was due. A late ping does not delay the time at which the next ping is due, so a gap of 20 ms is
 * twenty late pings of each goroutine. These goroutines sleep when the loop begins, so the loop has
 * the P.
 *
 * SPDX-License-Identifier: MIT
 */
#include "bench.h"

#include <weft.h>

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { PINGERS = 100, EVERY_NS = 1000000 };

static weft_wg     group = WEFT_WG_INIT;
static int64_t     pings;       /* of each goroutine */
static _Atomic int over;        /* ends the loop, so that the program can end */

static void hog(void *arg)
{
        (void)arg;
        while (!atomic_load_explicit(&over, memory_order_relaxed))
                ;
}

/* arg: where it stores the lateness of its pings. */
static void pinger(void *arg)
{
        int64_t *late = arg;
        int64_t  due = bench_now_ns();

        for (int64_t i = 0; i < pings; i++) {
                due += EVERY_NS;
                int64_t left = due - bench_now_ns();

                if (left > 0)           /* else weft_sleep would yield; Go's Sleep does not */
                        bench_must("weft_sleep", weft_sleep(left));
                late[i] = bench_now_ns() - due;
        }
        weft_wg_done(&group);
}

void bench_hog(const struct bench_options *options, struct bench_result *result)
{
        int64_t *late = calloc((size_t)options->n * PINGERS, sizeof(late[0]));

        if (!late)
                bench_fail("no memory for the times", -ENOMEM);
        pings = options->n;
        weft_wg_add(&group, PINGERS);
        for (int i = 0; i < PINGERS; i++)
                bench_must("weft_go", weft_go(pinger, late + i * options->n));
        weft_yield();
        int64_t id = bench_must("weft_go", weft_go(hog, NULL));

        bench_must("weft_wg_wait", weft_wg_wait(&group));
        atomic_store(&over, 1);
        bench_must("weft_join", weft_join(id));
        struct bench_spread us = bench_spread_us(late, options->n * PINGERS);

        free(late);
        result->value = us.p99;
        bench_extra(result, "p50_us", us.p50);
        bench_extra(result, "max_us", us.max);
}
