/* wait/wait.h - how every waiting call of weft waits.
 *
 *   rc = w_call_check();                    a scope has struck already
 *   w_wait_begin(&w, deadline, W_CANCELLABLE) in the scope's list, timer armed
 *   lock the object; nothing to be had: put a record that points to &w.waiter into its queue
 *   verdict = w_wait_park(&w, reason, unlock, arg)
 *   not woken by the object: lock it, take the record out, unlock
 *   w_wait_end(&w)                            out of the scope's list, timer gone
 *
 * A call that can be found in more than one place, or before it parks, sets w.waiter.sole to false
 * after w_wait_begin. One that need not wait does the first step only. Goroutines and threads that
 * weft did not create wait alike; only the sleep differs.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_WAIT_WAIT_H
#define W_WAIT_WAIT_H

#include "sched/sched.h"
#include "sched/timer/timers.h"
#include "wait/wake.h"

struct scope;

/* Which other things end a wait. The end of the run concerns threads that are not weft's: their
 * goroutines are gone, but a mutex works without a runtime too. */
enum wait_kind {
        W_CANCELLABLE,          /* scopes, and the end of the run */
        W_WITHOUT_RUN,          /* nothing */
};

/* Key: o the waiting call; what other parties touch is in waiter, member, foreign and timer, each
 * under the lock of where it stands. */
struct wait {
        struct waiter    waiter;
        struct scope    *scope;         /* o  whose list `member` is in; NULL: none */
        struct list_node member;        /*    see scope/tree.h */
        struct list_node foreign;       /*    in the list of threads that are not weft's */
        bool             listed;        /* o  and whether it is in there */
        bool             timed;         /* o  `timer` was armed */
        struct timer     timer;
        int64_t          deadline;      /* o  the earliest of the caller's and the scopes' */
        bool             scope_first;   /* o  and whether it is a scope's */
        void           (*unlock)(void *arg);
        void            *unlock_arg;
};

/* 0, or -ETIMEDOUT or -ECANCELED: a scope of this goroutine or thread has struck. */
W_MUST_CHECK int w_wait_scope_done(void);

/* The same as what a cancellable call has to return at once. It begins with this, wherever it does
 * not have to wait: others who want a turn have it first. Free of cost without either. May switch:
 * yes. */
W_MUST_CHECK int w_wait_refused_slow(void);
W_INLINE int w_call_check(void)
{
        const struct m *mp = w_m();

        if (W_LIKELY(mp && mp->curg && !mp->curg->scope && mp->p && !w_p_is_to_yield(mp->p)))
                return 0;
        return w_wait_refused_slow();
}

/* Around a public call that may wait. Threads of weft's are waited for at the end of the run; any
 * other has to say that it is here. False, and no end to call: no runtime runs. */
W_INLINE bool w_call_begin(void)
{
        return W_LIKELY(w_m() != NULL) || w_foreign_enter();
}

W_INLINE void w_call_end(void)
{
        if (W_UNLIKELY(!w_m()))
                w_foreign_exit();
}

/* True: a goroutine in no scope. Where it has no deadline of its own either, only the object can
 * end its wait; then the two calls below are all there is to it. */
W_INLINE bool w_wait_is_plain(void)
{
        struct g *gp = w_g();

        return W_LIKELY(gp != NULL) && W_LIKELY(!gp->scope);
}

/* With the object's lock held; nothing is to be ended. */
W_INLINE void w_wait_begin_plain(struct waiter *w)
{
        w->gp = w_g();
        w->sole = true;
        w->word.raw = W_VERDICT_ARMING;                           /* unpublished */
}

/* Sleeps until somebody claims the waiter; `lock`, of the quick kind, is released. May switch:
 * yes. */
void w_wait_park_plain(enum wait_reason reason, struct lock *lock);

/* Begins a wait until `deadline` at most (W_FOREVER: none). No lock is held. */
void w_wait_begin(struct wait *w, int64_t deadline, enum wait_kind kind);

/* Sleeps until somebody claims w->waiter, or the deadline passes, or a scope strikes. unlock(arg)
 * is called once the caller can be woken: it releases the lock(s) of the object, and runs within
 * the budget of PROTOCOL park (sched/switch.c). The verdict: TIMEOUT, CANCELED, SHUTDOWN or what
 * the claimer gave. May switch: yes. */
uint32_t w_wait_park(struct wait *w, enum wait_reason reason, void (*unlock)(void *arg), void *arg);

/* Ends the wait; nobody can find it any more afterwards. No lock is held. */
void w_wait_end(struct wait *w);

/* For a verdict below W_VERDICT_OTHER: what the call returns. A deadline of the caller's own that
 * passed before any scope's is -ETIME: the caller says what that means. */
int w_wait_error(const struct wait *w, uint32_t verdict);

/* The end of the run: every thread that is not weft's and waits here is told -ESHUTDOWN. */
void w_wait_shut_down(void);

#endif
