/* bench/weft/timer.c - timers that are stopped before they fire, as most time-outs are.
 *
 * SPDX-License-Identifier: MIT
 */
#include "bench.h"

#include <weft.h>

static void never(void *arg)
{
        (void)arg;
        bench_fail("a timer has fired", 0);
}

void bench_timer_churn(const struct bench_options *options, struct bench_result *result)
{
        int64_t start = bench_now_ns();

        for (int64_t i = 0; i < options->n; i++) {
                weft_timer *t = weft_timer_new(WEFT_SEC(3600), never, NULL);

                if (!t || weft_timer_stop(t) != 1)
                        bench_fail("a timer could not be made and stopped", i);
                weft_timer_free(t);
        }
        result->value = (double)(bench_now_ns() - start) / (double)options->n;
}
