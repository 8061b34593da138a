/* bench/weft/parked.c - the memory that n parked goroutines add to the process.
 *
 * Each goroutine has run, so its stack is bound and touched. The goroutines are still parked when
 * goroutine 1 returns, and are dropped at the end of the run.
 *
 * SPDX-License-Identifier: MIT
 */
#include "bench.h"

#include <weft.h>

#include <stdatomic.h>

static _Atomic int64_t reached;

static void wait_for_ever(void *arg)
{
        (void)arg;
        atomic_fetch_add(&reached, 1);
        bench_must("weft_park", weft_park());
}

void bench_parked(const struct bench_options *options, struct bench_result *result)
{
        struct bench_memory before = bench_memory();
        int64_t             start = bench_now_ns();
        double              n = (double)options->n;

        for (int64_t i = 0; i < options->n; i++)
                bench_must("weft_go", weft_go(wait_for_ever, NULL));
        while (atomic_load(&reached) < options->n)
                weft_yield();
        double              took = (double)(bench_now_ns() - start);
        struct bench_memory after = bench_memory();
        double              rss = (double)(after.rss - before.rss) * 1024 / n;
        double              tables = (double)(after.tables - before.tables) * 1024 / n;

        result->value = rss + tables;
        bench_extra(result, "rss_bytes_each", rss);
        bench_extra(result, "page_table_bytes_each", tables);
        bench_extra(result, "ns_each", took / n);
}
