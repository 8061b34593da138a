/* sched/run/fork.h - what a program may do to its threads and to itself behind weft's back.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_RUN_FORK_H
#define W_SCHED_RUN_FORK_H

#include "sched/m.h"

/* run.c: once per process, before the first run. */
W_MUST_CHECK int w_fork_watch(void);

/* True in the child of a fork that was made while there was a run. */
bool w_is_forked(void);
/* Something other than exec was called there. */
W_NORETURN void w_fork_refuse(void);

#endif
