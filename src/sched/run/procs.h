/* sched/run/procs.h - the number of Ps. PROTOCOL resize: sched/run/procs.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_RUN_PROCS_H
#define W_SCHED_RUN_PROCS_H

#include "base/atomic.h"

/* The first n Ps are in use from now on. Context: the stopper of the world, or no M exists yet. */
void w_procs_apply(uint32_t n);
/* As weft_procs, with an n that was checked and is not 0. */
W_MUST_CHECK int w_procs_set(int n);
/* As w_procs_set, but does nothing if the program has set a number. Context: the monitor. */
int w_procs_set_found(int n);
/* Returns how many Ps the machine allows now. */
int w_procs_found(void);
/* For the monitor: follows the machine unless the program has set a number. Returns 1 if the number
 * of Ps changed. */
void w_procs_follow_begin(int64_t now);
uint32_t w_procs_follow(int64_t now);

#endif
