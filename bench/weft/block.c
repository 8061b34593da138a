/* bench/weft/block.c - blocking regions: the cost of an empty region, and what they cost a
 * goroutine that computes.
 *
 * block: eight goroutines sleep in regions of 100 us, one after the other, while goroutine 1
 * computes and never calls weft. The figure is its work per second, divided by its work per second
 * alone, which is measured before and after. Regions per second are reported too: a good figure is
 * worth nothing if the other goroutines make no progress.
 *
 * SPDX-License-Identifier: MIT
 */
#include "bench.h"

#include <weft.h>

#include <stdatomic.h>
#include <time.h>

enum { BLOCKERS = 8, REGION_NS = 100000, STEPS = 4000 };

void bench_region(const struct bench_options *options, struct bench_result *result)
{
        int64_t start = bench_now_ns();

        for (int64_t i = 0; i < options->n; i++) {
                weft_block_begin();
                weft_block_end();
        }
        result->value = (double)(bench_now_ns() - start) / (double)options->n;
}

/* ---- The one that computes ------------------------------------------------------------------- */

static _Atomic uint64_t number; /* the result, so that the compiler keeps the loop */

/* Pieces of work per second. */
static double compute(int64_t ns)
{
        uint64_t x = atomic_load(&number);
        int64_t  start = bench_now_ns(), now = start, pieces = 0;

        for (; now - start < ns; now = bench_now_ns(), pieces++)
                for (int i = 0; i < STEPS; i++)
                        x = x * 6364136223846793005u + 1442695040888963407u;
        atomic_store(&number, x);
        return (double)pieces * 1e9 / (double)(now - start);
}

/* ---- Those that block ------------------------------------------------------------------------ */

static weft_wg         group = WEFT_WG_INIT;
static _Atomic int     enough;
static _Atomic int64_t regions;

static void blocker(void *arg)
{
        static const struct timespec pause = { .tv_nsec = REGION_NS };

        (void)arg;
        while (!atomic_load(&enough)) {
                weft_block_begin();
                nanosleep(&pause, NULL);
                weft_block_end();
                atomic_fetch_add(&regions, 1);
        }
        weft_wg_done(&group);
}

void bench_block(const struct bench_options *options, struct bench_result *result)
{
        int64_t ns = WEFT_MS(options->n);
        double  before = compute(ns / 2);

        weft_wg_add(&group, BLOCKERS);
        for (int i = 0; i < BLOCKERS; i++)
                bench_must("weft_go", weft_go(blocker, NULL));
        double together = compute(ns);

        bench_extra(result, "regions_per_s", (double)atomic_load(&regions) * 1e9 / (double)ns);
        atomic_store(&enough, 1);
        bench_must("weft_wg_wait", weft_wg_wait(&group));
        result->value = together * 2 / (before + compute(ns / 2));
}
