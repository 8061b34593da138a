/* tests/sim/ways_out.h - what goroutines do in scenarios about Ps and threads: they lock themselves
 * to threads, live in scopes, are called by timers.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTS_SIM_WAYS_OUT_H
#define TESTS_SIM_WAYS_OUT_H

#include "sim/sched_world.h"

#include <errno.h>      /* EDOM */

/* ---- Locked to a thread ---------------------------------------------------------------------- */

/* Of a goroutine that may lock its thread. */
struct pinned {
        uint32_t  depth;
        struct m *at;           /* where the outermost lock was */
};

void check_place(const struct pinned *it);

void lock_it(struct pinned *it);

void unlock_it(struct pinned *it);

/* ---- Scopes and timers ----------------------------------------------------------------------- */

/* some_while(NULL) is how each passes its time. */
struct passing {
        void (*some_while)(void *arg);
};

/* What the open said; children that fail, or a deadline, or a cancellation end it. */
int in_scope(const struct passing *p);

void by_timer(const struct passing *p);

#endif
