/* bench/weft/mutex.c - goroutines that lock one mutex, add one, and unlock it.
 *
 * n operations in all, divided among eight or four goroutines. The row with four goroutines shows
 * whether more Ps make it slower; they should not.
 *
 * SPDX-License-Identifier: MIT
 */
#include "bench.h"

#include <weft.h>

#include <errno.h>

enum { MAX_GOROUTINES = 8 };

static struct {
        weft_mutex mutex;
        int64_t    sum;
        int64_t    each;
} shared = { WEFT_MUTEX_INIT, 0, 0 };

static weft_wg group = WEFT_WG_INIT;

static void adder(void *arg)
{
        (void)arg;
        for (int64_t i = 0; i < shared.each; i++) {
                weft_mutex_lock(&shared.mutex);
                shared.sum++;
                weft_mutex_unlock(&shared.mutex);
        }
        weft_wg_done(&group);
}

static void add_together(int goroutines, const struct bench_options *options,
                         struct bench_result *result)
{
        int64_t start = bench_now_ns();

        shared.each = options->n / goroutines;
        weft_wg_add(&group, goroutines);
        for (int i = 0; i < goroutines; i++)
                bench_must("weft_go", weft_go(adder, NULL));
        bench_must("weft_wg_wait", weft_wg_wait(&group));
        result->value = (double)(bench_now_ns() - start) / (double)options->n;
        if (shared.sum != shared.each * goroutines)
                bench_fail("sections that were lost", -EIO);
}

void bench_mutex(const struct bench_options *options, struct bench_result *result)
{
        add_together(MAX_GOROUTINES, options, result);
}

void bench_mutex_4(const struct bench_options *options, struct bench_result *result)
{
        add_together(4, options, result);
}
