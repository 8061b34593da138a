/* tests/sim/sync_world.h - objects with several users, and memory that must stay untouched after.
 *
 *   sync_begin(fn, true); sync_run_all();       users run fn(state) until every object has its end
 *
 * Each object is used by goroutines, and often by a foreign thread. The user that returns last from
 * its last call fills the object's memory with a pattern (sync_gone), which must still be there at
 * the end: no user touches an object after it has let another user return. A wake that is lost
 * ends in a deadlock.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTS_SIM_SYNC_WORLD_H
#define TESTS_SIM_SYNC_WORLD_H

#include "sim/sched_world.h"

enum { N_OBJECTS = 2, N_USERS = 4, ROUNDS = 3 };

/* One of each; a scenario uses what it is about. */
struct object {
        weft_mutex   mutex;
        weft_rwmutex rwmutex;
        weft_cond    cond;
        weft_sem     sem;
        weft_wg      wg;
        weft_once    once;
};

/* What the object protects, in memory of its own. */
struct state {
        struct object *object;
        uint32_t       n_refs;          /* plain: under the object */
        uint32_t       inside, writers; /* plain: the users in a section */
        uint32_t       sum;             /* plain */
        uint32_t       ready;           /* plain */
        w_atomic_u32   readers;
        w_atomic_u32   n_got, n_calls;
};

extern struct state sync_states[N_OBJECTS];
extern struct object sync_objects[N_OBJECTS];

/* Objects all zero; their users will be N_USERS goroutines and, if allowed, half of the time a
 * thread of the program. */
void sync_begin(void (*user)(void *state), bool strangers_welcome);
/* How many there are of each. */
uint32_t sync_n_users(void);

/* weft_run with all users. */
void sync_run_users(void);
/* The same, and every object comes to its end. */
void sync_run_all(void);
/* For scenarios that do it themselves: the thread for the first object. */
void sync_stranger_start(void);
void sync_stranger_join(void);

/* The caller is the last user: from now on no party touches the object. */
void sync_gone(struct state *s);

void sync_maybe_yield(void);
/* Alone, for a while. */
void sync_section(struct state *s);

#endif
