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
#include "os/os.h"
#include "sched/g.h"
#include "sched/ids.h"
#include "sched/queue/parents.h"
#include "sched/queue/runq.h"
#include "sched/timer/timers.h"
#include "stack/stack.h"

struct m;

/* Why an M does not come back, see sched/monitor/activity.c. */
enum activity {
        W_ACTIVITY_NOT_YET,
        W_ACTIVITY_STARVED,           /* it would, but gets no CPU */
        W_ACTIVITY_RUNNING,               /* it computes */
        W_ACTIVITY_BLOCKED,
        W_ACTIVITY_UNKNOWN,           /* the system does not tell */
};

/* What the monitor saw when it last looked. */
struct sample {
        struct m       *m;
        uint32_t        where;
        int64_t         since;          /* for how long it has been so */
        int64_t         came_at;        /* likewise, also what a late round makes one forget */
        bool            suspect;        /* long enough, and somebody needs its P */
        bool            has_base;
        int64_t         preempt_by_at;        /* by when it should be held; 0: it was not asked */
        int64_t         asked_run;      /* how much it had run when it was asked */
        int64_t         run;            /* how much when the system was last asked */
        enum activity    verdict;
        int64_t         read_at;        /* when the system was last asked */
        int64_t         first_run;      /* how much it had run when first seen so; or NOT_SEEN */
        struct w_os_cpu_usage base;           /* at the beginning of the window that is judged */
        int64_t         base_at;
        uint32_t        nopreempt_no;   /* a stay with W_IN_NOPREEMPT, 0: none */
        int64_t         nopreempt_since;        /* W_FOREVER: it was told of */
        uint64_t        n_switches;     /* of this P */
        int64_t         switched_at;    /* since when it is so many */
        bool            yield_asked;    /* a turn was asked for since then */
};

enum p_status { P_IDLE, P_RUNNING, P_STOPPED, P_DEAD };

/* Reasons to go through g0 instead of straight to the next goroutine. */
enum p_attention {
        W_ATTENTION_STOP = 1,   /* somebody wants the world to stop, or to end */
        W_ATTENTION_DEBUG = 2,  /* always: WEFT_DEBUG wants every switch to be decided on g0 */
        W_ATTENTION_DUE = 4,    /* a timer of this P is due */
        W_ATTENTION_YIELD = 8,  /* others wait, and nobody has had a turn for 10 ms */
        W_ATTENTION_DEDICATED = 16,  /* the M that holds it is not for everyone: PROTOCOL threads.
                                 * Changed by the owner only */
        W_ATTENTION_GIVE = 32,  /* a turn was asked for in vain: its M is to go on without it */
};

enum {
        W_GLOBAL_EVERY = 61,    /* ticks between looks at the global queue: prime, as in Go */
        W_NEXT_HOPS_MAX = 16,   /* through `next` in a row before one comes from the ring */
        W_PARENT_EVERY = 4096,  /* turns of the old before one is an oldest parent's: with 16 hops
                                 * each some 10 ms. Each such turn leaves a branch half done */
        W_FREE_G_MAX = 64,      /* dead records kept; spills down to half */
};

/* From ready to running: every W_READY_EVERY-th is timed, because a look at the clock costs as much
 * as a switch. Bucket i counts those of 2^i to 2^(i+1) ns. */
enum { W_READY_EVERY = 256, W_READY_UNIT = 64, W_READY_BUCKETS = 40 };

/* Counters are written by the owner alone and read by anyone. */
struct p_stats {
        w_atomic_u64 ready_to_run[W_READY_BUCKETS];
        w_atomic_u64 spawned, ended, switches, steals, spills, takes, handoffs, preemptions;
        w_atomic_u64 parks[W_N_WAIT_REASONS];
};

/* Key: i immutable   o owner   O owner writes, anyone reads   s sched.lock   a edge named */
struct p {
        uint32_t           id;          /* i  index in sched.all_p */
        W_ATOMIC(struct m *) m;         /* O  back link; NULL while idle. m->p == this */
        w_atomic_u32       status;      /* O  enum p_status; changed under sched.lock but for the
                                         *    owner's own stop */
        struct p          *idle_next;   /* s  link in sched.idle_p; o  while somebody starts threads
                                         *    for several */
        struct m          *asked;       /* s  who was asked for it; see PROTOCOL take */
        struct sample      sample;       /* the monitor's own */
        struct m          *taken_from;  /* s  who had it, while the world is stopped; or NULL */
        bool               deferred_spinning;   /* o  the thread that is owed is to look for work */
        bool               looks_first;         /* o  it has run nobody since the world started */

        w_atomic_u32       attention;   /* a  hint: set of enum p_attention */
        uint32_t           tick;        /* o  schedules that did not inherit their slice */
        uint32_t           hops;        /* o  through `next` or to a parent in a row */
        uint32_t           n_turns;     /* o  of somebody old, after too many hops */
        uint32_t           n_readied;   /* o  to tell every 256th */
        bool               next_is_parent;      /* o  who stands in `next` let its child go first */
        uint64_t           rand;        /* o */
        uint32_t           n_checkpoints;       /* o  self.c */
        uint32_t           slice_tick;  /* o  the tick of the slice that slice_at began */
        int64_t            slice_at;    /* o */
        int64_t            now;         /* o  the time when this P last went through the search */
        w_atomic_u64       clock;       /* a  hint: the time, as of the monitor: sysmon.c */
        struct id_source   ids;         /* o */
        struct queue       free_g;      /* o  dead records */
        struct queue       free_lazytimers; /* o  likewise */
        struct stack_cache stacks;      /* o */
        struct p_stats     stats;       /* O */
        struct g          *spill[W_RUNQ_SPILL]; /* o  scratch: commits have little stack */

        struct runq        runq;        /* PROTOCOL runq (sched/queue/runq.c) */
        struct parents     parents;     /* PROTOCOL parents (sched/queue/parents.c) */
        struct timers      timers;      /* PROTOCOL timers (sched/timer/timers.c) */
};

/* How many wait in the P's own queues, for reports. */
W_INLINE uint32_t w_p_len_hint(const struct p *pp)
{
        return w_runq_len_hint(&pp->runq) + w_parents_len_hint(&pp->parents);
}

/* Nothing in the P's own queues. In this order: see PROTOCOL parents. Context: any thread. */
W_INLINE bool w_p_has_no_work(const struct p *pp)
{
        return w_runq_is_empty(&pp->runq) && w_parents_is_empty(&pp->parents);
}

/* Something else than the M itself is a reason to go through g0. A hint. */
W_INLINE bool w_p_is_wanted(const struct p *pp)
{
        return w_load_rlx(&pp->attention) & ~(uint32_t)W_ATTENTION_DEDICATED;        /* hint */
}

/* Others wait for a turn. A hint. */
W_INLINE bool w_p_turn_is_wanted(const struct p *pp)
{
        return w_load_rlx(&pp->attention) & W_ATTENTION_YIELD;    /* hint */
}

/* Others wait for a turn, or somebody for the world to stop. A hint. */
W_INLINE bool w_p_is_to_yield(const struct p *pp)
{
        return w_load_rlx(&pp->attention) & (W_ATTENTION_YIELD | W_ATTENTION_STOP);     /* hint */
}

/* A counter of the owner: nobody else writes, so no locked instruction is needed. */
W_INLINE void w_p_count(w_atomic_u64 *counter, uint64_t n)
{
        w_store_rlx(counter, w_load_rlx(counter) + n);            /* counter */
}

/* ---- From ready to running, latency.c -------------------------------------------------------- */

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

#endif
