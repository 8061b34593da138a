/* tests/lib/extra/sim_test.h - tests of the simulated machine: one run, and its result.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTS_LIB_EXTRA_SIM_TEST_H
#define TESTS_LIB_EXTRA_SIM_TEST_H

#include "harness/test.h"
#include "os/os.h"
#include "os/sim/sim.h"

#include <string.h>

extern struct sim_result sim_test_result;

void sim_test_run(void (*fn)(void), uint64_t seed, struct sim_config config);

void sim_test_must_pass(void (*fn)(void), uint64_t seed, struct sim_config config);

void sim_test_must_fail(void (*fn)(void), uint64_t seed, const char *text);

struct w_os_thread sim_test_start(void (*fn)(void *), void *arg);

void sim_test_nothing(void *arg);

#endif
