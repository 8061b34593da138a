/* sched/sched.h - the one global record of a run, what its lock protects, and the invariants.
 *
 * Invariants, executable in debug/check.c with the world stopped:
 *   I1  every state word is in the table and was moved along it (gstate.c checks each move)
 *   I2  a goroutine that is RUNNING, in a REGION or PREEMPTED is the curg of one M, which has a P
 *       or has lost it while it was outside
 *   I3  a RUNNABLE goroutine stands in exactly one queue, the global one if it is locked to a
 *       thread, or is on its way to that thread together with a P; a PREEMPTED one stands in none,
 *       its M among those that are held
 *   I5  spinners <= Ps, and every spinner holds a P with an empty queue
 *   I6  an M that sleeps, for everyone, for the next timer or for one goroutine only, has no P and
 *       no goroutine, and is in one of the three places
 *   I7  p->m == m if and only if m->p == p, but for an M that has lost its P and was not back
 *       since: its m->p is what it has lost
 *   I8  no park with a runtime lock held (switch.c checks each)
 *   I9  every P in use is with its owner, in the idle list, on its way to a thread, or with the
 *       stopper; those that were removed are with nobody and hold nothing. Whom a P was taken from
 *       it knows only while the world is stopped
 *   I11 ids are unique; the all-list holds every goroutine once
 *   I12 an M is kept for the goroutine that is locked to it, as long as it is; m0 for goroutine 1,
 *       but in need
 *   I13 the counts of Ms (all, asleep, kept, lost, leaving) are those of the lists and records
 * I10, no work waits for 10 ms while a P is idle, is for the simulator alone (tests/sim/).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_SCHED_H
#define W_SCHED_SCHED_H

#include "base/lock.h"
#include "base/note.h"
#include "base/rand.h"
#include "base/records.h"
#include "sched/monitor/deadlock.h"
#include "sched/g.h"
#include "sched/m.h"
#include "sched/p.h"
#include "stack/stack.h"

enum { W_PROCS_MAX = 1024 };

enum { W_THREADS_MIN = 2, W_THREADS_MAX = 1000000 };

enum { W_BLOCKED_PLACES = 64 };         /* reported at most, each once: blocked_report.c */

/* Of every thread that weft starts: weft_blocking promises 1 MiB of it. One size, so that libc can
 * use a stack again; memory is committed as it is used. */
enum { W_THREAD_STACK = 1280 * 1024 };

/* A P with work to do went back to the idle list for want of a thread. */
enum thread_pending {
        W_PENDING_NONE,
        W_PENDING_FAILED,          /* none was to be had: the monitor tries again after a while */
        W_PENDING_ASKED,           /* the monitor is to create one: PROTOCOL thread-request */
};

/* For parts above this one that keep memory of the run: called when every thread is gone. */
struct run_end {
        void          (*free)(void);
        struct run_end *next;
};

/* What a run was asked for, checked and complete (config.c). */
struct run_config {
        int     procs;
        bool    procs_found;    /* by looking at the machine: to be followed */
        int     max_threads;
        size_t  stack_size;
        int     shutdown_ms;
        int     idle_ms;
        int     file_threads;
        int     schedtrace_ms;  /* 0: off */
        int     preempt;        /* WEFT_PREEMPT_OFF and so on */
        int     preempt_signal;
        bool    preempt_set;    /* by the code */
        bool    scheddetail, check, migrate;
        bool    dump;           /* SIGQUIT prints the goroutines */
        bool    randomize;
        uint64_t randomize_seed;
};

/* Key: s lock   S written under lock, read by anyone as a hint   a edge named   i for the run */
struct sched {
        struct run_config  config;      /* i */
        bool               in_background;       /* i  weft_start: there is no m0, no goroutine 1 */
        struct lock        lock;        /* class sched */

        struct queue       globq;       /* s  globq.c */
        w_atomic_u32       n_globq;     /* S */

        /* PROTOCOL resize (sched/run/procs.c): w changed by the stopper of the world only. */
        struct p          *all_p[W_PROCS_MAX];  /* w  those made so far; they stay */
        w_atomic_u32       n_p;         /* w  [RZ1] how many that are */
        w_atomic_u32       n_procs;     /* w  the first so many are in use */
        w_atomic_u32       follows;     /* w  n_procs is what the machine has: sched/run/follow.c */
        struct visit_steps steal_order; /* w */
        struct p_batch    *p_batches;   /* w  the memory of the Ps, sched/p.c */
        struct p          *idle_p;      /* s  newest first */
        w_atomic_u32       n_idle_p;    /* S  [ID2] */

        struct list_node   all_m;       /* s */
        struct list_node   idle_m;      /* s  newest first */
        uint32_t           n_m;         /* s  threads, those being created included */
        uint32_t           n_idle_m;    /* s */
        struct list_node   dedicated_m;      /* s  asleep, and not for everyone */
        uint32_t           n_dedicated_asleep;    /* s */
        struct m          *m0;          /* i  the thread that called weft_run; NULL: weft_start */
        uint32_t           n_leaving;   /* s  of n_m: will run nothing any more */
        uint32_t           n_lost;      /* s  of n_m: in user code, without the P that it had */
        uint32_t           n_dedicated;      /* s  of n_m: not for everyone, and not lost */
        uint32_t           n_helpers;   /* s  threads of ours that are no Ms: the monitor */
        uint32_t           n_locked;    /* s  goroutines that are locked to their threads */
        struct m          *timekeeper;     /* s  asleep until the next timer, in no list; or NULL */
        w_atomic_u64       timekeeper_wakes_at;        /* S  [TM2] W_FOREVER: there is none */
        struct m          *poller;      /* s  asleep in the poller, in no list; or NULL */
        w_atomic_u32       polls;       /* S  whether there is one: netpoll.c */
        uint32_t           n_kicked;    /* s  called out of the poller and not yet come */
        uint32_t           next_m_id;   /* s */
        uint32_t           max_threads; /* s */

        w_atomic_u32       n_spinning;  /* a  [ID1] idle.c */
        w_atomic_u32       need_spinning;       /* a  [ID2] idle.c */

        w_atomic_u32       stopping;    /* S  the world is asked to stop, or the run to end */
        bool               ending;      /* s  the run ends */
        uint32_t           n_to_stop;   /* s  Ps that have not stopped yet */
        struct note        stopped;     /* the stopper sleeps here */
        w_atomic_u32       n_answers;   /* a  [FZ3] or here: freeze.c */
        struct lock        stop_lock;   /* class stop: one stopper */
        struct lock        take_lock;   /* class take: one who takes Ps */
        uint32_t           retake_base;   /* i  W_RETAKE_FENCED if every entry passes a fence */

        W_ATOMIC(struct m *) preempted_stack; /* a  [HG2] newest first: preempt.c */
        struct list_node   preemptq;        /* s  the others, oldest first */
        w_atomic_u32       n_preempted;      /* a  hint */
        w_atomic_u64       turn_over_at;        /* a  hint: when one last was, after its turn */
        w_atomic_u32       n_grants;    /* a  counter */
        w_atomic_u32       n_starved;   /* a  counter: rounds in which one with a P got no CPU */
        w_atomic_u32       preempt_off;   /* a  [HG1] the run ends: nobody is held any more */
        bool               may_preempt;    /* s  threads that compute */
        bool               watches_signal;      /* i  that holds them, whoever has it by now */
        bool               reported_signal;      /* the monitor's own */
        int64_t            arm_lost_at;       /* the monitor's own */
        int64_t            blocked_next_at;     /* likewise: somebody may be to be told of */

        bool               stopper_sleeps;      /* s */

        struct p_stats     without_p;   /* of those who have none, added atomically */
        w_atomic_u32       main_exited;   /* a  [LV1] goroutine 1 has left by weft_exit */

        struct records     m_records;   /* s */
        struct list_node   ended_m;     /* s  ended, not yet joined */
        uint32_t           n_started, n_ended;  /* s  threads of ours, m0 not counted */
        struct note        all_ended;   /* the end of the run waits here */
        bool               end_sleeps;  /* s  it does; all may have ended before, and m0 may have
                                         *    started another since */
        bool               complained;  /* s  that no thread was to be had */
        w_atomic_u32       thread_pending; /* S  enum thread_pending: who goes idle looks */
        bool               sysmon_sleeps;       /* s  until a P is used again */
        bool               sysmon_woken;        /* s  and has not heard of it yet */
        bool               too_many_lost;       /* the monitor's own: it was said */
        uint32_t           n_asked;     /* the monitor's own: who should be held any moment */
        int64_t            judge_at;    /* likewise: when more will be known about somebody */
        w_atomic_uptr      blocked_at[W_BLOCKED_PLACES];        /* a  blocked_report.c */
        int64_t            retry_at, retry_pause;       /* the monitor's own */
        int64_t            follow_at;   /* likewise */
        int64_t            quiet_since, look_pause, said_quiet_at;      /* likewise: deadlock.c */
        struct wake_source *wake_sources;     /* s  deadlock.h */
        struct w_os_sigmask sigmask;    /* i  what the caller of weft_run had */
        struct run_end    *at_end;      /* s  newest first; see w_run_at_end() */

        struct stack_pool  stacks;
};

extern struct sched w_sched;

/* How many Ps there are. Exact for who has a P or sched.lock, and for the stopper; else a hint. */
W_INLINE uint32_t w_n_procs(void)
{
        return w_load_rlx(&w_sched.n_procs);                      /* guarded: PROTOCOL resize */
}

/* How many were made: for those who look at all of them without a P, and for sums. */
W_INLINE uint32_t w_n_p(void)
{
        return w_load_acq(&w_sched.n_p);                          /* [RZ1] */
}

/* ---- globq.c: the queue that every P shares, under sched.lock -------------------------------- */

void w_globq_put_locked(struct g *gp);
void w_globq_put_batch_locked(struct queue *batch);
/* Before all others; leaves the batch empty. */
void w_globq_put_first_locked(struct queue *batch);
/* This P's share, but so many at most: the first is returned, the others go to `rest`. NULL: there
 * is nobody. */
struct g *w_globq_get_batch_locked(struct queue *rest, uint32_t most);
void w_globq_put(struct g *gp);
/* For those without a P: state, count and queue change at one moment, as weft_check sees it. */
void w_globq_publish(struct g *gp, enum g_state from);
void w_globq_publish_locked(struct g *gp, enum g_state from);

#include "sched/steps.h"

#endif
