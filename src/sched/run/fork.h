/* sched/run/fork.h - a program that calls fork.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_RUN_FORK_H
#define W_SCHED_RUN_FORK_H

#include "sched/m.h"

/* Registers the handler of fork, once per process. Context: before the first run. */
W_MUST_CHECK int w_fork_watch(void);

/* True in the child of a fork that was made while a run was on. */
bool w_is_forked(void);
/* Ends such a child, which has called weft, with a message. */
W_NORETURN void w_fork_refuse(void);

#endif
