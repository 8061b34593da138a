/* tests/flow/scope/test_scope_nest.c - scopes within scopes, of one goroutine and of its children,
 * and shields between them.
 *
 * test: procs=1,2,4
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/scope.h"

#include <errno.h>

/* ---- Of one goroutine ------------------------------------------------------------------------ */

GO_TEST(cancelling_an_outer_scope_cancels_the_inner_scope)
{
        weft_scope outer, inner;

        scope_open(&outer, WEFT_FOREVER);
        scope_open(&inner, SCOPE_LONG_TIME);
        weft_scope_cancel(&outer);
        CHECK_EQ(weft_park(), -ECANCELED);
        CHECK_EQ(weft_scope_status(&inner), 0);
        CHECK_EQ(weft_scope_status(&outer), -ECANCELED);
        CHECK_EQ(weft_scope_go(&inner, scope_park, NULL), -ECANCELED);
        scope_close(&inner, 0);
        scope_open(&inner, SCOPE_LONG_TIME);          /* a scope opened later is done, too */
        CHECK_EQ(weft_cancelled(), -ECANCELED);
        weft_scope_cancel(&inner);
        CHECK_EQ(weft_scope_status(&inner), -ECANCELED);
        scope_close(&inner, 0);
        CHECK_EQ(weft_cancelled(), -ECANCELED);
        scope_close(&outer, 0);
        CHECK_EQ(weft_cancelled(), 0);
}

GO_TEST(an_inner_scope_leaves_the_outer_one_alone)
{
        weft_scope outer, inner;

        scope_open(&outer, SCOPE_LONG_TIME);
        scope_open(&inner, WEFT_MS(1));
        CHECK_EQ(weft_park(), -ETIMEDOUT);
        CHECK_EQ(weft_scope_status(&outer), 0);
        scope_close(&inner, 0);
        CHECK_EQ(weft_cancelled(), 0);
        CHECK_EQ(weft_unpark(weft_id()), 0);
        CHECK_EQ(weft_park(), 0);
        scope_close(&outer, 0);
}

GO_TEST(whichever_came_first_counts)
{
        weft_scope outer, inner;

        scope_open(&outer, WEFT_FOREVER);
        scope_open(&inner, 0);
        weft_scope_cancel(&outer);
        CHECK_EQ(weft_cancelled(), -ETIMEDOUT);         /* of the inner scope: it came first */
        CHECK_EQ(weft_park(), -ETIMEDOUT);
        scope_close(&inner, 0);
        CHECK_EQ(weft_park(), -ECANCELED);
        scope_compute_until(w_os_now() + 1000);
        scope_open(&inner, 0);
        CHECK_EQ(weft_park(), -ECANCELED);
        CHECK_EQ(weft_scope_status(&inner), -ETIMEDOUT);
        scope_close(&inner, 0);
        scope_close(&outer, 0);

        scope_open(&outer, 0);
        scope_open(&inner, SCOPE_LONG_TIME);
        weft_scope_cancel(&inner);
        CHECK_EQ(weft_cancelled(), -ETIMEDOUT);
        CHECK_EQ(weft_scope_status(&inner), -ECANCELED);
        scope_close(&inner, 0);
        scope_close(&outer, 0);
}

enum { DEPTH = 300 };

static void nest(uint32_t depth, weft_scope *top)
{
        weft_scope s;

        scope_open(&s, depth % 3 ? WEFT_FOREVER : SCOPE_LONG_TIME);
        if (depth == 0) {
                weft_scope_cancel(top);
                CHECK_EQ(weft_park(), -ECANCELED);
        } else {
                nest(depth - 1, top ? top : &s);
        }
        CHECK_EQ(weft_cancelled(), -ECANCELED);
        CHECK_EQ(weft_scope_status(&s), top ? 0 : -ECANCELED);
        scope_close(&s, 0);
}

GO_TEST(many_scopes_deep)
{
        nest(DEPTH, NULL);
        CHECK_EQ(weft_cancelled(), 0);
}

/* ---- Children and theirs --------------------------------------------------------------------- */

enum { FAN = 3, LEVELS = 4 };

struct family {
        weft_scope  *top;
        w_atomic_u32 n_asleep, n_cancelled;
        int          own_scopes;
};

struct node {
        struct family *family;
        int            level;
        weft_scope    *scope;
};

static int be_parent(void *arg);

static void start_children(struct node *me, struct node *children, weft_scope *s)
{
        for (int i = 0; i < FAN; i++) {
                children[i] = (struct node){ me->family, me->level + 1, s };
                scope_go(s, be_parent, &children[i]);
        }
}

/* With own_scopes its children are in its own scope, else in its parent's scope. */
static int be_parent(void *arg)
{
        struct node me = *(struct node *)arg;
        struct node children[FAN];
        weft_scope  own;
        bool        opens = me.family->own_scopes || me.level == 0;

        if (opens)
                scope_open(&own, SCOPE_LONG_TIME);
        if (me.level < LEVELS)
                start_children(&me, children, opens ? &own : me.scope);
        w_add_rlx(&me.family->n_asleep, 1);
        if (weft_park() == -ECANCELED)
                w_add_rlx(&me.family->n_cancelled, 1);
        if (opens)
                scope_close(&own, 0);
        else
                while (w_load_rlx(&me.family->n_cancelled) < w_load_rlx(&me.family->n_asleep))
                        weft_yield();           /* children read this frame at their start */
        return 0;
}

static void main_family(void *arg)
{
        struct family family = { .own_scopes = (int)(intptr_t)arg };
        struct node   root = { &family, 0, NULL };
        weft_scope    s;
        uint32_t      n = 0;

        for (uint32_t level = 0, width = 1; level <= LEVELS; level++, width *= FAN)
                n += width;
        scope_open(&s, WEFT_FOREVER);
        scope_go(&s, be_parent, &root);
        sched_await(&family.n_asleep, n);
        weft_scope_cancel(&s);
        scope_close(&s, 0);
        CHECK_EQ(w_load_rlx(&family.n_cancelled), n);
        CHECK_EQ(weft_count(), 1);
}

TEST(children_of_children_in_one_scope)
{
        sched_run(main_family, NULL);
}

TEST(children_of_children_in_scopes_of_their_own)
{
        sched_run(main_family, (void *)1);
}

static int fail_within(void *arg)
{
        weft_scope s;
        int        result = 1;

        (void)arg;
        scope_open(&s, WEFT_FOREVER);
        scope_go(&s, scope_park, &result);
        CHECK_EQ(weft_park(), -ECANCELED);
        CHECK_EQ(weft_scope_status(&s), 0);     /* the scope above is done */
        scope_close(&s, 0);
        CHECK_EQ(result, -ECANCELED);
        return 3;
}

static int fail_at_once(void *arg)
{
        (void)arg;
        return 4;
}

GO_TEST(a_childs_error_cancels_the_scopes_below)
{
        weft_scope s;

        scope_open(&s, WEFT_FOREVER);
        sched_await_parked(scope_go(&s, fail_within, NULL));
        scope_go(&s, fail_at_once, NULL);
        scope_close(&s, 4);
}

/* ---- Shields --------------------------------------------------------------------------------- */

GO_TEST(behind_a_shield_nothing_is_cancelled)
{
        weft_scope s;

        scope_open(&s, WEFT_FOREVER);
        weft_scope_cancel(&s);
        weft_shield_begin();
        weft_shield_begin();
        CHECK_EQ(weft_cancelled(), 0);
        CHECK_EQ(weft_unpark(weft_id()), 0);
        CHECK_EQ(weft_park(), 0);
        weft_shield_end();
        CHECK_EQ(weft_cancelled(), 0);
        weft_shield_end();
        CHECK_EQ(weft_cancelled(), -ECANCELED);
        CHECK_EQ(weft_scope_status(&s), -ECANCELED);
        weft_shield_begin();                    /* may end after the scope */
        scope_close(&s, 0);
        weft_shield_end();
}

static int unpark_shielded(void *id)
{
        CHECK_EQ(weft_cancelled(), 0);          /* of a scope behind the shield */
        CHECK_EQ(weft_unpark(*(int64_t *)id), 0);
        return 0;
}

GO_TEST(a_scope_opened_behind_a_shield_counts)
{
        weft_scope s, cleanup;
        int64_t    id = weft_id();

        scope_open(&s, WEFT_FOREVER);
        weft_scope_cancel(&s);
        weft_shield_begin();
        scope_open(&cleanup, SCOPE_LONG_TIME);
        scope_go(&cleanup, unpark_shielded, &id);
        CHECK_EQ(weft_park(), 0);
        weft_scope_cancel(&cleanup);
        CHECK_EQ(weft_park(), -ECANCELED);
        scope_close(&cleanup, 0);
        CHECK_EQ(weft_cancelled(), 0);
        scope_open(&cleanup, WEFT_MS(1));
        CHECK_EQ(weft_park(), -ETIMEDOUT);
        scope_close(&cleanup, 0);
        weft_shield_end();
        CHECK_EQ(weft_park(), -ECANCELED);
        scope_close(&s, 0);
}

/* The shield is up while the goroutine sleeps: the cancellation must leave it asleep. */
static int sleep_shielded(void *result)
{
        weft_shield_begin();
        *(int *)result = weft_park();
        weft_shield_end();
        CHECK_EQ(weft_cancelled(), -ECANCELED);
        return 0;
}

GO_TEST(a_cancellation_leaves_a_shielded_sleeper_asleep)
{
        weft_scope s;
        int        result = 1;

        scope_open(&s, WEFT_FOREVER);
        int64_t id = scope_go(&s, sleep_shielded, &result);

        sched_await_parked(id);
        weft_scope_cancel(&s);
        for (int i = 0; i < 100; i++)
                weft_yield();
        CHECK_EQ(sched_state_of(id), G_WAITING);
        CHECK_EQ(weft_unpark(id), 0);
        scope_close(&s, 0);
        CHECK_EQ(result, 0);
}
