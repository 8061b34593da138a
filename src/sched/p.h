/* sched/p.h - struct p: the right to run goroutines, and what is cached with that right.
 *
 * A P belongs to exactly one of: the M whose m->p it is, the idle list, or the stopper of the
 * world. "Owner" below is that party.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_P_H
#define W_SCHED_P_H

#include "base/rand.h"
#include "sched/g.h"
#include "sched/ids.h"
#include "sched/runq.h"
#include "stack/stack.h"

struct m;

enum p_status { P_IDLE, P_RUNNING, P_STOPPED, P_DEAD };

/* Reasons to go through g0 instead of straight to the next goroutine. */
enum p_attention {
        W_ATTENTION_STOP = 1,   /* somebody wants the world to stop, or to end */
        W_ATTENTION_DEBUG = 2,  /* always: WEFT_DEBUG wants every switch to be decided on g0 */
};

enum {
        W_GLOBAL_EVERY = 61,    /* ticks between looks at the global queue: prime, as in Go */
        W_NEXT_HOPS_MAX = 16,   /* through `next` in a row before one comes from the ring */
        W_FREE_G_MAX = 64,      /* dead records kept; spills down to half */
};

/* Counters are written by the owner alone and read by anyone. */
struct p_stats {
        w_atomic_u64 spawned, ended, switches, steals, spills;
        w_atomic_u64 parks[W_N_WAIT_REASONS];
};

/* Key: i immutable   o owner   O owner writes, anyone reads   s sched.lock   a edge named */
struct p {
        uint32_t           id;          /* i  index in sched.all_p */
        W_ATOMIC(struct m *) m;         /* O  back link; NULL while idle. m->p == this */
        w_atomic_u32       status;      /* O  enum p_status; changed under sched.lock but for the
                                         *    owner's own stop */
        struct p          *idle_next;   /* s  link in sched.idle_p */

        w_atomic_u32       attention;   /* a  hint: set of enum p_attention */
        uint32_t           tick;        /* o  schedules that did not inherit their slice */
        uint32_t           hops;        /* o  through `next` in a row */
        uint64_t           rand;        /* o */
        uint32_t           n_checkpoints;       /* o  self.c */
        uint32_t           slice_tick;  /* o  the tick of the slice that slice_at began */
        int64_t            slice_at;    /* o */
        int64_t            now;         /* o  the time when this P last went through the search */
        struct id_source   ids;         /* o */
        struct queue       free_g;      /* o  dead records */
        struct stack_cache stacks;      /* o */
        struct p_stats     stats;       /* O */
        struct g          *spill[W_RUNQ_SPILL]; /* o  scratch: commits have little stack */

        struct runq        runq;        /* PROTOCOL runq (sched/runq.c) */
};

/* A counter of the owner: nobody else writes, so no locked instruction is needed. */
W_INLINE void w_p_count(w_atomic_u64 *counter, uint64_t n)
{
        w_store_rlx(counter, w_load_rlx(counter) + n);            /* counter */
}

#endif
