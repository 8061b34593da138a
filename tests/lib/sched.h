/* tests/lib/sched.h - what the tests of the scheduler share.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTS_LIB_SCHED_H
#define TESTS_LIB_SCHED_H

#include "base/atomic.h"
#include "harness/go_test.h"
#include "harness/test.h"
#include "sched/sched.h"

#include "weft.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

void sched_dump(void);

/* weft_run with what the environment says, which must succeed: goroutines that are on a CPU, or
 * wait for one, when the run ends have time to come back. */
void sched_run(void (*fn)(void *), void *arg);

/* weft_run_with, which must succeed. Returns how many threads it abandoned. */
int sched_run_left(const weft_config *cfg, void (*fn)(void *), void *arg);

/* For GO_TEST. */
void sched_run_body(void (*body)(void));

/* n, or less where it would take too long: random pauses hold a P up each time. */
uint32_t sched_scale(uint32_t n);

/* The number of Ps that the environment asks for; the tests of the scheduler are run at 1, 2, 4. */
int sched_procs(void);

int64_t sched_go(void (*fn)(void *), void *arg);

void sched_join(int64_t id);

/* Yields until the counter has come to n. The harness ends a wait that takes too long. */
void sched_await(w_atomic_u32 *counter, uint32_t n);

/* So that mappings can be counted afterwards: libc caches the stacks of ended threads, and gets
 * more here than a run will need, as large as the stacks of Ms. One arena of malloc serves all. */
void sched_warm_up(void);

/* The state of a goroutine that is alive, else G_DEAD. Its record stays where it is while the
 * lock of its bucket is held. */
enum g_state sched_state_of(int64_t id);

void sched_await_parked(int64_t id);

#endif
