/* sched/run/world.h - stopping the world, and the end of a run. PROTOCOL world: sched/run/world.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_RUN_WORLD_H
#define W_SCHED_RUN_WORLD_H

#include "sched/p.h"

/* Stops the world. False: the run ends, and nothing was stopped. A goroutine gets false only if its
 * thread was abandoned; it must leave then. Context: any thread. May switch: yes. */
W_MUST_CHECK bool w_world_stop(void);
void w_world_start(void);
/* For an M that found `stopping`. True: it may search once more before it stops. */
bool w_world_may_search(struct m *mp);
/* The M stops: releases its P and sleeps. Returns as w_thread_sleep. */
bool w_world_stop_here(struct m *mp);
/* Counts pp as stopped; no M owns it any more. Context: with sched.lock. */
void w_world_p_stopped_locked(struct p *pp);
/* The run must end: every M stops for good. */
void w_world_end(void);

#endif
