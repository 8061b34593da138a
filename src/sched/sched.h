/* sched/sched.h - the one global record of a run, what its lock protects, and the invariants.
 *
 * Invariants, executable in debug/check.c with the world stopped:
 *   I1  every state word is in the table and was moved along it (gstate.c checks each move)
 *   I2  a goroutine that is RUNNING, in a REGION or PREEMPTED is the curg of exactly one M; that M
 *       has a P, or has lost its P while it was in user code
 *   I3  a RUNNABLE goroutine stands in exactly one queue; if it is locked to a thread, in the
 *       global queue or on its way to that thread together with a P. A PREEMPTED goroutine stands
 *       in no queue; its M stands among the preempted Ms
 *   I5  spinners <= Ps, and every spinner holds a P with an empty queue
 *   I6  an M that sleeps has no P and no goroutine; it stands in idle_m or in dedicated_m, or it is
 *       the timekeeper or in the poller
 *   I7  p->m == m if and only if m->p == p. Exception: an M that has lost its P and has not entered
 *       the runtime since; its m->p is the lost P
 *   I8  no park with a runtime lock held (switch.c checks each)
 *   I9  every P in use is with its owner, in the idle list, on its way to a thread, or with the
 *       stopper. A removed P has no owner and holds nothing. p->taken_from is set only while the
 *       world is stopped
 *   I11 ids are unique; the all-list holds every goroutine once
 *   I12 an M is dedicated to the goroutine that is locked to it as long as that is locked; m0 is
 *       dedicated to goroutine 1 unless no other thread is available
 *   I13 the counts of Ms (all, asleep, dedicated, lost, leaving) match the lists and the records
 * I10, no work waits for 10 ms while a P is idle, is checked by the simulator only (tests/sim/).
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

/* The stack of every thread that weft starts. weft_blocking promises 1 MiB of it. One size for all,
 * so that libc can reuse the stacks; the kernel commits memory as it is used. */
enum { W_THREAD_STACK = 1280 * 1024 };

/* A P with work to do went back to the idle list for want of a thread. */
enum thread_pending {
        W_PENDING_NONE,
        W_PENDING_FAILED,       /* none was available: the monitor tries again after a pause */
        W_PENDING_ASKED,        /* the monitor must create a thread: PROTOCOL thread-request */
};

/* For an upper layer that keeps memory of the run: free is called when all threads are gone. */
struct run_end {
        void          (*free)(void);
        struct run_end *next;
};

/* What a run was asked for, checked and complete (config.c). */
struct run_config {
        int     procs;
        bool    procs_found;    /* by a count of the CPUs; n follows that count */
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

/* Key: s sched.lock   S written under sched.lock, read by any thread as a hint   a edge named
 * i for the run   w changed by the stopper of the world only   y the monitor's own */
struct sched {
        struct run_config  config;      /* i */
        bool               in_background;       /* i  weft_start: there is no m0, no goroutine 1 */
        struct lock        lock;        /* class sched */

        struct queue       globq;       /* s  globq.c */
        w_atomic_u32       n_globq;     /* S */

        /* Ps: PROTOCOL resize (sched/run/procs.c). */
        struct p          *all_p[W_PROCS_MAX];  /* w  the Ps made so far; they stay */
        w_atomic_u32       n_p;         /* w  [RZ1] how many Ps were made */
        w_atomic_u32       n_procs;     /* w  how many of them, from the first, are in use */
        w_atomic_u32       follows;     /* w  n_procs follows the machine: procs.c */
        struct visit_steps steal_order; /* w */
        struct p_batch    *p_batches;   /* w  the memory of the Ps: p.c */
        struct p          *idle_p;      /* s  newest first */
        w_atomic_u32       n_idle_p;    /* S  [ID2] */
        w_atomic_u32       n_spinning;  /* a  [ID1] idle.c */
        w_atomic_u32       need_spinning;       /* a  [ID2] idle.c */
        struct p_stats     without_p;   /* of threads without a P, added atomically */

        /* Ms: PROTOCOL threads (sched/thread/thread.c). */
        struct m          *m0;          /* i  the thread that called weft_run; NULL: weft_start */
        struct list_node   all_m;       /* s */
        struct list_node   idle_m;      /* s  newest first */
        struct list_node   dedicated_m; /* s  dedicated Ms that sleep */
        uint32_t           n_m;         /* s  all Ms, those being created included */
        uint32_t           n_idle_m;    /* s */
        uint32_t           n_dedicated_asleep;  /* s */
        uint32_t           n_leaving;   /* s  of n_m: will run no goroutine any more */
        uint32_t           n_lost;      /* s  of n_m: in user code, without the P that they had */
        uint32_t           n_dedicated; /* s  of n_m: dedicated, and with their P */
        uint32_t           n_helpers;   /* s  threads of weft that are no Ms: the monitor */
        uint32_t           n_locked;    /* s  goroutines that are locked to their threads */

        struct {
                struct records     records;     /* s */
                struct list_node   ended;       /* s  ended, not yet joined */
                uint32_t           next_id;     /* s */
                uint32_t           max;         /* s */
                uint32_t           n_started, n_ended;  /* s  m0 is not counted */
                struct note        all_ended;   /* the end of the run waits here */
                bool               end_sleeps;  /* s  it does; all threads may have ended before,
                                                 *    and m0 may have started another since */
                bool               complained;  /* s  that no thread was available */
                w_atomic_u32       pending;     /* S  enum thread_pending */
        } threads;

        struct {
                struct m          *m;           /* s  sleeps until the next timer; or NULL */
                w_atomic_u64       wakes_at;    /* S  [TM2] W_FOREVER: there is no timekeeper */
        } timekeeper;

        struct {
                struct m          *m;           /* s  sleeps in the poller, in no list; or NULL */
                w_atomic_u32       polls;       /* S  there is such an M: netpoll.c */
                uint32_t           n_kicked;    /* s  Ms kicked out of the poller, not yet awake */
        } poller;

        struct {
                w_atomic_u32       stopping;    /* S  the world must stop, or the run must end */
                bool               ending;      /* s  the run ends */
                bool               stopper_sleeps;      /* s */
                uint32_t           n_to_stop;   /* s  Ps that have not stopped yet */
                struct note        stopped;     /* the stopper sleeps here */
                w_atomic_u32       n_answers;   /* a  [FZ3] or here: freeze.c */
                struct lock        lock;        /* class world: one stopper */
        } world;
        w_atomic_u32       main_exited; /* a  [LV1] goroutine 1 has left by weft_exit */

        /* PROTOCOL take (sched/preempt/take.c). */
        struct lock        take_lock;   /* class take: one taker of Ps */
        uint32_t           retake_base; /* i  W_RETAKE_FENCED if every entry passes a fence */

        struct {        /* PROTOCOL preempt (sched/preempt/preempt.c) */
                W_ATOMIC(struct m *) stack;     /* a  [HG2] newest first */
                struct list_node   queue;       /* s  the other preempted Ms, oldest first */
                w_atomic_u32       n;           /* a  hint */
                w_atomic_u64       turn_over_at;        /* a  hint: when a turn was last over */
                w_atomic_u32       n_grants;    /* a  counter */
                w_atomic_u32       n_starved;   /* a  counter: rounds of an M with a P but no CPU */
                w_atomic_u32       off;         /* a  [HG1] the run ends: no M is stopped */
                bool               allowed;     /* s  threads that compute may be stopped */
                bool               watches_signal;      /* i  its handler may be replaced */
                bool               reported_signal;     /* y  that was reported */
        } preempt;

        struct {        /* PROTOCOL sysmon (sched/monitor/sysmon.c) */
                bool               sleeps;      /* s  until a P is used again */
                bool               woken;       /* s  and does not know it yet */
                bool               too_many_lost;       /* y  that was reported */
                uint32_t           n_asked;     /* y  Ms that should be stopped any moment */
                int64_t            judge_at;    /* y  when more will be known about an M */
                int64_t            arm_lost_at; /* y  when the timers of lost Ms are armed */
                int64_t            blocked_next_at;     /* y  when to report a blocked M */
                int64_t            retry_at, retry_pause;       /* y  creation of threads */
                int64_t            follow_at;   /* y  when the CPUs are counted again */
        } sysmon;
        w_atomic_uptr      blocked_at[W_BLOCKED_PLACES];        /* a  blocked_report.c */

        struct {        /* PROTOCOL deadlock (sched/monitor/deadlock.c) */
                int64_t            quiet_since, pause, said_at; /* y */
                struct wake_source *wake_sources;       /* s */
        } deadlock;

        struct w_os_sigmask sigmask;    /* i  the mask of the caller of weft_run */
        struct run_end    *at_end;      /* s  newest first; see w_run_at_end() */
        struct stack_pool  stacks;
};

extern struct sched w_sched;

/* How many Ps are in use. Exact with a P or sched.lock, and for the stopper; else a hint. */
W_INLINE uint32_t w_n_procs(void)
{
        return w_load_rlx(&w_sched.n_procs);                      /* guarded: PROTOCOL resize */
}

/* How many Ps were made: for threads without a P that scan all of them, and for sums. */
W_INLINE uint32_t w_n_p(void)
{
        return w_load_acq(&w_sched.n_p);                          /* [RZ1] */
}

/* Goroutine 1, whose end is the end of the run, unless the run is in the background. */
W_INLINE bool w_g_is_main(const struct g *gp)
{
        return gp->id == 1 && !w_sched.in_background;
}

#endif
