/* sched/p.h - struct p: the right to run goroutines, and what is cached with that right.
 *
 * A P belongs to exactly one party: the M whose m->p it is, the idle list, or the stopper of the
 * world. "Owner" below is that party.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_P_H
#define W_SCHED_P_H

#include "base/rand.h"
#include "os/os.h"
#include "sched/g.h"
#include "sched/ids.h"
#include "sched/queue/parents.h"
#include "sched/queue/runq.h"
#include "sched/timer/timers.h"
#include "stack/stack.h"

struct m;

/* What an M does while it stays in user code: sched/monitor/activity.c. */
enum activity {
        W_ACTIVITY_NOT_YET,
        W_ACTIVITY_STARVED,     /* it is runnable, but gets no CPU */
        W_ACTIVITY_RUNNING,     /* it computes */
        W_ACTIVITY_BLOCKED,     /* it sleeps in the kernel */
        W_ACTIVITY_UNKNOWN,     /* the kernel does not tell */
};

/* The last sample that the monitor took of a P. */
struct sample {
        struct m       *m;
        uint32_t        where;
        int64_t         since;          /* since when m and where are the same */
        int64_t         came_at;        /* the same, but not reset by a late round */
        bool            suspect;        /* long enough, and its P is needed */
        bool            has_base;
        int64_t         preempt_by_at;  /* by when it should be stopped; 0: it was not asked */
        int64_t         asked_run;      /* its CPU time when it was asked */
        int64_t         run;            /* its CPU time when the kernel was last asked */
        enum activity   activity;
        int64_t         read_at;        /* when the kernel was last asked */
        int64_t         first_run;      /* its CPU time at the first sample; or NOT_SEEN */
        struct w_os_cpu_usage base;     /* at the beginning of the window that is judged */
        int64_t         base_at;
        uint32_t        nopreempt_no;   /* of a stay with W_IN_NOPREEMPT; 0: none */
        int64_t         nopreempt_since;        /* W_FOREVER: it was reported */
        uint64_t        n_switches;     /* of this P */
        int64_t         switched_at;    /* when that number last changed */
        bool            yield_asked;    /* W_ATTENTION_YIELD was set since then */
};

enum p_status { P_IDLE, P_RUNNING, P_STOPPED, P_DEAD };

/* Reasons to go through g0 instead of straight to the next goroutine. */
enum p_attention {
        W_ATTENTION_STOP = 1,   /* the world must stop, or the run must end */
        W_ATTENTION_DEBUG = 2,  /* always set: by WEFT_DEBUG every switch is decided on g0 */
        W_ATTENTION_DUE = 4,    /* a timer of this P is due */
        W_ATTENTION_YIELD = 8,  /* goroutines wait, and none has had a turn for 10 ms */
        W_ATTENTION_DEDICATED = 16,     /* the M that holds it is dedicated: PROTOCOL threads.
                                         * Changed by the owner only */
        W_ATTENTION_GIVE = 32,  /* YIELD had no effect: its M must give the P away */
};

enum {
        W_GLOBAL_EVERY = 61,    /* ticks between turns of the global queue: prime, as in Go */
        W_NEXT_HOPS_MAX = 16,   /* through `next` in a row before a goroutine from the ring runs */
        W_PARENT_EVERY = 4096,  /* turns of the ring before the oldest parent gets one: with 16 hops
                                 * each about 10 ms. Such a turn leaves a branch half done */
        W_FREE_G_MAX = 64,      /* cached dead records; a full cache gives half away */
};

/* From ready to running: one in W_READY_EVERY is timed, because reading the clock costs as much as
 * a switch. Bucket i counts latencies of 2^i to 2^(i+1) ns. */
enum { W_READY_EVERY = 256, W_READY_UNIT = 64, W_READY_BUCKETS = 40 };

/* Counters: written by the owner only, read by any thread. */
struct p_stats {
        w_atomic_u64 ready_to_run[W_READY_BUCKETS];
        w_atomic_u64 spawned, ended, switches, steals, spills, takes, handoffs, preemptions;
        w_atomic_u64 parks[W_N_WAIT_REASONS];
};

/* Key: i immutable   o owner   O owner writes, any thread reads   s sched.lock   a edge named */
struct p {
        uint32_t           id;          /* i  index in sched.all_p */
        W_ATOMIC(struct m *) m;         /* O  back link; NULL while idle. m->p == this */
        w_atomic_u32       status;      /* O  enum p_status; changed under sched.lock, except by an
                                         *    owner that stops */
        struct p          *idle_next;   /* s  link in sched.idle_p; o  in a list of Ps that need a
                                         *    thread each */
        struct m          *asked;       /* s  the M that was asked for it: PROTOCOL take */
        struct sample      sample;      /* the monitor's own */
        struct m          *taken_from;  /* s  its M before the world was stopped; or NULL */
        bool               deferred_spinning;   /* o  its deferred thread must search for work */
        bool               looks_first;         /* o  it has run no goroutine since the world
                                                 *    started */

        w_atomic_u32       attention;   /* a  hint: set of enum p_attention */
        uint32_t           tick;        /* o  schedules that did not inherit their slice */
        uint32_t           hops;        /* o  through `next` or to a parent, in a row */
        uint32_t           n_turns;     /* o  of the ring or a parent, after too many hops */
        uint32_t           n_readied;   /* o  to time one in W_READY_EVERY */
        bool               next_is_parent;      /* o  `next` is a parent whose child ran first */
        uint64_t           rand;        /* o */
        uint32_t           n_checkpoints;       /* o  self.c */
        uint32_t           slice_tick;  /* o  the tick of the slice that slice_at began */
        int64_t            slice_at;    /* o */
        int64_t            now;         /* o  the time when this P last went through the search */
        w_atomic_u64       clock;       /* a  hint: the time, written by the monitor: sysmon.c */
        struct id_source   ids;         /* o */
        struct queue       free_g;      /* o  dead records */
        struct queue       free_lazytimers; /* o  dead timer records */
        struct stack_cache stacks;      /* o */
        struct p_stats     stats;       /* O */
        struct g          *spill[W_RUNQ_SPILL]; /* o  scratch: commits have little stack */

        struct runq        runq;        /* PROTOCOL runq (sched/queue/runq.c) */
        struct parents     parents;     /* PROTOCOL parents (sched/queue/parents.c) */
        struct timers      timers;      /* PROTOCOL timers (sched/timer/timers.c) */
};

/* How many goroutines wait in the P's own queues, for reports. */
W_INLINE uint32_t w_p_len_hint(const struct p *pp)
{
        return w_runq_len_hint(&pp->runq) + w_parents_len_hint(&pp->parents);
}

/* True: the P's own queues are empty. The order of the two reads matters: PROTOCOL parents.
 * Context: any thread. */
W_INLINE bool w_p_has_no_work(const struct p *pp)
{
        return w_runq_is_empty(&pp->runq) && w_parents_is_empty(&pp->parents);
}

/* There is a reason to go through g0, other than a dedicated M. A hint. */
W_INLINE bool w_p_is_wanted(const struct p *pp)
{
        return w_load_rlx(&pp->attention) & ~(uint32_t)W_ATTENTION_DEDICATED;        /* hint */
}

/* Goroutines wait for a turn. A hint. */
W_INLINE bool w_p_turn_is_wanted(const struct p *pp)
{
        return w_load_rlx(&pp->attention) & W_ATTENTION_YIELD;    /* hint */
}

/* Goroutines wait for a turn, or the world must stop. A hint. */
W_INLINE bool w_p_is_to_yield(const struct p *pp)
{
        return w_load_rlx(&pp->attention) & (W_ATTENTION_YIELD | W_ATTENTION_STOP);     /* hint */
}

/* Adds to a counter of the owner. Only the owner writes: no locked instruction is needed. */
W_INLINE void w_p_count(w_atomic_u64 *counter, uint64_t n)
{
        w_store_rlx(counter, w_load_rlx(counter) + n);            /* counter */
}

/* ---- p.c: records and owners ----------------------------------------------------------------- */

/* Makes the first n Ps; all but P 0 are idle. */
W_MUST_CHECK int w_ps_init(uint32_t n);
void w_ps_free(void);
/* Makes records up to all_p[n - 1]; the new ones are DEAD. -ENOMEM. Context: the stopper of the
 * world, or no M exists yet. */
W_MUST_CHECK int w_ps_make(uint32_t n);
/* DEAD -> STOPPED: pp takes part when the world starts; its heap is still closed. -ENOMEM. Context:
 * as w_ps_make. */
W_MUST_CHECK int w_p_revive(struct p *pp);
/* STOPPED -> DEAD: returns what pp has cached. Its queues are empty and its heap is closed. */
void w_p_bury(struct p *pp);

void w_p_acquire(struct m *mp, struct p *pp);
struct p *w_p_release(struct m *mp);
/* Notes on pp, which is the caller's, whether its M is dedicated. */
void w_p_set_dedicated(struct p *pp, bool dedicated);
/* pp has no owner: it goes to the idle list, or has stopped. With sched.lock. */
void w_p_give_up_locked(struct p *pp);

/* ---- From ready to running ------------------------------------------------------------ */

void w_latency_begin(struct g *gp);
void w_latency_end(struct p *pp, struct g *gp);

/* gp is about to enter a queue of pp. */
W_INLINE void w_ready_time(struct p *pp, struct g *gp)
{
        if (W_UNLIKELY(++pp->n_readied % W_READY_EVERY == 0))
                w_latency_begin(gp);
}

/* ---- Dead records, see sched/g.c ------------------------------------------------------------- */

/* A DEAD record for the owner of pp (NULL: no P), or NULL: no memory. Context: any; no switch. */
W_MUST_CHECK W_INLINE struct g *w_g_get(struct p *pp)
{
        if (W_UNLIKELY(!pp || !pp->free_g.head))
                return w_g_get_slow(pp);
        return (struct g *)(void *)w_queue_pop(&pp->free_g);
}

W_INLINE void w_g_put(struct p *pp, struct g *gp)
{
        W_ASSERT(w_g_state(gp) == G_DEAD && !gp->stack);
        if (W_UNLIKELY(!pp || pp->free_g.n >= W_FREE_G_MAX))
                w_g_put_slow(pp, gp);
        else
                w_queue_push_front(&pp->free_g, (struct queue_node *)(void *)gp);
}

/* ---- Counts of goroutines: PROTOCOL live (sched/g.c) ----------------------------------------- */

W_INLINE void w_g_count_ended(struct p *pp)
{
        uint64_t n = w_load_rlx(&pp->stats.ended);                /* own word */

        w_store_rel(&pp->stats.ended, n + 1);                     /* [LV2] */
}

#endif
