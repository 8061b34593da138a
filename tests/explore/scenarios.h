/* tests/explore/scenarios.h - the scenarios that weft-explore knows, in arrays that end without a
 * name.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTS_EXPLORE_SCENARIOS_H
#define TESTS_EXPLORE_SCENARIOS_H

#include "os/explore/explore.h"

extern const struct explore_scenario litmus_scenarios[];        /* the engine itself */
extern const struct explore_scenario selftest_scenarios[];      /* failures that it must find */
extern const struct explore_scenario note_scenarios[];
extern const struct explore_scenario lock_scenarios[];
extern const struct explore_scenario ring_scenarios[];
extern const struct explore_scenario ring_empty_scenarios[];
extern const struct explore_scenario parents_scenarios[];
extern const struct explore_scenario wake_scenarios[];
extern const struct explore_scenario chan_scenarios[];
extern const struct explore_scenario select_scenarios[];
extern const struct explore_scenario sync_locks_scenarios[];
extern const struct explore_scenario sync_counts_scenarios[];
extern const struct explore_scenario timers_scenarios[];
extern const struct explore_scenario scope_scenarios[];
extern const struct explore_scenario unpark_scenarios[];
extern const struct explore_scenario take_scenarios[];

/* A set of outcomes. */
#define SEEN(n) (UINT64_C(1) << (n))

/* For a bound: the scenario is small enough to try everything. */
#define ANY W_EXPLORE_UNLIMITED

#endif
