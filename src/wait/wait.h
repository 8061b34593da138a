/* wait/wait.h - how every waiting call of weft waits.
 *
 *   rc = w_call_check();                        refused: a scope was cancelled or has expired
 *   w_wait_begin(&w, deadline, W_CANCELLABLE)   into the scope's list, arm the timer
 *   lock the object; if nothing is available, put a record that points to &w.waiter into its queue
 *   verdict = w_wait_park(&w, reason, unlock, arg)
 *   not woken by the object: lock it, take the record out, unlock
 *   w_wait_end(&w)                              out of the scope's list, disarm the timer
 *
 * If other parties can find the waiter in more than one place, or before it parks, the call sets
 * w.waiter.sole to false after w_wait_begin. A call that need not wait does the first step only.
 * Goroutines and foreign threads wait in the same way; only the sleep differs.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_WAIT_WAIT_H
#define W_WAIT_WAIT_H

#include "sched/run/foreign.h"
#include "sched/sched.h"
#include "sched/timer/timers.h"
#include "wait/wake.h"

struct scope;

/* What ends a wait besides the object and the deadline. The end of the run ends the waits of
 * foreign threads, because the goroutines that they wait for are gone. A mutex works without a run,
 * so the end of a run does not end a wait for it. */
enum wait_kind {
        W_CANCELLABLE,          /* scopes and the end of the run */
        W_WITHOUT_RUN,          /* nothing */
};

/* Key: o the waiting call. Other parties touch waiter, member, foreign and timer only, each under
 * the lock of the object that contains it. */
struct wait {
        struct waiter    waiter;
        struct scope    *scope;         /* o  `member` is in its list; NULL: none */
        struct list_node member;        /*    see scope/tree.h */
        struct list_node foreign;       /*    in the list of waiting foreign threads */
        bool             listed;        /* o  `foreign` is in that list */
        bool             timed;         /* o  `timer` was armed */
        struct timer     timer;
        int64_t          deadline;      /* o  the earliest of the caller's and the scopes' */
        bool             scope_first;   /* o  the deadline is a scope's */
        void           (*unlock)(void *arg);
        void            *unlock_arg;
};

/* 0, or -ETIMEDOUT or -ECANCELED: a scope of this goroutine or thread has expired or was
 * cancelled. */
W_MUST_CHECK int w_wait_scope_done(void);

/* What a cancellable call must return at once: as w_wait_scope_done. Every cancellable call begins
 * with this check, also if it need not wait. If other goroutines are due for a turn, the caller
 * yields first. Costs nothing without a scope and without such goroutines. May switch: yes. */
W_MUST_CHECK int w_call_check_slow(void);
W_INLINE int w_call_check(void)
{
        const struct m *mp = w_m();

        if (W_LIKELY(mp && mp->curg && !mp->curg->scope && mp->p && !w_p_is_to_yield(mp->p)))
                return 0;
        return w_call_check_slow();
}

/* Around a public call that may wait. The end of the run waits for weft's own threads; a foreign
 * thread must register. False: no run is on, and w_call_end must not be called. */
W_INLINE bool w_call_begin(void)
{
        return W_LIKELY(w_m() != NULL) || w_foreign_enter();
}

W_INLINE void w_call_end(void)
{
        if (W_UNLIKELY(!w_m()))
                w_foreign_exit();
}

/* True: the caller is a goroutine in no scope. If it has no deadline of its own either, only the
 * object can end its wait, and the two calls below are all that it needs. */
W_INLINE bool w_wait_is_plain(void)
{
        struct g *gp = w_g();

        return W_LIKELY(gp != NULL) && W_LIKELY(!gp->scope);
}

/* With the object's lock held. No w_wait_end follows. */
W_INLINE void w_wait_begin_plain(struct waiter *w)
{
        w->gp = w_g();
        w->sole = true;
        w->word.raw = W_VERDICT_ARMING;                           /* unpublished */
}

/* Parks until a claimer claims the waiter. Releases `lock`, which is of the quick kind. May switch:
 * yes. */
void w_wait_park_plain(enum wait_reason reason, struct lock *lock);

/* Begins a wait until `deadline` at most (W_FOREVER: no deadline). No lock is held. */
void w_wait_begin(struct wait *w, int64_t deadline, enum wait_kind kind);

/* Parks until a claimer claims w->waiter, the deadline passes, or a scope is cancelled. Calls
 * unlock(arg) once the caller can be woken: it releases the lock or locks of the object, and runs
 * within the budget of PROTOCOL park (sched/switch.c). Returns the verdict: TIMEOUT, CANCELED,
 * SHUTDOWN or what the claimer gave. May switch: yes. */
uint32_t w_wait_park(struct wait *w, enum wait_reason reason, void (*unlock)(void *arg), void *arg);

/* Ends the wait; no party can find it afterwards. No lock is held. */
void w_wait_end(struct wait *w);

/* What the call returns for a verdict below W_VERDICT_OTHER. -ETIME: the caller's own deadline
 * passed before that of any scope; the caller decides what that means. */
int w_wait_error(const struct wait *w, uint32_t verdict);

/* The end of the run: every foreign thread that waits here returns -ESHUTDOWN. */
void w_wait_shut_down(void);

#endif
