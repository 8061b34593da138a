/* scope/tree.h - the tree of open scopes: who is in which, when it ends, what has struck.
 *
 * Below the public calls in scope/scope.c. A scope lives in its opener's frame (weft_scope), inside
 * the scope that was current there, if any. The opener is a goroutine or a thread that is not
 * weft's, a guest. All scopes of one tree share one lock, which is chosen by the root's address
 * from a table that is never freed.
 *
 * PROTOCOL scope-tree stands in scope/tree.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCOPE_TREE_H
#define W_SCOPE_TREE_H

#include "base/list.h"
#include "base/lock.h"
#include "os/os.h"
#include "sched/g.h"

struct wait;

/* Where an opener keeps what it is in. Its address tells openers apart. */
struct scope_seat {
        struct scope **innermost;
        uint32_t      *n_shields;       /* depth of weft_shield_begin in the innermost */
        bool           is_foreign;
};

/* The seat of gp, the running goroutine; NULL: of the calling thread, which is not weft's. */
W_INLINE struct scope_seat w_scope_seat(struct g *gp)
{
        if (W_LIKELY(gp != NULL))
                return (struct scope_seat){ &gp->scope, &w_g_cold(gp)->n_shields, false };
        struct w_os_foreign *foreign = w_os_foreign();

        return (struct scope_seat){ &foreign->scope, &foreign->n_shields, true };
}

/* The innermost scope that counts for who sits there: none behind a shield. */
W_INLINE struct scope *w_scope_current(struct g *gp)
{
        if (W_LIKELY(gp != NULL) && W_LIKELY(!gp->scope))
                return NULL;
        struct scope_seat seat = w_scope_seat(gp);

        return *seat.n_shields == 0 ? *seat.innermost : NULL;
}

/* Key: i immutable while open   l the tree's lock   a atomic, edge named   o the opener */
struct scope {
        struct scope_head head;         /* i  first: sched/exit.c knows this much of it */
        uint64_t         magic;         /* i  says that it is open, or that it was */
        struct lock     *lock;          /* i  of the whole tree */
        struct scope    *outer;         /* i  the opener's innermost before */
        struct scope    *parent;        /* i  outer; NULL, the root of a tree, behind a shield */
        struct scope_seat seat;         /* i  the opener's */
        struct list_node foreign;         /*    under guests.lock: in the list of all scopes of
                                         *    threads that are not weft's */
        uint32_t         outer_shields; /* o  the opener's depth of shields before */
        int32_t          first_error;   /* l  of a child */
        int64_t          deadline;      /* i  its own */
        int64_t          least_deadline;        /* i  the earliest of it and all above */
        int64_t          cancelled_at;  /* l  it itself; W_FOREVER: not */
        w_atomic_u64     done_at;     /* a  [SC1] first cancellation here or above; W_FOREVER */
        struct list_node sibling;       /* l  in the parent's children */
        struct list_node children;      /* l  scopes directly below */
        struct list_node members;       /* l  struct wait: who sleeps with this as innermost */
        struct wait     *closer;        /* l  who waits in close; NULL: nobody */
        uint32_t         n_running;     /* l  goroutines of weft_scope_go that have not ended */
        int32_t          last_status;   /* o  of a closed one */
        bool             has_dropped;   /* l  the run ended before all of its goroutines had */
};

/* Opens s below the innermost scope of the caller's seat, or as the root of a tree if there is none
 * or a shield is before it, and makes it the innermost. `deadline` is a time. Context: the opener;
 * a guest that keeps the run from ending (w_call_begin). */
void w_scope_enter(struct scope *s, struct scope_seat seat, int64_t deadline);
/* Out of the tree; the innermost is the outer one again. Context: the opener, in its close; nobody
 * is in s, and the tree's lock is held, which this releases. With or without a run. */
void w_scope_leave_unlock(struct scope *s);

/* Cancels s and everything below it and wakes every member that sleeps. `error` is the result of a
 * child that asks for it, or 0. Context: any thread. Touches s no more once it can be closed. */
void w_scope_cancel_tree(struct scope *s, int error);

/* 0, or what has struck first in s and above it: -ETIMEDOUT or -ECANCELED. Reads the clock if there
 * is a deadline. Context: any thread that keeps s open. */
int w_scope_done(struct scope *s);
/* The same of s alone. */
int w_scope_status(const struct scope *s);

/* One more goroutine in s, which its close has to wait for: 0, or what has struck. */
W_MUST_CHECK int w_scope_child_begin(struct scope *s);
/* It was not started after all. Context: within s, so that nobody waits for this one alone. */
void w_scope_child_undo(struct scope *s);
/* It has ended; the last one wakes who waits in close. Touches s no more once it can be closed. */
void w_scope_child_end(struct scope *s);

/* Puts w into s's list of sleepers. If s was struck already w->waiter is claimed at once, so that
 * its park will be refused. */
void w_scope_enlist(struct scope *s, struct wait *w);
void w_scope_unlist(struct scope *s, struct wait *w);

#endif
