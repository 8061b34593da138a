/* tests/lib/extra/sim_test.h - what the tests of the simulated machine share: one run, and its
 * verdict.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTS_LIB_EXTRA_SIM_TEST_H
#define TESTS_LIB_EXTRA_SIM_TEST_H

#include "harness/test.h"
#include "os/os.h"
#include "os/sim/sim.h"

#include <string.h>

static struct sim_result result;

static inline void run_with(void (*fn)(void), uint64_t seed, struct sim_config config)
{
        struct sim_scenario scenario = { .name = "test", .run = fn, .config = config };

        sim_run(&scenario, seed, NULL, &result);
}

static inline void must_pass(void (*fn)(void), uint64_t seed, struct sim_config config)
{
        run_with(fn, seed, config);
        CHECK_MSG(!result.failed, "%s", result.report);
}

static inline void must_fail(void (*fn)(void), uint64_t seed, const char *text)
{
        run_with(fn, seed, (struct sim_config){ .cpus = 1 });
        CHECK_MSG(result.failed, "seed %llu did not fail", (unsigned long long)seed);
        CHECK_MSG(strstr(result.report, text), "no \"%s\" in:\n%s", text, result.report);
}

static inline struct w_os_thread start(void (*fn)(void *), void *arg)
{
        struct w_os_thread thread;

        SIM_CHECK(w_os_thread_start(&thread, "other", 0, fn, arg) == 0, "no thread");
        return thread;
}

static inline void nothing(void *arg)
{
        (void)arg;
}

#endif
