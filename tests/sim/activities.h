/* tests/sim/activities.h - what goroutines do in scenarios about Ps and threads: they lock
 * themselves to threads, live in scopes, are called by timers.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTS_SIM_ACTIVITIES_H
#define TESTS_SIM_ACTIVITIES_H

#include "sim/sched_world.h"

#include <errno.h>      /* EDOM */

/* ---- Locked to a thread ---------------------------------------------------------------------- */

/* The state of a goroutine that may lock its thread. */
struct locked_state {
        uint32_t  depth;
        struct m *at;           /* where the outermost lock was */
};

void check_thread(const struct locked_state *it);

void lock_it(struct locked_state *it);

void unlock_it(struct locked_state *it);

/* ---- Scopes and timers ----------------------------------------------------------------------- */

/* some_while(NULL) passes some time. */
struct passing {
        void (*some_while)(void *arg);
};

/* Returns the result of the open. Children that fail, a deadline or a cancellation end the
 * scope. */
int in_scope(const struct passing *p);

void by_timer(const struct passing *p);

#endif
