/* sched/spawn.h - new goroutines.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_SPAWN_H
#define W_SCHED_SPAWN_H

#include "sched/g.h"

struct scope;

/* Makes goroutine 1, which is in no queue: it must start on the calling thread. */
int64_t w_spawn_main(void (*fn)(void *), void *arg, struct g **out);
/* Makes a plain goroutine that is RUNNABLE and in no queue. NULL: no memory. Context: the caller
 * holds a P. */
W_MUST_CHECK struct g *w_spawn_hidden(void (*fn)(void *), void *arg, void *created_at);
/* As weft_go, for a goroutine whose innermost scope is `scope` from the start. */
int64_t w_spawn_in_scope(struct scope *scope, int (*fn)(void *), void *arg, void *created_at);

#endif
