/* bench/weft/spawn.c - goroutine 1 spawns empty goroutines in batches and waits for each batch.
 *
 * SPDX-License-Identifier: MIT
 */
#include "bench.h"
#include "latch.h"

#include <weft.h>

enum { BATCH = 1000 };

static void empty(void *arg)
{
        (void)arg;
}

static void empty_counted(void *arg)
{
        latch_done(arg);
}

static void batch_join(int64_t size)
{
        int64_t ids[BATCH];

        for (int64_t i = 0; i < size; i++)
                ids[i] = bench_must("weft_go", weft_go(empty, NULL));
        for (int64_t i = 0; i < size; i++)
                bench_must("weft_join", weft_join(ids[i]));
}

static void batch_park(int64_t size)
{
        struct latch latch;

        latch_init(&latch, weft_id(), size);
        for (int64_t i = 0; i < size; i++)
                bench_must("weft_go", weft_go(empty_counted, &latch));
        latch_wait(&latch);
}

void bench_spawn(const struct bench_options *options, struct bench_result *result)
{
        void  (*batch)(int64_t) = options->wait == BENCH_WAIT_JOIN ? batch_join : batch_park;
        int64_t start = bench_now_ns();

        for (int64_t left = options->n; left > 0; left -= BATCH)
                batch(left < BATCH ? left : BATCH);
        result->value = (double)(bench_now_ns() - start) / (double)options->n;
        result->wait = batch == batch_join ? "join" : "park";
        bench_extra(result, "batch", BATCH);
}
