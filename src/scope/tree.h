/* scope/tree.h - the tree of open scopes: members, deadlines, and which scopes are done.
 *
 * Below the public calls in scope/scope.c. A scope lives in its opener's frame (weft_scope), inside
 * the scope that was current there, if any. The opener is a goroutine or a foreign thread. A scope
 * is done once it, or a scope above it, was cancelled or has expired. All scopes of one tree share
 * one lock, which is chosen by the root's address from a table that is never freed.
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

/* The scopes of a foreign thread; for a goroutine struct g has these fields. It is in the opaque
 * part of the thread's record, and is all zero at first. */
struct foreign_scope {
        struct scope *innermost;
        uint32_t      n_shields;
};
_Static_assert(sizeof(struct foreign_scope) <= sizeof(((struct w_os_foreign *)0)->opaque),
               "it fits into a foreign thread's record");

W_INLINE struct foreign_scope *w_foreign_scope(struct w_os_foreign *foreign)
{
        return (struct foreign_scope *)(void *)foreign->opaque;
}

/* Where an opener keeps its innermost scope. The address `innermost` identifies the opener. */
struct scope_seat {
        struct scope **innermost;
        uint32_t      *n_shields;       /* depth of weft_shield_begin in the innermost */
        bool           is_foreign;
};

/* The seat of gp, the running goroutine; NULL: of the calling foreign thread. */
W_INLINE struct scope_seat w_scope_seat(struct g *gp)
{
        if (W_LIKELY(gp != NULL))
                return (struct scope_seat){ &gp->scope, &w_g_cold(gp)->n_shields, false };
        struct foreign_scope *of = w_foreign_scope(w_os_foreign());

        return (struct scope_seat){ &of->innermost, &of->n_shields, true };
}

/* The innermost scope that applies to gp or the calling foreign thread: none behind a shield. */
W_INLINE struct scope *w_scope_current(struct g *gp)
{
        if (W_LIKELY(gp != NULL) && W_LIKELY(!gp->scope))
                return NULL;
        struct scope_seat seat = w_scope_seat(gp);

        return *seat.n_shields == 0 ? *seat.innermost : NULL;
}

/* Key: i immutable while open   l the tree's lock   a atomic, edge named   o the opener */
struct scope {
        struct scope_head head;         /* i  first: the part that sched/exit.c uses */
        uint64_t         magic;         /* i  says that it is open, or was closed */
        struct lock     *lock;          /* i  of the whole tree */
        struct scope    *outer;         /* i  the opener's innermost before */
        struct scope    *parent;        /* i  outer; NULL, the root of a tree, behind a shield */
        struct scope_seat seat;         /* i  the opener's */
        struct list_node foreign;       /*    under foreign_scopes.lock: in its list */
        uint32_t         outer_shields; /* o  the opener's depth of shields before */
        int32_t          first_error;   /* l  of a child */
        int64_t          deadline;      /* i  its own deadline */
        int64_t          least_deadline;        /* i  the earliest here and above */
        int64_t          cancelled_at;  /* l  this scope itself; W_FOREVER: not */
        w_atomic_u64     done_at;       /* a  [SC1] first cancellation here or above; W_FOREVER */
        struct list_node sibling;       /* l  in the parent's children */
        struct list_node children;      /* l  scopes directly below */
        struct list_node members;       /* l  struct wait: waits with this as innermost */
        struct wait     *closer;        /* l  the opener's wait in close; NULL: none */
        uint32_t         n_running;     /* l  goroutines of weft_scope_go that have not ended */
        int32_t          last_status;   /* o  of a closed scope */
        bool             has_dropped;   /* l  the run ended before all goroutines of s had ended */
};

/* Opens s below the innermost scope of the caller's seat, and makes it the innermost. Without an
 * innermost scope, or behind a shield, s is the root of a tree. `deadline` is a time. Context: the
 * opener; a foreign thread keeps the run from ending (w_call_begin). */
void w_scope_enter(struct scope *s, struct scope_seat seat, int64_t deadline);
/* Takes s out of the tree; the outer scope is the innermost again. Releases the tree's lock, which
 * is held. Context: the opener, in its close; s has no member. With or without a run. */
void w_scope_leave_unlock(struct scope *s);

/* Cancels s and all scopes below it, and wakes every member that sleeps. `error` is the result of
 * the child that causes this, or 0. Context: any thread. Does not touch s once it can be closed. */
void w_scope_cancel_tree(struct scope *s, int error);

/* 0, or what came first in s and above it: -ETIMEDOUT or -ECANCELED. Reads the clock if there is a
 * deadline. Context: any thread that keeps s open. */
int w_scope_done(struct scope *s);
/* The same for s alone. */
int w_scope_status(const struct scope *s);

/* Counts one more goroutine in s, for which its close must wait: 0, or as w_scope_done. */
W_MUST_CHECK int w_scope_child_begin(struct scope *s);
/* The goroutine was not started after all. Context: within s, so that no closer waits for this
 * goroutine alone. */
void w_scope_child_undo(struct scope *s);
/* The goroutine has ended; the last one wakes the closer. Does not touch s once it can be
 * closed. */
void w_scope_child_end(struct scope *s);

/* Puts w into s's list of members. If s is done already, claims w->waiter at once, so that its park
 * will be refused. */
void w_scope_enlist(struct scope *s, struct wait *w);
void w_scope_unlist(struct scope *s, struct wait *w);

/* The Ms of the run are gone: forgets the scopes of its goroutines. A hook of the run. */
void w_scopes_run_ended(void);

#endif
