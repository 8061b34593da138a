/* tests/sim/runner.h - running many seeds of one scenario.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTS_SIM_RUNNER_H
#define TESTS_SIM_RUNNER_H

#include "os/sim/sim.h"

struct seeds {
        uint64_t first;
        uint64_t n;
        unsigned n_jobs;
        bool     apart;         /* in processes of their own: a run that fails leaves the library's
                                 * variables as they are, for the next run */
        double   seconds;       /* not 0: stop then, however many are left */
};

/* The results. */
struct outcome {
        uint64_t          n_seeds;      /* run; all of them unless one failed or time was up */
        uint64_t          n_steps;
        double            seconds;
        uint64_t          failed_seed;  /* if last.failed */
        struct sim_result last;         /* of the failed run */
};

void run_seed(const struct sim_scenario *scenario, uint64_t seed, FILE *log,
              struct sim_result *result);

/* Stops at the first failing seed. With several jobs each runs in a process of its own. */
void run_seeds(const struct sim_scenario *scenario, const struct seeds *seeds,
               struct outcome *outcome);

/* Names the current seed if the program dies in it or does not come back. */
void watch_for_crashes(void);

#endif
