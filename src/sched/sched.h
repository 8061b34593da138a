/* sched/sched.h - the one global record of a run, what its lock protects, and the invariants.
 *
 * Invariants, executable in debug/check.c with the world stopped:
 *   I1  every state word is in the table and was moved along it (gstate.c checks each move)
 *   I2  a RUNNING goroutine is the curg of one M, which has a P
 *   I3  a RUNNABLE goroutine stands in exactly one queue
 *   I5  spinners <= Ps, and every spinner holds a P with an empty queue
 *   I6  an idle M has no P and no goroutine
 *   I7  p->m == m if and only if m->p == p
 *   I8  no park with a runtime lock held (switch.c checks each)
 *   I9  every P is with its owner, in the idle list or with the stopper
 *   I11 ids are unique; the all-list holds every goroutine once
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_SCHED_H
#define W_SCHED_SCHED_H

#include "base/lock.h"
#include "base/note.h"
#include "base/rand.h"
#include "base/records.h"
#include "sched/g.h"
#include "sched/m.h"
#include "sched/p.h"
#include "stack/stack.h"

enum { W_PROCS_MAX = 1024 };

enum { W_BLOCKED_PLACES = 64 };         /* reported at most, each once: blocked.c */

/* Of every thread that weft starts: weft_blocking promises 1 MiB of it. One size, so that libc can
 * use a stack again; memory is committed as it is used. */
enum { W_THREAD_STACK = 1280 * 1024 };

/* For parts above this one that keep memory of the run: called when every thread is gone. */
struct run_end {
        void          (*free)(void);
        struct run_end *next;
};

/* What a run was asked for, checked and complete (config.c). */
struct run_config {
        int     procs;
        int     max_threads;
        size_t  stack_size;
        int     shutdown_ms;
        int     idle_ms;
        int     schedtrace_ms;  /* 0: off */
        int     preempt;        /* WEFT_PREEMPT_OFF and so on */
        bool    preempt_set;    /* by the code */
        bool    scheddetail, check, migrate;
        bool    randomize;
        uint64_t randomize_seed;
};

/* Key: s lock   S written under lock, read by anyone as a hint   a edge named   i for the run */
struct sched {
        struct run_config  config;      /* i */
        struct lock        lock;        /* class sched */

        struct queue       globq;       /* s  globq.c */
        w_atomic_u32       n_globq;     /* S */

        struct p         **all_p;       /* i  changed with the world stopped only */
        uint32_t           n_procs;     /* i  likewise */
        struct visit_steps steal_order; /* i  likewise */
        struct p          *idle_p;      /* s  newest first */
        w_atomic_u32       n_idle_p;    /* S  [ID2] */

        struct list_node   all_m;       /* s */
        struct list_node   idle_m;      /* s  newest first */
        uint32_t           n_m;         /* s  threads, those being created included */
        uint32_t           n_idle_m;    /* s */
        uint32_t           n_leaving;   /* s  of n_m: will run nothing any more */
        uint32_t           n_lost;      /* s  of n_m: in user code, without the P that it had */
        struct m          *keeper;      /* s  asleep until the next timer, in no list; or NULL */
        w_atomic_u64       keeper_until;        /* S  [TM2] keeper.c; W_FOREVER: there is none */
        uint32_t           next_m_id;   /* s */

        w_atomic_u32       n_spinning;  /* a  [ID1] idle.c */
        w_atomic_u32       need_spinning;       /* a  [ID2] idle.c */

        w_atomic_u32       stopping;    /* S  the world is asked to stop, or the run to end */
        bool               ending;      /* s  the run ends */
        uint32_t           n_to_stop;   /* s  Ps that have not stopped yet */
        struct note        stopped;     /* the stopper sleeps here */
        struct lock        stop_lock;   /* class stop: one stopper */
        struct lock        take_lock;   /* class take: one who takes Ps */
        uint32_t           flag_base;   /* i  W_FLAG_FENCED if every entry passes a fence */

        bool               stopper_sleeps;      /* s */

        struct p_stats     without_p;   /* of those who have none, added atomically */
        w_atomic_u32       main_left;   /* a  [LV1] goroutine 1 has left by weft_exit */

        struct records     m_records;   /* s */
        struct list_node   ended_m;     /* s  ended, not yet joined */
        uint32_t           n_started, n_ended;  /* s  threads of ours, m0 not counted */
        struct note        all_ended;   /* the end of the run waits here */
        bool               end_sleeps;  /* s  it does; all may have ended before, and m0 may have
                                         *    started another since */
        bool               complained;  /* s  that no thread was to be had */
        w_atomic_u32       thread_owed; /* S  none was to be had for a P: who goes idle looks */
        bool               sysmon_sleeps;       /* s  until a P is used again */
        bool               sysmon_woken;        /* s  and has not heard of it yet */
        bool               too_many_lost;       /* the monitor's own: it was said */
        w_atomic_uptr      blocked_at[W_BLOCKED_PLACES];        /* a  blocked.c */
        int64_t            retry_at, retry_pause;       /* the monitor's own */
        struct w_os_sigmask sigmask;    /* i  what the caller of weft_run had */
        struct run_end    *at_end;      /* s  newest first; see w_run_at_end() */

        struct stack_pool  stacks;
};

extern struct sched w_sched;

/* ---- globq.c: the queue that every P shares, under sched.lock -------------------------------- */

void w_globq_put_locked(struct g *gp);
void w_globq_put_batch_locked(struct queue *batch);
/* One goroutine, or NULL. */
struct g *w_globq_get_locked(void);
/* This P's share, at most half a ring: the first is returned, the others go to `rest`. */
struct g *w_globq_get_batch_locked(struct queue *rest);
void w_globq_put(struct g *gp);
/* For those without a P: state, count and queue change at one moment, as weft_check sees it. */
void w_globq_publish(struct g *gp, enum g_state from);
void w_globq_publish_locked(struct g *gp, enum g_state from);

/* ---- Steps ----------------------------------------------------------------------------------- */

/* spawn.c: goroutine 1, in no queue: it has to start on the calling thread. */
int64_t w_spawn_main(void (*fn)(void *), void *arg, struct g **out);
/* A plain goroutine that is RUNNABLE and in no queue; NULL: no memory. Context: a P is held. */
W_MUST_CHECK struct g *w_spawn_hidden(void (*fn)(void *), void *arg, void *created_at);
/* As weft_go, for a goroutine whose innermost scope is `scope` from the start. */
int64_t w_spawn_in_scope(struct scope *scope, int (*fn)(void *), void *arg, void *created_at);

/* queue.c: into a P's queue, with overflow to the global one. Context: owner of pp. */
void w_queue_ring(struct p *pp, struct g *gp);
void w_queue_next(struct p *pp, struct g *gp);
/* A parent whose child runs first: into `next`. */
void w_queue_parent(struct p *pp, struct g *gp);
/* From `next` or the ring, minding hops and ticks; NULL if both are empty. */
struct g *w_queue_take(struct p *pp);
/* One to go on with at once, without a look at the rest of the world; NULL: ask g0. */
struct g *w_pick_direct(struct p *pp);

/* schedule.c: the M's loop on g0; returns when the M is to end, without a P. */
void w_schedule(struct m *mp);
/* find.c: the next goroutine for mp, which holds a P; NULL: the M ends, without a P. */
struct g *w_find(struct m *mp);
/* steal.c */
struct g *w_steal(struct m *mp);
/* Fires what is due on other Ps; one of those woken, if any. */
struct g *w_steal_timers(struct m *mp);

/* gp is the one that mp runs from now on. */
W_INLINE void w_become(struct m *mp, struct g *gp)
{
        w_g_move(gp, G_RUNNABLE, G_RUNNING);
        if (W_UNLIKELY(gp->ready_at != 0))
                w_latency_end(mp->p, gp);
        mp->curg = gp;
}

/* switch.c */
void w_execute(struct m *mp, struct g *gp);
/* Parks the calling goroutine. Once it is off its stack and WAITING, unlock(gp, arg) runs: from the
 * moment it releases what protects the wait, gp may run elsewhere. If unlock returns false nobody
 * will wake gp: it goes on at once. Context: goroutine, no runtime lock held but what unlock
 * releases; may switch: yes. */
void w_park(enum wait_reason reason, bool (*unlock)(struct g *gp, void *arg), void *arg);
/* Switches to a child that nobody else has seen; the parent goes to `next`. May switch: yes. */
void w_run_child(struct g *child);
/* The calling goroutine, whose M has no P, waits for one in the global queue. May switch: yes. */
void w_queue_self(void);
/* Ends the calling goroutine and goes on with `to`, which w_pick_direct gave; NULL: with g0. */
W_NORETURN void w_exit(struct g *to);
/* Runs fn(arg) on g0, for code that needs more stack than a goroutine may have. fn does not park.
 * Context: any; comes back on the same M. */
void w_on_g0(void (*fn)(void *), void *arg);
/* Switches to g0, where `run` calls fn and lets the goroutine go on: see commit.h. */
void w_call_on_g0(void (*run)(struct m *mp, const struct commit *c), void (*fn)(void *), void *arg);
void w_goroutine_main(void *gp);

W_INLINE bool w_g_is_bound(const struct g *gp)
{
        return w_load_rlx(&gp->state) == G_REGION;                /* own word */
}

/* exit.c */
W_NORETURN void w_goroutine_run(struct g *gp);
/* Around a call into user code: u->fn(u) is called if that ends gp. Context: gp, the last pushed
 * is popped first. */
void w_unwind_push(struct g *gp, struct unwind *u);
void w_unwind_pop(struct g *gp, struct unwind *u);

/* ready.c: makes a WAITING goroutine runnable. Context: the one waker, any thread, also without P.
 * */
void w_ready(struct g *gp);
/* The same for many, linked by g.link in the order in which they are to run; leaves the queue
 * empty. One goes to each idle P, with a thread; the others to the own queue. */
void w_ready_many(struct queue *batch);
/* For those that are RUNNABLE already and in no queue. Context: owner of pp. */
void w_queue_many(struct p *pp, struct queue *batch);

/* idle.c: new work was published; some thread must look at it. */
void w_wake_one_of_many(void);
W_INLINE void w_wake_one(void)
{
        if (w_sched.n_procs != 1 || !w_p())     /* else nobody but the caller could run it */
                w_wake_one_of_many();
}
void w_spin_begin(struct m *mp);
void w_spin_end_found(struct m *mp);
/* Gives up the P and sleeps; true: mp has a P again and looks on. */
bool w_idle(struct m *mp);
void w_p_acquire(struct m *mp, struct p *pp);
struct p *w_p_release(struct m *mp);
void w_idle_p_put_locked(struct p *pp);
struct p *w_idle_p_get_locked(void);

/* thread.c */
/* Threads that have a P, or are asleep, or on their way to sleep. With sched.lock. */
W_INLINE uint32_t w_threads_available_locked(void)
{
        return w_sched.n_m - w_sched.n_leaving - w_sched.n_lost;
}

/* Takes what the waker, or the creator, left in the record. */
void w_thread_take_orders(struct m *mp);
struct m *w_m_adopt(void);
W_MUST_CHECK int w_m_begin(struct m *mp);
void w_m_end(struct m *mp);
int  w_thread_create(struct p *pp, bool spinning);
/* Finds or makes a thread for pp, which is in the caller's hands. In a commit none is made yet: mp
 * owes it, and who runs after the commit sees to that. */
void w_thread_for(struct p *pp, bool spinning);
/* For each of those linked by idle_next, in the caller's hands: they have work and do not look. */
void w_threads_for(struct p *list);
/* Context: the goroutine that mp runs, or g0; not in a commit. */
void w_thread_pay_owed(struct m *mp);
/* asleep.c. Sleeps as an M without a P; true: has one again. false: the M is to end. */
bool w_thread_sleep(struct m *mp);
bool w_thread_sleep_unlock(struct m *mp);       /* with sched.lock, which it releases */
void w_thread_enlist_locked(struct m *mp);      /* among the idle ones */
void w_threads_join_ended(void);
/* sysmon: tries again where no thread was to be had; 1 if it did. */
uint32_t w_thread_retry_owed(int64_t now);
/* Hands mp's P to a thread that sleeps, if there is one, and sleeps itself; as w_thread_sleep. */
bool w_thread_swap(struct m *mp);

/* stop.c */
void w_world_stop(void);
void w_world_start(void);
/* For an M that found `stopping`: gives up its P and sleeps; as w_thread_sleep. */
bool w_stop_here(struct m *mp);
void w_p_give_up_locked(struct p *pp);
/* The run is to end: everyone stops for good. */
void w_run_end(void);

/* live.c */
W_INLINE void w_live_spawned(struct p *pp)
{
        if (W_LIKELY(pp != NULL))
                w_p_count(&pp->stats.spawned, 1);
        else
                w_add_rlx(&w_sched.without_p.spawned, 1);         /* counter */
}

W_INLINE void w_live_ended(struct p *pp)
{
        uint64_t n = w_load_rlx(&pp->stats.ended);                /* own word */

        w_store_rel(&pp->stats.ended, n + 1);                     /* [LV2] */
}

void    w_live_main_left(void);
int64_t w_live_count(void);
/* For an M that gave its P up: ends the run if goroutine 1 left it and nobody is left. */
void    w_live_idle(void);

/* local.c, self.c, g.c */
void w_locals_destroy(struct g *gp);
void w_locals_drop(struct g *gp);      /* without running destructors */
void w_name_copy(char out[W_NAME_BYTES], const char *name);
void w_g_describe(void *owner, struct stack_owner *out);

/* dump.c: for w_fatal_set_dump; any context, also a signal handler. */
void w_dump_fatal(void);

/* wait/: what the end of a run is to those who wait for caller-owned objects, or in scopes of
 * threads that are not weft's. First every such thread is told; then, when the Ms are gone,
 * goroutines are forgotten. */
void w_wait_shut_down(void);
void w_table_run_ended(void);
void w_scopes_run_ended(void);

/* config.c, run.c */
struct weft_config;
W_MUST_CHECK int w_config_read(struct run_config *out, const struct weft_config *cfg);
enum run_phase { RUN_OFF, RUN_STARTING, RUN_ON, RUN_ENDING };
extern w_atomic_u32 w_run_phase;        /* a  [RN1][RN2][RN3] run.c */

/* False: no runtime runs, or it is stopping. */
bool w_run_is_on_slow(void);
W_INLINE bool w_run_is_on(void)
{
        if (W_LIKELY(w_load_rlx(&w_run_phase) == RUN_ON))         /* hint: misuse at worst */
                return true;
        return w_run_is_on_slow();
}

/* Once per run and hook. Context: any thread, a run is on. */
void w_run_at_end(struct run_end *hook);

W_MUST_CHECK bool w_visit_begin_foreign(void);
void w_visit_end_foreign(void);

/* Around a call that a thread of the program itself may make: while it lasts the run is not taken
 * down. False, and no end to call: no runtime runs. See PROTOCOL guest (sched/run.c). */
W_MUST_CHECK W_INLINE bool w_guest_begin(void)
{
        return W_LIKELY(w_m() != NULL) ? w_run_is_on() : w_visit_begin_foreign();
}

W_INLINE void w_guest_end(void)
{
        if (W_UNLIKELY(!w_m()))
                w_visit_end_foreign();
}

#endif
