/* tests/sim/sched_world.h - the whole scheduler inside the simulated machine, watched at each step.
 *
 *   sched_run(&cfg, first)          weft_run_with on 2 to 4 Ps, all that must hold being checked
 *
 * What is checked, with the invariants of sched/sched.h by number. Between any two steps: every M
 * in user code runs one goroutine with one P (I2, I7); idle Ms have neither (I6), idle Ps have
 * no work and no M (I9); lists agree with their counts; a goroutine in the global queue is RUNNABLE
 * and is there once (I3); spinners are not more than Ps (I5); no work and no due timer waits
 * for 10 ms of virtual time while a P is idle (I10), nor an event of a descriptor for 5 ms. With
 * the world stopped, by weft_check: I1 to I3, I5 to I9, I11 to I13.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTS_SIM_SCHED_WORLD_H
#define TESTS_SIM_SCHED_WORLD_H

#include "sched/sched.h"
#include "sim/scenario.h"

#include "weft.h"

enum { SCHED_MAX_STEPS = 60000 };

/* For scenarios in which threads cannot always be started: work may have to wait. */
extern bool sched_work_may_wait;
/* For scenarios in which goroutines compute while something happens on descriptors. Set once the
 * run has begun. */
extern bool sched_news_may_wait;
/* For scenarios without long computations: events do not wait, even if no P is idle. */
extern bool sched_news_at_once;

/* Runs go with WEFT_DEBUG=migrate=1. */
extern bool sched_migrates;

/* Fills in procs if it is 0. Returns the error of weft_run_with, or how many threads were
 * abandoned. */
enum { SCHED_PROCS_FOUND = -1 };        /* as procs: what the machine has, and follow it */
int sched_run(const weft_config *cfg, void (*first)(void *));
/* In the background, watched in the same way. sched_stop returns as sched_run does. */
int sched_start(const weft_config *cfg);
int sched_stop(void);
/* As sched_run, and it must return 0. */
void sched_run_well(const weft_config *cfg, void (*first)(void *));

/* weft_go, and it must succeed. */
int64_t sched_go(void (*fn)(void *), void *arg);
void    sched_join(int64_t id);

/* Requests those Ps, a bit each, and takes the Ps of Ms in user code, as the monitor would.
 * Context: a thread that is no M, while the run is on. */
void sched_take(uint32_t which);
/* For about half of them. */
void sched_take_some(void);

/* The first call of a worker that stands for a foreign thread. */
void foreign_begin(void);

#endif
