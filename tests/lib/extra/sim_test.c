/* tests/lib/extra/sim_test.c - tests of the simulated machine: one run, and its result.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/extra/sim_test.h"

struct sim_result sim_test_result;

void sim_test_run(void (*fn)(void), uint64_t seed, struct sim_config config)
{
        struct sim_scenario scenario = { .name = "test", .run = fn, .config = config };

        sim_run(&scenario, seed, NULL, &sim_test_result);
}

void sim_test_must_pass(void (*fn)(void), uint64_t seed, struct sim_config config)
{
        sim_test_run(fn, seed, config);
        CHECK_MSG(!sim_test_result.failed, "%s", sim_test_result.report);
}

void sim_test_must_fail(void (*fn)(void), uint64_t seed, const char *text)
{
        sim_test_run(fn, seed, (struct sim_config){ .cpus = 1 });
        CHECK_MSG(sim_test_result.failed, "seed %llu did not fail", (unsigned long long)seed);
        CHECK_MSG(strstr(sim_test_result.report, text), "no \"%s\" in:\n%s", text,
                  sim_test_result.report);
}

struct w_os_thread sim_test_start(void (*fn)(void *), void *arg)
{
        struct w_os_thread thread;

        SIM_CHECK(w_os_thread_start(&thread, "other", 0, fn, arg) == 0, "no thread");
        return thread;
}

void sim_test_nothing(void *arg)
{
        (void)arg;
}
