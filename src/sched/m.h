/* sched/m.h - struct m: a thread that runs goroutines; the current M, P and goroutine.
 *
 * An M's own stack (g0) is where decisions are made: search, sleep, start and end. It is the stack
 * that the kernel gave the thread.
 *
 * Enter and leave. Every public function begins with W_ENTER and ends with W_LEAVE. They keep
 * m.where, which says whether the M is in the runtime or in user code. See PROTOCOL where
 * (sched/preempt/enter.c).
 *
 * A call that may switch may return on another thread. No local variable keeps an M or a P across
 * such a call; w_m() and w_p() must be called again.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_M_H
#define W_SCHED_M_H

#include "arch/fiber.h"
#include "base/assert.h"
#include "base/note.h"
#include "base/thread.h"
#include "os/os.h"
#include "sched/inspect/backtrace.h"
#include "sched/g.h"

struct p;

/* The work that remains for a goroutine once it is off its stack. It runs on the other side of the
 * switch, on the stack of the next goroutine or on g0, within the stack budget of PROTOCOL park
 * (sched/switch.c). */
struct commit {
        void    (*run)(struct m *mp, const struct commit *c);
        struct g *left;
        union {
                bool (*unlock)(struct g *gp, void *arg);        /* park: see w_park() */
                void (*fn)(void *arg);                          /* w_on_g0() */
        };
        void     *arg;
};

/* The state of the claim on an M's P; every entry reads it: PROTOCOL take
 * (sched/preempt/take.c). */
enum m_retake {
        W_RETAKE_NONE,
        W_RETAKE_REQUESTED,     /* a taker wants its P */
        W_RETAKE_REFUSED,       /* the M entered the runtime in time and keeps its P */
        W_RETAKE_TAKEN,         /* its P was taken, and the M does not know it yet */
        W_RETAKE_LOST,          /* the M entered the runtime and found that its P is gone */
        W_RETAKE_ABANDONED,     /* the run has ended without this thread: it never continues */
        W_RETAKE_FORKED,        /* this is the child of a fork: sched/run/fork.c */
        W_RETAKE_FENCED = 8,    /* together with each of these: an entry must pass a fence */
};

/* Where a thread that computes stands in PROTOCOL preempt (sched/preempt/preempt.c). */
enum m_grant {
        W_GRANT_NONE,           /* not in the queue */
        W_GRANT_QUEUED,         /* in the queue, and running */
        W_GRANT_WAITING,        /* in the queue, and stopped in its handler */
        W_GRANT_CLAIMED,        /* about to get a P */
        W_GRANT_GRANTED,        /* has a P and continues */
};

/* Whether the M stands still while the world is frozen: PROTOCOL freeze (sched/run/freeze.c). */
enum m_freeze {
        W_THAWED,
        W_FREEZING,
        W_FROZEN,
        W_PREEMPTED,            /* stopped in its handler, and may continue at any time */
        W_PREEMPTED_FROZEN,     /* stopped in its handler, and must not continue yet */
};

/* m.where. Above the three bits stands the epoch, which changes with every stay in user code. */
enum m_where {
        W_IN_RUNTIME = 1,
        W_IN_REGION = 2,        /* in user code, in a blocking region */
        W_IN_NOPREEMPT = 4,     /* between weft_nopreempt_begin and _end */
        W_WHERE_EPOCH = 8,
        W_WHERE_GRANTED = W_WHERE_EPOCH << 20,  /* added to the epoch of a stay that begins in a
                                                 * handler: an entry that the handler interrupts
                                                 * may undo a plain step */
};

W_INLINE bool w_where_is_user(uint32_t where)
{
        return !(where & W_IN_RUNTIME);
}

/* Of a value of m.handler_seq. */
W_INLINE bool w_is_in_handler(uint32_t handler_seq)
{
        return handler_seq & 1;
}

W_INLINE uint32_t w_where_after_leave(uint32_t inside)
{
        return inside - W_IN_RUNTIME + W_WHERE_EPOCH;
}

/* What the monitor has seen of a stay in user code that blocks: PROTOCOL blocked-report
 * (sched/monitor/blocked_report.c). */
struct block {
        int64_t      since;             /* 0: the monitor has seen nothing */
        int64_t      id;                /* of the goroutine */
        const void  *fn;                /* in which it began */
        char         name[W_NAME_BYTES];
        bool         told;
        int64_t      look_at;           /* when to look whether it still blocks */
        uint32_t     where;             /* m.where of that stay */
        const void  *pc, *sp;           /* NULL: not known */
        uintptr_t    site;              /* distinguishes stays that began in the same fn */
        struct backtrace calls;
};

/* Key: o the M itself   s sched.lock   i immutable   a atomic, edge named
 *      O written by the M, read by any thread
 *      n the M while awake, the waker while it sleeps on `note` */
struct m {
        struct thread      thread;      /* o  must be first: w_self() finds it */
        /* The monitor may read the next eight words at any time, also when the record passes to a
         * new thread. */
        w_atomic_u32       where;       /* a  [MK1][TK1] see enum m_where */
        w_atomic_u32       retake;      /* a  [TK1][TK2] enum m_retake; read by every entry */
        w_atomic_u32       tid;         /* O  w_os_tid() */
        w_atomic_u32       usage_fd;    /* a  PROTOCOL cpu-usage (sched/monitor/activity.c) */
        w_atomic_u32       nopreempt_no;        /* O  counts stays with W_IN_NOPREEMPT; hint */
        w_atomic_u64       nopreempt_id;        /* O  the goroutine of the last one; hint */
        w_atomic_u32       grant;       /* a  [HG1][HG3] enum m_grant */
        w_atomic_u32       preempt_wanted;      /* a  hint: by the monitor, while the M has its P */
        struct g          *curg;        /* o  NULL on g0. The monitor reads curg and what follows
                                         *    only with sched.lock */
        struct p          *p;           /* o  NULL: without a P */
        bool               spinning;    /* o  searches for work; counted in sched.n_spinning */
        bool               is_main;     /* i  m0: the thread that called weft_run */
        bool               must_exit;   /* o  a goroutine ended locked to it: PROTOCOL lockthread */
        struct g          *locked_g;    /* o  the goroutine that is locked to this M, or NULL;
                                         *    written under sched.lock */
        struct commit      commit;      /* o  pending while it switches */
        struct g          *resume;      /* o  from a commit to w_execute: resume this goroutine */
        bool               in_commit;   /* o  on a borrowed stack: little room, no switch */
        bool               on_g0;       /* o  curg's code runs here: weft_blocking */
        union {
                struct {
                        uint32_t   n_regions;   /* o  depth of blocking regions that curg is in */
                        uint32_t   dedicated;   /* n  serves one goroutine: PROTOCOL threads */
                };
                uint64_t           stays;       /* o  not 0: no child may run here before curg */
        };
        struct p          *deferred_p;  /* o  Ps that need a new thread each, to be created on g0;
                                         *    linked by idle_next */
        struct p          *lost_p;      /* s  the P that was taken, until the M has a P again; or
                                         *    NULL */
        struct block       block;       /* s  sched/monitor/blocked_report.c */
        int64_t            blocked_since;       /* a  [TK2] the taker's while it asks, the M's once
                                         *    its P was taken. 0: not taken for blocking */
        int               *errno_at;    /* i  where this thread's errno is */
        struct fiber       g0;          /* o  while a goroutine runs */

        struct g          *turn_of;     /* o  the preempted goroutine that got a P; or NULL */
        w_atomic_u32       handler_seq; /* a  [LF1] odd: the M is in its handler */
        W_ATOMIC(struct m *) preempt_next;      /* a  [HG2] link in sched.preempt.stack */
        struct list_node   preempt_link;        /* s  in sched.preempt.queue */
        struct w_os_cpu_timer timer;    /* s  while it runs user code without a P; o  else */
        w_atomic_u32       freeze;      /* a  [FZ1][FZ2] enum m_freeze */
        struct w_os_regs   regs;        /* a  [FZ1] where it was stopped */

        struct note        note;        /* sleeping, idle.c */
        /* The handoff. n; s if a goroutine is locked to the M. */
        struct p          *next_p;      /* the P to wake up with */
        struct g          *next_g;      /* the locked goroutine, to run it; or NULL */
        bool               next_spinning;       /* whether the M must search for work */
        bool               must_end;    /* n  woken to end */
        bool               leaves;      /* s  on its way out, and still counted */
        int64_t            timekeeper_at; /* o  when it wakes as the timekeeper; W_FOREVER: not */
        bool               polls;       /* o  sleeps in the poller, or is on its way */
        bool               kicked;      /* n  must leave the poller for another duty */
        struct list_node   idle_link;   /* s  in sched.idle_m, or in sched.dedicated_m */
        struct list_node   all_link;    /* s  in sched.all_m */
        struct w_os_thread os_thread;   /* i  once joinable */
        bool               joinable;    /* s  its creator has written os_thread */
        bool               born_idle;   /* i  in the idle list before its thread began */
        struct w_os_altstack altstack;  /* o */
};

/* The calling thread's M, or NULL on a foreign thread. */
W_INLINE struct m *w_m(void)
{
        return (struct m *)(void *)w_self();
}

/* The running goroutine, or NULL. It does not change while its code runs. */
W_INLINE struct g *w_g(void)
{
        struct m *mp = w_m();

        return mp ? mp->curg : NULL;
}

/* The P that this thread holds, or NULL. Every caller must work without a P too. */
W_INLINE struct p *w_p(void)
{
        struct m *mp = w_m();

        return mp ? mp->p : NULL;
}

/* True: mp->p is stale, the P was taken. Context: the M itself, or with sched.lock. */
W_INLINE bool w_m_lost_p(const struct m *mp)
{
        uint32_t retake = w_load_rlx(&mp->retake) & ~(uint32_t)W_RETAKE_FENCED;       /* guarded */

        return retake == W_RETAKE_TAKEN || retake == W_RETAKE_LOST;
}

/* True: mp must not create threads: they would inherit what its goroutine changed on it. NULL means
 * a foreign thread, which the program may have changed. See PROTOCOL thread-request
 * (sched/thread/thread.c). */
W_INLINE bool w_m_is_tainted(const struct m *mp)
{
        return !mp || mp->locked_g || mp->must_exit;
}

/* True: mp may be dedicated to one goroutine. */
W_INLINE bool w_m_is_special(const struct m *mp)
{
        return mp->is_main || mp->dedicated;
}

/* Acts on m.retake. `before` is m.where before the entry. */
void w_enter_slow(struct m *mp, uint32_t before);

/* Enters the runtime. Returns m.where before the entry, for w_leave. mp is the calling thread's M.
 * A foreign thread has none; w_enter returns W_IN_RUNTIME there, so that w_leave does nothing. */
W_INLINE uint32_t w_enter_on(struct m *mp)
{
        uint32_t before = w_load_rlx(&mp->where);                  /* own word */

        w_store_rlx(&mp->where, before | W_IN_RUNTIME);           /* guarded by TK1 */
        w_fence_compiler();
        if (W_UNLIKELY(w_load_acq(&mp->retake) != W_RETAKE_NONE))     /* [TK2] */
                w_enter_slow(mp, before);
        return before;
}

W_INLINE uint32_t w_enter(void)
{
        struct m *mp = w_m();

        return mp ? w_enter_on(mp) : W_IN_RUNTIME;
}

/* mp may be another M than at the entry. */
W_INLINE void w_leave_inline(struct m *mp)
{
        w_store_rel(&mp->where, w_where_after_leave(w_load_rlx(&mp->where)));            /* [MK1] */
}

/* The same for a caller that has not switched since its entry and still knows m.where. */
W_INLINE void w_leave_as(struct m *mp, uint32_t before, uint32_t where)
{
        if (W_LIKELY(w_where_is_user(before)))
                where = w_where_after_leave(where);
        w_store_rel(&mp->where, where);                             /* [MK1] */
}

/* mp is the calling thread's M. TSan must see this store, also when a file that TSan does not
 * instrument calls it (sched/switch.c). */
#if defined(W_TSAN)
void w_leave_on(struct m *mp);
#else
W_INLINE void w_leave_on(struct m *mp)
{
        w_leave_inline(mp);
}
#endif

/* Leaves the runtime unless the caller was in the runtime already. */
W_INLINE void w_leave(uint32_t before)
{
        if (W_LIKELY(w_where_is_user(before)))
                w_leave_on(w_m());
}

/* For short, frequent calls that only user code makes. They need not keep what w_enter returns. mp
 * is the calling thread's M at both ends. Returns m.where of now. */
W_INLINE uint32_t w_enter_from_user(struct m *mp)
{
        uint32_t before = w_enter_on(mp);

        W_ASSERT(w_where_is_user(before));
        return before | W_IN_RUNTIME;
}

W_INLINE void w_leave_to_user(struct m *mp)
{
        w_leave_on(mp);
}

#define W_ENTER()  uint32_t w_where_before_ = w_enter()
#define W_LEAVE()  w_leave(w_where_before_)

/* ---- m.c ------------------------------------------------------------------------------------- */

/* A record with a new id, in all_m. NULL: no memory. With sched.lock. */
struct m *w_m_new_locked(void);
/* An M for the calling thread. NULL: no memory. */
struct m *w_m_adopt(void);
/* Around what mp's own thread does as an M. */
W_MUST_CHECK int w_m_begin(struct m *mp);
void w_m_end(struct m *mp);
/* mp serves one goroutine only, or all of them again. With sched.lock. mp is the caller's, or it
 * sleeps and is in no list. */
void w_m_dedicate_locked(struct m *mp, bool dedicated);

#endif
