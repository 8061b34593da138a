/* tests/sim/scenario.h - how a scenario enters the runner, and threads for scenarios.
 *
 *   SIM_SCENARIO(lock, "several threads, one lock", lock_main, .no_weak = true)
 *   SIM_MUTANT(lock_no_wake, "unlock forgets the sleeper", lock_no_wake_main, SIM_USUAL)
 *
 * The name of a mutant begins with the scenario it breaks. tests.cmake finds both kinds by these
 * lines and makes tests of them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTS_SIM_SCENARIO_H
#define TESTS_SIM_SCENARIO_H

#include "base/thread.h"
#include "os/os.h"
#include "os/sim/sim.h"

void scenario_register(struct sim_scenario *scenario);

#define SIM_USUAL .max_steps = 0

#define SIM_ADD_(id, text, fn, broken, ...)                                                     \
        __attribute__((constructor)) static void scenario_add_##id(void)                        \
        {                                                                                       \
                static struct sim_scenario entry = {                                            \
                        .name = #id, .what = text, .run = fn, .must_fail = broken,              \
                        .config = { __VA_ARGS__ },                                              \
                };                                                                              \
                scenario_register(&entry);                                                      \
        }
#define SIM_SCENARIO(id, text, fn, ...) SIM_ADD_(id, text, fn, false, __VA_ARGS__)
#define SIM_MUTANT(id, text, fn, ...)   SIM_ADD_(id, text, fn, true, __VA_ARGS__)

/* A thread of a scenario, with the record that the lock checks want. */
struct worker {
        struct w_os_thread thread;
        struct thread      self;
        void             (*fn)(void *);
        void              *arg;
};

/* 0 or the error of w_os_thread_start. */
W_MUST_CHECK int worker_try_start(struct worker *w, const char *name, void (*fn)(void *),
                                  void *arg);
/* Tries again as long as no thread is available. */
void worker_start(struct worker *w, const char *name, void (*fn)(void *), void *arg);
void worker_join(struct worker *w);

#endif
