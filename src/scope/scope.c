/* scope/scope.c - scopes as programs see them: open, children, cancel, close, shield.
 *
 * Protocols   cites scope-tree (scope/tree.c), wake (wait/wake.c).
 *
 * A shield hides the scopes that were open when it began. A scope that is opened behind the shield
 * counts, and is the root of a tree of its own: a cancellation outside does not reach it.
 *
 * Goroutines and foreign threads open scopes in the same way: only struct scope_seat differs. Close
 * needs no run: a foreign thread can always close the scopes that it has opened.
 *
 * SPDX-License-Identifier: MIT
 */
#include "scope/tree.h"

#include "base/assert.h"
#include "os/os.h"
#include "wait/wait.h"

#include "sched/run/foreign.h"
#include "sched/run/run.h"
#include "sched/spawn.h"
#include "weft.h"

#include <errno.h>      /* -Exxx */

_Static_assert(sizeof(struct scope) <= sizeof(weft_scope), "weft_scope is too small");
_Static_assert(_Alignof(struct scope) <= _Alignof(weft_scope), "weft_scope is aligned too little");

/* Mixed with the address, so that a copy of an open scope is not an open scope. */
#define MAGIC_OPEN   UINT64_C(0x77656674206f7065)
#define MAGIC_CLOSED UINT64_C(0x7765667420636c6f)

enum { LOOK_BACK = 32 };        /* how many outer scopes check_not_open compares */

static bool is_open(const struct scope *s)
{
        return s->magic == (MAGIC_OPEN ^ (uintptr_t)s);
}

/* The struct scope of a weft_scope, which must be open. */
static struct scope *open_scope(weft_scope *public, const char *call)
{
        struct scope *s = (struct scope *)(void *)public;

        W_CHECK(is_open(s), "%s: scope %p is not open", call, (void *)s);
        return s;
}

/* ---- Children -------------------------------------------------------------------------------- */

/* True for the opener of s, each child, and every party with an open scope below s. */
static bool is_inside(const struct scope *innermost, const struct scope *s)
{
        for (const struct scope *at = innermost; at; at = at->outer)
                if (at == s)
                        return true;
        return false;
}

static int64_t start_child(struct scope *s, int (*fn)(void *), void *arg, void *created_at)
{
        int rc = w_scope_child_begin(s);

        if (rc < 0)
                return rc;
        int64_t id = w_spawn_in_scope(s, fn, arg, created_at);

        if (id < 0)
                w_scope_child_undo(s);
        return id;
}

/* ---- Open and close -------------------------------------------------------------------------- */

static int64_t deadline_after(int64_t timeout)
{
        if (timeout == WEFT_FOREVER)
                return W_FOREVER;
        return w_time_after(w_os_now(), timeout > 0 ? timeout : 0);
}

/* The memory of s may contain any bytes, so the check searches the opener's chain of scopes. */
static void check_not_open(const struct scope *innermost, const struct scope *s)
{
        const struct scope *at = innermost;

        for (int i = 0; at && i < LOOK_BACK; i++, at = at->outer)
                W_CHECK(at != s, "weft_scope_open: scope %p is open already", (const void *)s);
}

static void unlock_tree(void *lock)
{
        w_unlock(lock);
}

/* Not cancellable, and never refused: the children use what the opener owns. The end of the run
 * ends this wait as well, but not before the children are gone: see PROTOCOL scope-tree. */
static void wait_for_children(struct scope *s)
{
        struct wait w;

        w_wait_begin(&w, W_FOREVER, W_WITHOUT_RUN);
        w_lock(s->lock);
        if (s->n_running > 0) {
                s->closer = &w;
                (void)w_wait_park(&w, W_WAIT_SCOPE_CLOSE, unlock_tree, s->lock);
        } else {
                w_unlock(s->lock);
        }
        w_wait_end(&w);
}

static int close_scope(struct scope *s)
{
        w_lock(s->lock);
        if (s->n_running > 0) {
                w_unlock(s->lock);
                wait_for_children(s);
                w_lock(s->lock);
        }
        int rc = s->has_dropped ? -ESHUTDOWN : s->first_error;

        w_scope_leave_unlock(s);
        s->magic = MAGIC_CLOSED ^ (uintptr_t)s;
        return rc;
}

/* ---- Public ---------------------------------------------------------------------------------- */

W_EXPORT int weft_scope_open(weft_scope *public, int64_t timeout)
{
        struct scope *s = (struct scope *)(void *)public;

        if (!s)
                return -EINVAL;
        if (!w_call_begin())
                return -ESHUTDOWN;
        W_ENTER();
        struct scope_seat seat = w_scope_seat(w_g());

        check_not_open(*seat.innermost, s);
        s->head = (struct scope_head){ w_scope_cancel_tree, w_scope_child_end };
        w_scope_enter(s, seat, deadline_after(timeout));
        s->magic = MAGIC_OPEN ^ (uintptr_t)s;
        W_LEAVE();
        w_call_end();
        return 0;
}

W_EXPORT int64_t weft_scope_go(weft_scope *public, int (*fn)(void *), void *arg)
{
        if (!public || !fn)
                return -EINVAL;
        if (!w_call_begin())
                return -ESHUTDOWN;
        W_ENTER();
        struct scope *s = open_scope(public, "weft_scope_go");

        W_CHECK(is_inside(*w_scope_seat(w_g()).innermost, s),
                "weft_scope_go: the caller is not inside scope %p", (void *)s);
        int64_t id = start_child(s, fn, arg, __builtin_return_address(0));

        W_LEAVE();
        w_call_end();
        return id;
}

W_EXPORT void weft_scope_cancel(weft_scope *public)
{
        if (!public || !w_foreign_enter())
                return;
        W_ENTER();
        w_scope_cancel_tree(open_scope(public, "weft_scope_cancel"), 0);
        W_LEAVE();
        w_foreign_exit();
}

W_EXPORT int weft_scope_close(weft_scope *public)
{
        if (!public)
                return -EINVAL;
        struct scope_seat seat = w_scope_seat(w_g());

        if (seat.is_foreign && !*seat.innermost && !w_run_is_on())
                return -ESHUTDOWN;      /* weft_scope_open was refused, too */
        W_ENTER();
        struct scope *s = open_scope(public, "weft_scope_close");

        W_CHECK(s->seat.innermost == seat.innermost,
                "weft_scope_close: scope %p was opened by another goroutine or thread", (void *)s);
        W_CHECK(*seat.innermost == s,
                "weft_scope_close: scope %p closed out of order, %p is inside it", (void *)s,
                (void *)*seat.innermost);
        int rc = close_scope(s);

        W_LEAVE();
        return rc;
}

W_EXPORT int weft_scope_status(const weft_scope *public)
{
        const struct scope *s = (const struct scope *)(const void *)public;

        if (!s)
                return -EINVAL;
        if (!w_call_begin())
                return -ESHUTDOWN;
        W_ENTER();
        int rc;

        if (s->magic == (MAGIC_CLOSED ^ (uintptr_t)s)) {
                rc = s->last_status;
        } else {
                W_CHECK(is_open(s), "weft_scope_status: scope %p is not open", (const void *)s);
                rc = w_scope_status(s);
        }
        W_LEAVE();
        w_call_end();
        return rc;
}

W_EXPORT int weft_cancelled(void)
{
        if (!w_m() && !w_run_is_on())
                return -ESHUTDOWN;
        W_ENTER();
        int rc = w_wait_scope_done();

        W_LEAVE();
        return rc;
}

/* With or without a run: the party that has begun a shield ends it. */
W_EXPORT void weft_shield_begin(void)
{
        W_ENTER();
        ++*w_scope_seat(w_g()).n_shields;
        W_LEAVE();
}

W_EXPORT void weft_shield_end(void)
{
        W_ENTER();
        uint32_t *n_shields = w_scope_seat(w_g()).n_shields;

        W_CHECK(*n_shields > 0, "weft_shield_end without a shield in this scope");
        --*n_shields;
        W_LEAVE();
}
