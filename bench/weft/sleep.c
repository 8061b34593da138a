/* bench/weft/sleep.c - sleeping: the lateness of a single sleep, and the cost of many.
 *
 * First single sleeps of 50 us and 1 ms on an idle runtime, to measure how late they end. Then n
 * goroutines each sleep ten times for 1 to 100 ms: the figure is the CPU time of these sleeps.
 *
 * SPDX-License-Identifier: MIT
 */
#include "bench.h"

#include <weft.h>

enum { SINGLE_SLEEPS = 300, SLEEPS_EACH = 10, MAX_MS = 100 };

/* ---- Lateness -------------------------------------------------------------------------------- */

static void lateness(int64_t ns, const char *p50, const char *p99, struct bench_result *result)
{
        int64_t late[SINGLE_SLEEPS];

        for (int i = 0; i < SINGLE_SLEEPS; i++) {
                int64_t start = bench_now_ns();

                bench_must("weft_sleep", weft_sleep(ns));
                late[i] = bench_now_ns() - start - ns;
        }
        struct bench_spread us = bench_spread_us(late, SINGLE_SLEEPS);

        bench_extra(result, p50, us.p50);
        bench_extra(result, p99, us.p99);
}

/* ---- The crowd ------------------------------------------------------------------------------- */

static weft_wg group = WEFT_WG_INIT;

/* The same numbers as in bench/peers/go. */
static int64_t next_ms(uint64_t *state)
{
        *state = *state * 6364136223846793005u + 1442695040888963407u;
        return 1 + (int64_t)((*state >> 33) % MAX_MS);
}

static void sleeper(void *arg)
{
        uint64_t state = (uintptr_t)arg;

        for (int i = 0; i < SLEEPS_EACH; i++)
                bench_must("weft_sleep", weft_sleep(WEFT_MS(next_ms(&state))));
        weft_wg_done(&group);
}

/* How long the goroutine that sleeps longest would take alone. */
static int64_t longest_ms(int64_t n)
{
        int64_t longest = 0;

        for (int64_t i = 0; i < n; i++) {
                uint64_t state = (uint64_t)i;
                int64_t  sum = 0;

                for (int k = 0; k < SLEEPS_EACH; k++)
                        sum += next_ms(&state);
                longest = sum > longest ? sum : longest;
        }
        return longest;
}

void bench_sleep(const struct bench_options *options, struct bench_result *result)
{
        lateness(WEFT_US(50), "late_50us_p50_us", "late_50us_p99_us", result);
        lateness(WEFT_MS(1), "late_1ms_p50_us", "late_1ms_p99_us", result);
        bench_extra(result, "ideal_ms", (double)longest_ms(options->n));
        double  cpu = bench_cpu_ms();
        int64_t start = bench_now_ns();

        weft_wg_add(&group, (int)options->n);
        for (int64_t i = 0; i < options->n; i++)
                bench_must("weft_go", weft_go(sleeper, (void *)(uintptr_t)i));
        bench_must("weft_wg_wait", weft_wg_wait(&group));
        bench_extra(result, "elapsed_ms", (double)(bench_now_ns() - start) / 1e6);
        result->value = bench_cpu_ms() - cpu;
}
