/* sched/m.h - struct m: a thread that runs goroutines, and the ways to ask who is running.
 *
 * An M's own stack (g0) is where decisions are made: search, sleep, start and end. It is the stack
 * that the kernel gave the thread.
 *
 * Entering and leaving. Every public function begins with W_ENTER and ends with W_LEAVE: they keep
 * the M's mark, which says whether the M is inside weft or outside, in user code. See PROTOCOL
 * where (sched/preempt/enter.c).
 *
 * No local variable holds an M or a P across a call that may switch: ask again.
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

/* What has to happen to a goroutine once it is off its stack. Runs on the other side of the switch,
 * on the next goroutine's stack or on g0, within the budget of PROTOCOL park (sched/switch.c). */
struct commit {
        void    (*run)(struct m *mp, const struct commit *c);
        struct g *left;
        union {
                bool (*unlock)(struct g *gp, void *arg);        /* park: see w_park() */
                void (*fn)(void *arg);                          /* w_on_g0() */
        };
        void     *arg;
};

/* What an entry must not overlook: PROTOCOL take (sched/preempt/take.c). */
enum m_retake {
        W_RETAKE_NONE,
        W_RETAKE_REQUESTED,         /* somebody wants its P */
        W_RETAKE_REFUSED,         /* it came back in time */
        W_RETAKE_TAKEN,           /* its P was taken, and it may get it back */
        W_RETAKE_LOST,            /* it came back and found that */
        W_RETAKE_ABANDONED,       /* the run has ended without this thread: it never goes on */
        W_RETAKE_FORKED,          /* this is the child of a fork: sched/run/fork.c */
        W_RETAKE_FENCED = 8,      /* and with each of these: an entry has to pass a fence */
};

/* Where a thread that computes stands in PROTOCOL preempt (sched/preempt/preempt.c). */
enum m_grant {
        W_GRANT_NONE,           /* nowhere */
        W_GRANT_QUEUED,           /* in the queue, and running */
        W_GRANT_WAITING,           /* in the queue, and held */
        W_GRANT_CLAIMED,        /* about to go on */
        W_GRANT_GRANTED,          /* goes on */
};

/* Whether it stands when all threads are to: PROTOCOL freeze (sched/run/freeze.c). */
enum m_freeze {
        W_THAWED,
        W_FREEZING,
        W_FROZEN,
        W_PREEMPTED,         /* held, and may go on at any time */
        W_PREEMPTED_FROZEN,         /* held, and must not go on yet */
};

/* Above the three bits stands a number that changes with every stay outside. */
enum m_where {
        W_IN_RUNTIME = 1,
        W_IN_REGION = 2,      /* outside, in a blocking region */
        W_IN_NOPREEMPT = 4,   /* between weft_nopreempt_begin and _end */
        W_WHERE_EPOCH = 8,
        W_WHERE_GRANTED = W_WHERE_EPOCH << 20,  /* to the number of a stay that begins in a handler:
                                                 * an entry that it interrupts may undo it */
};

W_INLINE bool w_where_is_user(uint32_t where)
{
        return !(where & W_IN_RUNTIME);
}

/* Of a value of m.struck. */
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
        int64_t      since;             /* 0: it has seen nothing */
        int64_t      id;                /* of the goroutine */
        const void  *fn;                /* in which it began */
        char         name[W_NAME_BYTES];
        bool         told;
        int64_t      look_at;           /* whether it goes on */
        uint32_t     where;              /* of that stay */
        const void  *pc, *sp;           /* NULL: not known */
        uintptr_t    site;             /* tells it from others that began in fn */
        struct backtrace calls;
};

/* Key: o the M itself   s sched.lock   i immutable   a atomic, edge named
 *      O written by the M, read by anyone
 *      n the M while awake, the waker while it sleeps on `note` */
struct m {
        struct thread      thread;      /* o  must be first: w_self() finds it */
        /* The monitor may look at these at any time, also when the record is given to a new
         * thread. */
        w_atomic_u32       where;        /* a  [MK1][TK1] see enum m_where */
        w_atomic_u32       retake;       /* a  [TK1][TK2] enum m_retake; looked at by every entry */
        w_atomic_u32       tid;         /* O  w_os_tid() */
        w_atomic_u32       usage_fd;      /* a  PROTOCOL cpu-usage (sched/monitor/activity.c) */
        w_atomic_u32       nopreempt_no;        /* O  of its last stay with that mark; hint */
        w_atomic_u64       nopreempt_id;        /* O  whose it was; hint */
        w_atomic_u32       grant;       /* a  [HG1][HG3] enum m_grant */
        w_atomic_u32       preempt_wanted; /* a  hint: by the monitor, with its P still its own */
        struct g          *curg;        /* o  NULL on g0; it and what follows is no business of the
                                         *    monitor's without the lock */
        struct p          *p;           /* o  NULL: without a P */
        bool               spinning;    /* o  looking for work; counted in sched.n_spinning */
        bool               is_main;     /* i  m0: the thread that called weft_run */
        bool               must_exit;   /* o  a goroutine ended locked to it: PROTOCOL lockthread */
        struct g          *locked_g;    /* o  the one that runs here and nowhere else; or NULL.
                                         *    Written under sched.lock */
        struct commit      commit;      /* o  pending while it switches */
        struct g          *resume;      /* o  commit to w_execute: go back to this one */
        bool               in_commit;   /* o  on a borrowed stack: little room, no switch */
        bool               on_g0;       /* o  curg's code runs here: weft_blocking */
        union {
                struct {
                        uint32_t   n_regions;   /* o  depth of blocking regions that curg is in */
                        uint32_t   dedicated;        /* n  not for everyone: PROTOCOL threads */
                };
                uint64_t           stays;       /* o  either: no child runs here before curg */
        };
        struct p          *deferred_p;     /* o  a thread must be created for each, on g0; linked by
                                         *    idle_next */
        struct p          *lost_p;      /* s  was taken from it, and it has had none since; or
                                         *    NULL */
        struct block       block;       /* s  sched/monitor/blocked_report.c */
        int64_t            blocked_since;       /* a  [TK2] the requester's while it asks, the M's
                                         *    once it was taken. 0: it was not for blocking */
        int               *errno_at;    /* i  where this thread's errno is */
        struct fiber       g0;          /* o  while a goroutine runs */

        struct g          *turn_of;     /* o  who went on from being held with a P; or NULL */
        w_atomic_u32       handler_seq;      /* a  [LF1] odd: it is in its handler */
        W_ATOMIC(struct m *) preempt_next;         /* a  [HG2] link in sched.held */
        struct list_node   preempt_link;    /* s  in sched.hogs */
        struct w_os_cpu_timer timer;    /* s  while it is out without a P; o  else */
        w_atomic_u32       freeze;       /* a  [FZ1][FZ2] enum m_freeze */
        struct w_os_regs   regs;        /* a  [FZ1] where it stands, or is held */

        struct note        note;        /* sleeping, idle.c */
        struct p          *next_p;      /* n  P to wake up with; s  where a goroutine is locked */
        struct g          *next_g;      /* n  and that goroutine, to run it; likewise */
        bool               next_spinning;       /* n  and whether it is to look for work */
        bool               must_end;    /* n  woken to end */
        bool               leaves;      /* s  on its way out, and still counted */
        int64_t            timekeeper_at; /* o  when it wakes as the timekeeper; W_FOREVER: not */
        bool               polls;       /* o  sleeps in the poller, or is on its way */
        bool               kicked;      /* n  and is wanted for something else */
        struct list_node   idle_link;   /* s  in sched.idle_m, or in sched.dedicated_m */
        struct list_node   all_link;    /* s  in sched.all_m */
        struct w_os_thread os_thread;   /* i  once joinable */
        bool               joinable;    /* s  its creator has written os_thread */
        bool               born_idle;   /* i  in the idle list before its thread began */
        struct w_os_altstack altstack;  /* o */
};

/* The calling thread's M, or NULL on a thread that is not weft's. */
W_INLINE struct m *w_m(void)
{
        return (struct m *)(void *)w_self();
}

/* The running goroutine, or NULL. Never changes under the one who asks. */
W_INLINE struct g *w_g(void)
{
        struct m *mp = w_m();

        return mp ? mp->curg : NULL;
}

/* The P that this thread holds, or NULL: everyone must be able to go on without. */
W_INLINE struct p *w_p(void)
{
        struct m *mp = w_m();

        return mp ? mp->p : NULL;
}

/* True: what mp->p says is not so any more. Context: the M itself, or with sched.lock. */
W_INLINE bool w_m_lost_p(const struct m *mp)
{
        uint32_t retake = w_load_rlx(&mp->retake) & ~(uint32_t)W_RETAKE_FENCED;       /* guarded */

        return retake == W_RETAKE_TAKEN || retake == W_RETAKE_LOST;
}

/* Nobody's parent: what its goroutine did to it, or the program to its own threads, would be
 * inherited. NULL: a thread that is not weft's. See PROTOCOL thread-request
 * (sched/thread/template.c). */
W_INLINE bool w_m_is_tainted(const struct m *mp)
{
        return !mp || mp->locked_g || mp->must_exit;
}

/* There for somebody in particular, at least at times. */
W_INLINE bool w_m_is_special(const struct m *mp)
{
        return mp->is_main || mp->dedicated;
}

/* Sees to what the flag says. `before`: the mark of whoever enters. */
void w_enter_slow(struct m *mp, uint32_t before);

/* mp is the calling thread's. What its mark was: see w_leave. A thread without one has nothing to
 * leave: as if it had been inside. */
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

/* The M may be another one than at the entry. */
W_INLINE void w_leave_inline(struct m *mp)
{
        w_store_rel(&mp->where, w_where_after_leave(w_load_rlx(&mp->where)));            /* [MK1] */
}

/* The same for who has not switched since and knows what the mark is, but for having left. */
W_INLINE void w_leave_as(struct m *mp, uint32_t before, uint32_t where)
{
        if (W_LIKELY(w_where_is_user(before)))
                where = w_where_after_leave(where);
        w_store_rel(&mp->where, where);                             /* [MK1] */
}

/* mp is the calling thread's. TSan has to see it, also where files call it that it does not see
 * (sched/switch.c). */
#if defined(W_TSAN)
void w_leave_on(struct m *mp);
#else
W_INLINE void w_leave_on(struct m *mp)
{
        w_leave_inline(mp);
}
#endif

/* Whether it was inside before is a property of the call. */
W_INLINE void w_leave(uint32_t before)
{
        if (W_LIKELY(w_where_is_user(before)))
                w_leave_on(w_m());
}

/* For calls that are short and made often, by user code alone: it is outside, so nothing has to be
 * kept until they leave. mp is the calling thread's at either end. What its mark is now. */
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

#endif
