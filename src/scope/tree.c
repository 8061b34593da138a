/* scope/tree.c - the tree of open scopes: which are done, and which waits that ends.
 *
 * PROTOCOL scope-tree
 *
 * Goal      once a scope is cancelled, every call that waits in it or below it ends, and every
 *           later call is refused. No party touches a scope that has been closed.
 * Parties   opener, a goroutine or a foreign thread; members, the opener and the children while
 *           they wait; canceller, any thread, or a child with a result; the last child; closer, the
 *           opener in close; m0 at the end of a run.
 * Words     the tree's lock, one of a static table. scope.done_at, written once, under the lock.
 *           The lists of members and of scopes below, n_running and closer, under the lock.
 *           foreign_scopes.open: all scopes of foreign threads, under foreign_scopes.lock, which is
 *           taken before a tree's lock.
 * Opener
 *   1. In one hold of the lock: link s under its parent and inherit done_at.
 *   2. A foreign thread, inside w_foreign_enter (PROTOCOL foreign, sched/run/foreign.c), also puts
 *      s into foreign_scopes.open.
 * Member
 *   1. done_at is set [SC1], or the deadline has passed: refused.
 *   2. Under the lock: enter the list of members. Cancelled meanwhile: claim the own wait.
 *   3. Set the timer, or the time that a foreign thread sleeps, to the earliest deadline here and
 *      above. No other party acts on a deadline.
 *   4. Sleep.
 *   5. Under the lock: leave the list.
 * Canceller
 *   1. Lock. Read the time.
 *   2. For s and every scope below that is not done yet: done_at := the time [SC1]; claim every
 *      member with CANCELED; move the members that were won to a list of its own.
 *   3. Unlock.
 *   4. Wake the members in its list.
 * Child, at its end
 *   1. Under the lock: n_running - 1. It was the last child, and a closer waits: claim that wait.
 *   2. Unlock, then wake the closer.
 * Closer
 *   1. Under the lock, if n_running is not 0: store the own wait in s.closer, and sleep until the
 *      last child wakes the closer.
 *   2. Take s out of the tree.
 *   3. A foreign thread takes s out of foreign_scopes.open. It is not inside w_foreign_enter, and
 *      needs no run.
 * m0, when all Ms are gone and no foreign thread is in a call, under foreign_scopes.lock
 *   1. For all scopes in the list, with the lock of each: take goroutines out of its members, and
 *      scopes of goroutines out of the scopes below.
 *   2. Cancel each scope, as a canceller.
 *   3. Act as its last child, if n_running is not 0: n_running becomes 0 for good. Claim the wait
 *      of the closer, if any, then wake it.
 * Edges     [SC1] what the canceller did before   cancel: done_at store-release -> w_scope_done:
 *           done_at load-acquire
 * Why no member sleeps on   the party that takes the lock second sees what the first party did.
 *           Either the member finds done_at, and its park is refused; or the canceller finds the
 *           member in the list. A scope that is opened below meanwhile inherits done_at, or the
 *           canceller finds that scope.
 * Why once  the wake word has one winner (PROTOCOL wake, wait/wake.c), and done_at is set once.
 * Why the earlier event counts, and the answer never changes   cancellers read the time under the
 *           lock, so the first is the earliest. A caller that finds a deadline passed reads done_at
 *           under the lock, after the clock. A later canceller has a later time, and counts as
 *           later than the deadline.
 * Why a foreign thread's scope may outlive the run   children run, and use s, until the last M is
 *           gone. The end of the run cannot end a close before: a closer waits for m0. After m0's
 *           steps no goroutine is reachable from s. s is done and takes no new children. The
 *           foreign thread's other waits were ended before (wait/wait.c). If the end of the run
 *           refuses a cancellation, m0 makes it a little later.
 * Why s may vanish   a child's or canceller's last access to s comes before its unlock. Afterwards
 *           it wakes only waiters that it has claimed, and these do not return before. Close takes
 *           the lock after the last child had it, and then returns. The caller of cancel must keep
 *           s open until it has the lock. m0 holds foreign_scopes.lock for all of its steps, and a
 *           foreign thread takes that lock before it returns.
 * Why only one party claims the closer   it is the party that makes n_running 0, under the lock,
 *           once.
 * Rejected  a lock in the scope (the last unlock would touch it); a timer for each deadline (close
 *           would have to wait for it).
 * Tests     unit/test_scope_tree.c, flow/scope/test_scope.c, flow/scope/test_scope_foreign.c,
 *           explore scenarios scope-*, sim scenarios scope_*, mutants scope-*; window
 *           scope-before-wake.
 *
 * SPDX-License-Identifier: MIT
 */
#include "scope/tree.h"

#include "base/assert.h"
#include "base/tuning.h"
#include "base/window.h"
#include "sched/ready.h"
#include "wait/wait.h"

#include <errno.h>      /* -Exxx */

/* ---- Locks ----------------------------------------------------------------------------------- */

/* A cache line for each. Two trees that share a lock only contend now and then. */
struct table_lock {
        _Alignas(W_CACHELINE) struct lock lock;         /* class scope */
};

#define LOCKS_4  { W_LOCK_INIT(scope) }, { W_LOCK_INIT(scope) }, { W_LOCK_INIT(scope) },        \
                 { W_LOCK_INIT(scope) }
#define LOCKS_16 LOCKS_4, LOCKS_4, LOCKS_4, LOCKS_4

#if W_TUNE_SCOPE_LOCKS == 1
static struct table_lock locks[] = { { W_LOCK_INIT(scope) } };
#else
static struct table_lock locks[] = { LOCKS_16, LOCKS_16, LOCKS_16, LOCKS_16 };
#endif
_Static_assert(W_ARRAY_LEN(locks) == W_TUNE_SCOPE_LOCKS, "as many as base/tuning.h says");

static struct lock *lock_of_root(const struct scope *s)
{
        uint64_t mixed = ((uint64_t)(uintptr_t)s >> 4) * UINT64_C(0x9e3779b97f4a7c15);

        return &locks[(mixed >> 32) % W_ARRAY_LEN(locks)].lock;
}

/* ---- Done or not ----------------------------------------------------------------------------- */

/* Equal times count for the deadline, see PROTOCOL. */
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

/* ---- Cancel ---------------------------------------------------------------------------------- */

/* The scope after s in a walk through `top` and all scopes below it, parents first; NULL: none. */
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

/* Moves the members that are won to `woken`: they sleep until they are woken. A member that was
 * claimed early, or lost, leaves the list itself. */
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

/* With the tree's lock. All scopes below a scope that was done before are done too. */
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

/* By the party that made n_running 0. Returns the wait of the closer, which must be woken; NULL:
 * there is none. */
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

/* ---- Foreign threads ------------------------------------------------------------------------- */

/* The open scopes of foreign threads. The end of the run finds them here. */
static struct {
        struct lock      lock;          /* class foreign_scopes */
        struct list_node open;          /* under lock: struct scope */
} foreign_scopes = { W_LOCK_INIT(foreign_scopes), { &foreign_scopes.open, &foreign_scopes.open } };

/* The thread ends, so the frame that contains the scope is gone. */
static void report_open_scope(struct w_os_foreign *foreign)
{
        w_fatal("thread %d ends with scope %p open", w_os_tid(),
                (void *)w_foreign_scope(foreign)->innermost);
}

static void register_foreign(struct scope *s)
{
        w_lock(&foreign_scopes.lock);
        w_list_push_back(&foreign_scopes.open, &s->foreign);
        w_unlock(&foreign_scopes.lock);
        if (!s->outer)          /* a failure is ignored: the hook only reports */
                (void)w_os_foreign_watch(report_open_scope);
}

static void unregister_foreign(struct scope *s)
{
        w_lock(&foreign_scopes.lock);
        w_list_unlink(&s->foreign);
        w_unlock(&foreign_scopes.lock);
        if (!s->outer)
                (void)w_os_foreign_watch(NULL);
}

/* Goroutines never run again, and their frames go. */
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

/* A cancellation reaches the scopes below: all scopes must forget their goroutines before the first
 * cancellation. */
void w_scopes_run_ended(void)
{
        w_lock(&foreign_scopes.lock);
        W_LIST_EACH(n, &foreign_scopes.open)
                forget_goroutines(W_CONTAINER_OF(n, struct scope, foreign));
        W_LIST_EACH(n, &foreign_scopes.open) {
                struct scope *s = W_CONTAINER_OF(n, struct scope, foreign);

                w_scope_cancel_tree(s, 0);
                drop_children(s);
        }
        w_unlock(&foreign_scopes.lock);
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
                register_foreign(s);
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
        *s->seat.n_shields += s->outer_shields; /* a shield that was begun in s stays */
        if (W_UNLIKELY(s->seat.is_foreign))
                unregister_foreign(s);
}
