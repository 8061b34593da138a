/* scope/tree.c - the tree of open scopes: what has struck, and whom it wakes.
 *
 * Called by   scope/scope.c (open, cancel, close, children), wait/wait.c (who sleeps in a scope),
 *             sched/run/run.c (the end of a run).
 *
 * PROTOCOL scope-tree
 *
 * Goal      once a scope is cancelled, every call that waits in it or below it ends, and every
 *           later one is refused; nobody touches a scope that has been closed.
 * Parties   opener, a goroutine or a guest (a thread that is not weft's); members: the opener and
 *           the children, who sleep; canceller (any thread, or a child with a result); the last
 *           child; closer (the opener); m0 at the end of a run.
 * Words     the tree's lock, one of a static table; scope.done_at, written once, under the lock;
 *           lists of members and of scopes below, n_running and closer, under the lock.
 *           guests.open: all scopes of guests, under guests.lock, which is taken before a tree's.
 * Opener    links s under its parent and inherits done_at, both in one hold of the lock; a guest,
 *           as a visitor (PROTOCOL foreign, sched/run/foreign.c), also puts it into guests.open
 * Member    1 refused if done_at is set [SC1] or the deadline has passed   2 under the lock:
 *           into the list of members; struck meanwhile: claims its own wait   3 its timer, or the
 *           time that a guest sleeps, is set to the earliest deadline here and above: a deadline
 *           has no other party   4 sleeps   5 out of the list, under the lock
 * Canceller under the lock: 1 the time   2 for s and every scope below that is not struck yet:
 *           done_at := the time [SC1], every member is claimed with CANCELED and those won are
 *           moved to a list of its own   3 unlocks   4 wakes those
 * Child     at its end, under the lock: n_running - 1; it was the last and somebody waits in close:
 *           claims that wait. Unlocks, then wakes it
 * Closer    under the lock: n_running is 0: takes s out of the tree. Else it sleeps, as the only
 *           one that waits for this (closer), until the last child has woken it. A guest then
 *           takes s out of guests.open; it is no visitor, and needs no run
 * m0        all Ms and visitors are gone. Under guests.lock, with the lock of each: 1 takes
 *           goroutines out of the members of all scopes in guests.open, and scopes of goroutines
 *           out of those below   2 is canceller of each   3 and in place of its last child, if
 *           n_running is not 0: it becomes 0 for good, the closer's wait, if any, is claimed, then
 *           woken
 * Edges     [SC1] what the canceller did before   strike: done_at store-release -> struck:
 *           done_at load-acquire
 * Why no member sleeps on   whoever has the lock second sees the other: the member finds done_at
 *           and its park is refused, or the canceller finds the member in the list. A scope that
 *           is opened below meanwhile inherits or is found likewise.
 * Why once  the wake word has one winner (PROTOCOL wake, wait/wake.c), and a scope is struck once.
 * Why the earlier strike counts, and the answer never changes   cancellations take their time under
 *           the lock, so that the first is the earliest. Who finds a deadline passed looks at
 *           done_at under the lock, after the clock: a canceller that comes later has a later
 *           time, and counts as later than the deadline.
 * Why a guest's scope may outlive the run   children run, and look at s, until the last M is gone,
 *           so that the end of the run cannot end a close before: whoever closes meanwhile waits
 *           for m0. After m0's step nothing of a goroutine's is reachable from s, and since it is
 *           struck it takes no new ones. A guest's other waits were all told before (wait/wait.c),
 *           and a cancellation that the end of the run refuses is m0's own a little later.
 * Why s may vanish   a child's or canceller's last touch of s comes before its unlock; what it
 *           wakes after that are frames that it has claimed, which cannot go away before. Close
 *           returns after a hold of the lock that comes after the last child's. A canceller that
 *           has not got the lock yet keeps s open: that is its caller's promise. m0 has guests.lock
 *           for all of its step, and a guest needs it before it can return.
 * Why one claims the closer   who makes n_running 0, under the lock, once.
 * Rejected  a lock in the scope (the last unlock would touch it); a timer for each deadline (it
 *           would have to be waited for in close).
 * Tests     unit/test_scopes.c, flow/scope/test_scope.c, flow/scope/test_scope_guest.c, explore
 *           scenarios scope-*, sim scenarios scope_*, mutants scope-*; window scope-before-wake.
 *
 * SPDX-License-Identifier: MIT
 */
#include "scope/tree.h"

#include "base/assert.h"
#include "base/window.h"
#include "wait/wait.h"

#include <errno.h>      /* -Exxx */

/* ---- Locks ----------------------------------------------------------------------------------- */

/* A line each. Two trees that share one only wait for each other now and then. */
struct table_lock {
        _Alignas(W_CACHELINE) struct lock lock;         /* class scope */
};

#define LOCKS_4  { W_LOCK_INIT(scope) }, { W_LOCK_INIT(scope) }, { W_LOCK_INIT(scope) },        \
                 { W_LOCK_INIT(scope) }
#define LOCKS_16 LOCKS_4, LOCKS_4, LOCKS_4, LOCKS_4

/* In an engine there is one: which trees share one must not depend on addresses, or a run could not
 * be played again. */
#if defined(W_HOOKED)
static struct table_lock locks[] = { { W_LOCK_INIT(scope) } };
#else
static struct table_lock locks[] = { LOCKS_16, LOCKS_16, LOCKS_16, LOCKS_16 };
#endif

static struct lock *lock_of_root(const struct scope *s)
{
        uint64_t mixed = ((uint64_t)(uintptr_t)s >> 4) * UINT64_C(0x9e3779b97f4a7c15);

        return &locks[(mixed >> 32) % W_ARRAY_LEN(locks)].lock;
}

/* ---- What has struck ------------------------------------------------------------------------- */

/* Equal times are the deadline's, see PROTOCOL. */
static int earlier_of(int64_t cancelled_at, int64_t deadline, int64_t now)
{
        if (cancelled_at < deadline)
                return -ECANCELED;
        return now >= deadline && deadline != W_FOREVER ? -ETIMEDOUT : 0;
}

int w_scope_done(struct scope *s)
{
        int64_t at = (int64_t)w_load_acq(&s->done_at);          /* [SC1] */

        if (at != W_FOREVER)
                return earlier_of(at, s->least_deadline, at);
        if (s->least_deadline == W_FOREVER)
                return 0;
        int64_t now = w_os_now();

        if (now < s->least_deadline)
                return 0;
        w_lock(s->lock);
        at = (int64_t)w_load_rlx(&s->done_at);                  /* guarded by the lock */
        w_unlock(s->lock);
        return earlier_of(at, s->least_deadline, now);
}

static int status_locked(const struct scope *s)
{
        int64_t now = s->deadline == W_FOREVER ? 0 : w_os_now();

        return earlier_of(s->cancelled_at, s->deadline, now);
}

int w_scope_status(const struct scope *s)
{
        w_lock(s->lock);
        int rc = status_locked(s);

        w_unlock(s->lock);
        return rc;
}

/* ---- Strike ---------------------------------------------------------------------------------- */

/* The scope after s in a walk through `top` and all below it, parents first; NULL: none. */
static struct scope *next_below(struct scope *top, struct scope *s)
{
        struct list_node *n = w_list_first(&s->children);

        if (n)
                return W_CONTAINER_OF(n, struct scope, sibling);
        while (s != top) {
                if (s->sibling.next != &s->parent->children)
                        return W_CONTAINER_OF(s->sibling.next, struct scope, sibling);
                s = s->parent;
        }
        return NULL;
}

/* Those that are won sleep on until they are woken; those claimed early or lost see to their own
 * place in the list. */
static void claim_members(struct scope *s, struct list_node *woken)
{
        W_LIST_EACH(n, &s->members) {
                struct wait *w = W_CONTAINER_OF(n, struct wait, member);

                if (w_wake_claim(&w->waiter, W_VERDICT_CANCELED) == W_CLAIM_WON) {
                        w_list_unlink(n);
                        w_list_push_back(woken, n);
                }
        }
}

/* With the lock of the tree. What is below a scope that was struck before was struck with it. */
static void cancel_locked(struct scope *top, int64_t now, struct list_node *woken)
{
        for (struct scope *s = top; s; s = next_below(top, s)) {
                if ((int64_t)w_load_rlx(&s->done_at) != W_FOREVER)    /* guarded by the lock */
                        continue;
                w_store_rel(&s->done_at, (uint64_t)now);        /* [SC1] */
                claim_members(s, woken);
        }
}

static void wake_all(struct list_node *claimed)
{
        struct queue woken = { 0 };

        for (struct list_node *n; (n = w_list_pop_front(claimed));)
                w_wake_gather(&W_CONTAINER_OF(n, struct wait, member)->waiter, &woken);
        w_ready_many(&woken);
}

void w_scope_cancel_tree(struct scope *s, int error)
{
        struct list_node claimed;
        struct lock     *lock = s->lock;

        w_list_init(&claimed);
        w_lock(lock);
        if (error && !s->first_error)
                s->first_error = error;
        if (s->cancelled_at == W_FOREVER) {
                s->cancelled_at = w_os_now();
                if ((int64_t)w_load_rlx(&s->done_at) == W_FOREVER)    /* guarded by the lock */
                        cancel_locked(s, s->cancelled_at, &claimed);
        }
        w_unlock(lock);
        W_WINDOW("scope-before-wake");
        wake_all(&claimed);
}

/* ---- Members that sleep ---------------------------------------------------------------------- */

void w_scope_enlist(struct scope *s, struct wait *w)
{
        w_list_init(&w->member);
        w_lock(s->lock);
        w_list_push_back(&s->members, &w->member);
        if ((int64_t)w_load_rlx(&s->done_at) != W_FOREVER)      /* guarded by the lock */
                (void)w_wake_claim(&w->waiter, W_VERDICT_CANCELED);
        w_unlock(s->lock);
}

void w_scope_unlist(struct scope *s, struct wait *w)
{
        w_lock(s->lock);
        w_list_unlink(&w->member);
        w_unlock(s->lock);
}

/* ---- Children -------------------------------------------------------------------------------- */

int w_scope_child_begin(struct scope *s)
{
        int rc = w_scope_done(s);

        if (rc < 0)
                return rc;
        w_lock(s->lock);
        s->n_running++;
        w_unlock(s->lock);
        return 0;
}

void w_scope_child_undo(struct scope *s)
{
        w_lock(s->lock);
        s->n_running--;
        W_ASSERT(!s->closer || s->n_running > 0);
        w_unlock(s->lock);
}

/* By whoever made n_running 0. Who waits in close, and has to be woken; NULL: nobody. */
static struct wait *claim_closer_locked(struct scope *s)
{
        struct wait *closer = s->closer;

        if (closer && w_wake_claim(&closer->waiter, W_VERDICT_OTHER) == W_CLAIM_WON)
                return closer;
        return NULL;
}

void w_scope_child_end(struct scope *s)
{
        struct lock *lock = s->lock;
        struct wait *closer = NULL;

        w_lock(lock);
        if (--s->n_running == 0)
                closer = claim_closer_locked(s);
        w_unlock(lock);
        W_WINDOW("scope-before-wake");
        if (closer)
                w_wake_up(&closer->waiter);
}

/* ---- Guests ---------------------------------------------------------------------------------- */

/* Scopes of threads that weft did not create: the end of the run finds them here. */
static struct {
        struct lock      lock;          /* class foreign_scopes */
        struct list_node open;          /* under lock: struct scope */
} foreigners = { W_LOCK_INIT(foreign_scopes), { &foreigners.open, &foreigners.open } };

/* The scope stands in a frame that is gone. */
static void refuse_end(struct w_os_foreign *foreign)
{
        w_fatal("thread %d ends with scope %p open", w_os_tid(), (void *)foreign->scope);
}

static void foreign_enters(struct scope *s)
{
        w_lock(&foreigners.lock);
        w_list_push_back(&foreigners.open, &s->foreign);
        w_unlock(&foreigners.lock);
        if (!s->outer)
                (void)w_os_foreign_watch(W_OS_HOOK_SCOPE, refuse_end);    /* it only reports */
}

static void foreign_leaves(struct scope *s)
{
        w_lock(&foreigners.lock);
        w_list_unlink(&s->foreign);
        w_unlock(&foreigners.lock);
        if (!s->outer)
                (void)w_os_foreign_watch(W_OS_HOOK_SCOPE, NULL);
}

/* They never run again, and their frames go. */
static void forget_goroutines(struct scope *s)
{
        w_lock(s->lock);
        W_LIST_EACH(n, &s->members)
                if (W_CONTAINER_OF(n, struct wait, member)->waiter.gp)
                        w_list_unlink(n);
        W_LIST_EACH(n, &s->children)
                if (!W_CONTAINER_OF(n, struct scope, sibling)->seat.is_foreign)
                        w_list_unlink(n);
        w_unlock(s->lock);
}

static void drop_children(struct scope *s)
{
        struct wait *closer = NULL;

        w_lock(s->lock);
        if (s->n_running > 0) {
                s->n_running = 0;
                s->has_dropped = true;
                closer = claim_closer_locked(s);
        }
        w_unlock(s->lock);
        if (closer)
                w_wake_up(&closer->waiter);
}

/* Before the first strike, which reaches the scopes below, none of them knows a goroutine. */
void w_scopes_run_ended(void)
{
        w_lock(&foreigners.lock);
        W_LIST_EACH(n, &foreigners.open)
                forget_goroutines(W_CONTAINER_OF(n, struct scope, foreign));
        W_LIST_EACH(n, &foreigners.open) {
                struct scope *s = W_CONTAINER_OF(n, struct scope, foreign);

                w_scope_cancel_tree(s, 0);
                drop_children(s);
        }
        w_unlock(&foreigners.lock);
}

/* ---- Open and close -------------------------------------------------------------------------- */

static void link_below(struct scope *s, struct scope *parent)
{
        if (parent->least_deadline < s->least_deadline)
                s->least_deadline = parent->least_deadline;
        w_lock(s->lock);
        w_store_rlx(&s->done_at, w_load_rlx(&parent->done_at));      /* guarded by the lock */
        w_list_push_back(&parent->children, &s->sibling);
        w_unlock(s->lock);
}

void w_scope_enter(struct scope *s, struct scope_seat seat, int64_t deadline)
{
        struct scope *outer = *seat.innermost;
        struct scope *parent = *seat.n_shields == 0 ? outer : NULL;

        s->lock = parent ? parent->lock : lock_of_root(s);
        s->outer = outer;
        s->parent = parent;
        s->seat = seat;
        s->outer_shields = *seat.n_shields;
        s->first_error = 0;
        s->deadline = s->least_deadline = deadline;
        s->cancelled_at = W_FOREVER;
        w_store_rlx(&s->done_at, W_FOREVER);                    /* own word: unpublished */
        s->closer = NULL;
        s->n_running = 0;
        s->has_dropped = false;
        w_list_init(&s->foreign);
        w_list_init(&s->sibling);
        w_list_init(&s->children);
        w_list_init(&s->members);
        if (parent)
                link_below(s, parent);
        if (W_UNLIKELY(seat.is_foreign))
                foreign_enters(s);
        *seat.innermost = s;
        *seat.n_shields = 0;
}

void w_scope_leave_unlock(struct scope *s)
{
        W_ASSERT(s->n_running == 0 && w_list_empty(&s->children) && w_list_empty(&s->members));
        w_list_unlink(&s->sibling);
        s->last_status = status_locked(s);
        w_unlock(s->lock);
        *s->seat.innermost = s->outer;
        *s->seat.n_shields += s->outer_shields; /* one begun within and not ended goes on */
        if (W_UNLIKELY(s->seat.is_foreign))
                foreign_leaves(s);
}
