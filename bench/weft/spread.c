/* bench/weft/spread.c - median, 99th percentile and maximum of measured times.
 *
 * SPDX-License-Identifier: MIT
 */
#include "bench.h"

#include <stdlib.h>

static int compare(const void *a, const void *b)
{
        int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

        return (x > y) - (x < y);
}

struct bench_spread bench_spread_us(int64_t *ns, int64_t n)
{
        qsort(ns, (size_t)n, sizeof(ns[0]), compare);
        return (struct bench_spread){
                .p50 = (double)ns[n / 2] / 1e3,
                .p99 = (double)ns[n * 99 / 100] / 1e3,
                .max = (double)ns[n - 1] / 1e3,
        };
}
