/* sched/m.h - struct m: a thread that runs goroutines, and the ways to ask who is running.
 *
 * An M's own stack (g0) is where decisions are made: search, sleep, start and end. It is the stack
 * that the kernel gave the thread.
 *
 * Entering and leaving. Every public function begins with W_ENTER and ends with W_LEAVE: they keep
 * the M's mark, which says whether the M is inside weft or outside, in user code. See PROTOCOL mark
 * (sched/m.c).
 *
 * No local variable holds an M or a P across a call that may switch: ask again.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_M_H
#define W_SCHED_M_H

#include "arch/fiber.h"
#include "base/note.h"
#include "base/thread.h"
#include "os/os.h"
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

/* What an entry must not overlook. */
enum m_flag {
        W_FLAG_NONE,
        W_FLAG_ABANDONED,       /* the run has ended without this thread: it never goes on */
};

/* Key: o the M itself   s sched.lock   i immutable   a atomic, edge named
 *      n the M while awake, the waker while it sleeps on `note` */
struct m {
        struct thread      thread;      /* o  must be first: w_self() finds it */
        struct g          *curg;        /* o  NULL on g0 */
        struct p          *p;           /* o  NULL: without a P */
        w_atomic_u32       mark;        /* a  [MK1] 1 inside, 0 outside */
        bool               spinning;    /* o  looking for work; counted in sched.n_spinning */
        bool               is_main;     /* i  m0: the thread that called weft_run */
        struct commit      commit;      /* o  pending while it switches */
        struct g          *resume;      /* o  commit to w_execute: go back to this one */
        bool               in_commit;   /* o  on a borrowed stack: little room, no switch */
        struct p          *owed_p;      /* o  a thread must be created for each, on g0; linked by
                                         *    idle_next */
        w_atomic_u32       flag;        /* a  see enum m_flag; looked at by every entry */
        int               *errno_at;    /* i  where this thread's errno is */
        struct fiber       g0;          /* o  while a goroutine runs */

        struct note        note;        /* sleeping, idle.c */
        struct p          *next_p;      /* n  P to wake up with */
        bool               next_spinning;       /* n  and whether it is to look for work */
        bool               must_end;    /* n  woken to end */
        bool               leaves;      /* s  on its way out, and still counted */
        int64_t            keeps_until; /* o  when it wakes as the timekeeper; W_FOREVER: not */
        struct list_node   idle_link;   /* s  in sched.idle_m */
        struct list_node   all_link;    /* s  in sched.all_m */
        struct w_os_thread os_thread;   /* i  once joinable */
        bool               joinable;    /* s  its creator has written os_thread */
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

/* Sees to what the flag says. */
void w_enter_flagged(struct m *mp);

/* mp is the calling thread's. */
W_INLINE uint32_t w_enter_on(struct m *mp)
{
        uint32_t before = w_load_rlx(&mp->mark);                  /* own word */

        w_store_rlx(&mp->mark, 1);                                /* own word */
        w_fence_compiler();
        if (W_UNLIKELY(w_load_rlx(&mp->flag) != W_FLAG_NONE))     /* guarded: see w_enter_flagged */
                w_enter_flagged(mp);
        return before;
}

W_INLINE uint32_t w_enter(void)
{
        struct m *mp = w_m();

        return mp ? w_enter_on(mp) : 0;
}

/* The M may be another one than at the entry; what it was before is a property of the call. */
W_INLINE void w_leave(uint32_t before)
{
        struct m *mp = w_m();

        if (mp)
                w_store_rel(&mp->mark, before);                   /* [MK1] */
}

#define W_ENTER()  uint32_t w_mark_before_ = w_enter()
#define W_LEAVE()  w_leave(w_mark_before_)

#endif
