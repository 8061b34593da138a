/* bench/weft/yield.c - two goroutines yield to each other.
 *
 * Goroutine 1 and a partner, half of n each. With more than one P they may run in parallel. The
 * figure is then the cost of a yield that finds no other goroutine, which is not the same measure.
 *
 * SPDX-License-Identifier: MIT
 */
#include "bench.h"

#include <weft.h>

static void yield_often(int64_t rounds)
{
        for (int64_t i = 0; i < rounds; i++)
                weft_yield();
}

static void partner(void *arg)
{
        yield_often(*(const int64_t *)arg);
}

void bench_yield(const struct bench_options *options, struct bench_result *result)
{
        int64_t half = options->n / 2;
        int64_t start = bench_now_ns();
        int64_t id = bench_must("weft_go", weft_go(partner, &half));

        yield_often(options->n - half);
        bench_must("weft_join", weft_join(id));
        result->value = (double)(bench_now_ns() - start) / (double)options->n;
}
