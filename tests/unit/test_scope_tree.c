/* tests/unit/test_scope_tree.c - the tree of scopes without a scheduler: which scopes are
 * cancelled, and when.
 *
 * Goroutines are records that never run, sleepers are notes on which no thread sleeps.
 *
 * SPDX-License-Identifier: MIT
 */
#include "harness/test.h"

#include "os/os.h"
#include "scope/tree.h"
#include "wait/wait.h"

#include <errno.h>

static struct g_cold colds[2];          /* as if at the tops of their stacks */
static struct stack  stacks[2] = { { .top = (char *)(colds + 1) }, { .top = (char *)(colds + 2) } };
static struct g      gs[2] = { { .stack = &stacks[0] }, { .stack = &stacks[1] } };
static struct scope  scopes[6];

static struct scope *enter(int s, int g, int64_t deadline)
{
        w_scope_enter(&scopes[s], w_scope_seat(&gs[g]), deadline);
        return &scopes[s];
}

static struct scope *enter_as_foreign_thread(int s, int64_t deadline)
{
        w_scope_enter(&scopes[s], w_scope_seat(NULL), deadline);
        return &scopes[s];
}

static void leave(struct scope *s)
{
        w_lock(s->lock);
        w_scope_leave_unlock(s);
}

/* gs[g] runs in s, as if it had been started there. */
static void run_in(int g, struct scope *s)
{
        CHECK_EQ(w_scope_child_begin(s), 0);
        gs[g].scope = s;
}

static void begin_wait(struct wait *w, struct scope *s, uint32_t word)
{
        *w = (struct wait){ .scope = s };
        w_store_rlx(&w->waiter.word, word);
        w_scope_enlist(s, w);
}

static void check_word(const struct wait *w, uint32_t word)
{
        CHECK_EQ(w_load_acq(&w->waiter.word), word);
}

static bool is_woken(struct wait *w)
{
        return w_note_sleep_until(&w->waiter.note, w_os_now());
}

TEST(scopes_nest_and_unwind)
{
        struct scope *a = enter(0, 0, W_FOREVER);
        struct scope *b = enter(1, 0, W_FOREVER);

        CHECK(gs[0].scope == b && b->parent == a && b->outer == a && !a->parent);
        CHECK(a->lock == b->lock);
        leave(b);
        CHECK(gs[0].scope == a && w_list_empty(&a->children));
        leave(a);
        CHECK(!gs[0].scope);
}

TEST(the_earliest_deadline_is_inherited)
{
        int64_t       now = w_os_now();
        struct scope *a = enter(0, 0, now + 1000000000000);
        struct scope *b = enter(1, 0, now + 500000000000);
        struct scope *c = enter(2, 0, now + 700000000000);

        CHECK_EQ(b->least_deadline, now + 500000000000);
        CHECK_EQ(c->least_deadline, now + 500000000000);
        CHECK_EQ(w_scope_done(c), 0);
        leave(c);
        leave(b);
        CHECK_EQ(a->least_deadline, now + 1000000000000);
        leave(a);
}

TEST(a_cancellation_reaches_everything_below_and_nothing_else)
{
        struct scope *root = enter(0, 0, W_FOREVER);
        struct scope *left = enter(1, 0, W_FOREVER);

        run_in(1, root);
        struct scope *right = enter(2, 1, W_FOREVER);
        struct scope *low = enter(3, 1, W_FOREVER);

        w_scope_cancel_tree(right, 0);
        CHECK_EQ(w_scope_done(low), -ECANCELED);
        CHECK_EQ(w_scope_done(right), -ECANCELED);
        CHECK_EQ(w_scope_done(left), 0);
        CHECK_EQ(w_scope_done(root), 0);
        CHECK_EQ(w_scope_status(low), 0);
        w_scope_cancel_tree(root, 0);
        CHECK_EQ(w_scope_done(left), -ECANCELED);
        CHECK_EQ(w_scope_status(left), 0);
        CHECK_EQ(w_scope_status(right), -ECANCELED);
}

TEST(a_scope_opened_below_a_done_scope_is_done)
{
        struct scope *a = enter(0, 0, W_FOREVER);

        w_scope_cancel_tree(a, 0);
        struct scope *b = enter(1, 0, W_FOREVER);

        CHECK_EQ(w_scope_done(b), -ECANCELED);
        CHECK_EQ(w_scope_child_begin(b), -ECANCELED);
}

TEST(a_shield_makes_a_tree_of_its_own)
{
        struct scope *a = enter(0, 0, w_os_now());

        colds[0].n_shields = 2;
        struct scope *b = enter(1, 0, W_FOREVER);

        CHECK_EQ(colds[0].n_shields, 0);
        CHECK(!b->parent && b->outer == a);
        w_scope_cancel_tree(a, 0);
        CHECK_EQ(w_scope_done(b), 0);
        colds[0].n_shields = 1;            /* begun within, and not ended */
        leave(b);
        CHECK_EQ(colds[0].n_shields, 3);
        CHECK(gs[0].scope == a);
}

TEST(the_earlier_cancellation_counts)
{
        struct scope *late = enter(0, 0, w_os_now() + 3600000000000);

        w_scope_cancel_tree(late, 0);
        CHECK_EQ(w_scope_done(late), -ECANCELED);
        late->deadline = late->least_deadline = w_os_now();     /* and now it passes */
        CHECK_EQ(w_scope_done(late), -ECANCELED);
        CHECK_EQ(w_scope_status(late), -ECANCELED);
        leave(late);

        struct scope *past = enter(1, 0, w_os_now());

        w_scope_cancel_tree(past, 0);
        CHECK_EQ(w_scope_done(past), -ETIMEDOUT);
        CHECK_EQ(w_scope_status(past), -ETIMEDOUT);
        leave(past);
        CHECK_EQ(past->last_status, -ETIMEDOUT);
}

TEST(members_are_woken_once)
{
        struct scope *s = enter(0, 0, W_FOREVER);
        struct wait   asleep, early, lost;

        begin_wait(&asleep, s, W_VERDICT_PARKED);
        begin_wait(&early, s, W_VERDICT_ARMING);
        begin_wait(&lost, s, W_VERDICT_TIMEOUT);
        w_scope_cancel_tree(s, 0);
        w_scope_cancel_tree(s, 0);
        check_word(&asleep, W_VERDICT_CANCELED);
        check_word(&early, W_VERDICT_CANCELED);
        check_word(&lost, W_VERDICT_TIMEOUT);
        CHECK(is_woken(&asleep));
        CHECK(!is_woken(&early));
        CHECK(!is_woken(&lost));
        w_scope_unlist(s, &asleep);     /* harmless: it was taken out */
        w_scope_unlist(s, &early);
        w_scope_unlist(s, &lost);
        leave(s);
}

TEST(a_member_that_comes_after_the_cancellation_claims_itself)
{
        struct scope *s = enter(0, 0, W_FOREVER);
        struct wait   w;

        w_scope_cancel_tree(s, 0);
        begin_wait(&w, s, W_VERDICT_ARMING);
        check_word(&w, W_VERDICT_CANCELED);
        w_scope_unlist(s, &w);
        leave(s);
}

TEST(the_last_child_wakes_the_closer)
{
        struct scope *s = enter(0, 0, W_FOREVER);
        struct wait   closer = { .scope = NULL };

        CHECK_EQ(w_scope_child_begin(s), 0);
        CHECK_EQ(w_scope_child_begin(s), 0);
        CHECK_EQ(w_scope_child_begin(s), 0);
        w_scope_child_undo(s);
        w_store_rlx(&closer.waiter.word, W_VERDICT_PARKED);
        s->closer = &closer;
        w_scope_child_end(s);
        check_word(&closer, W_VERDICT_PARKED);
        w_scope_child_end(s);
        check_word(&closer, W_VERDICT_OTHER);
        CHECK(is_woken(&closer));
        leave(s);
}

TEST(the_first_error_counts)
{
        struct scope *s = enter(0, 0, W_FOREVER);

        w_scope_cancel_tree(s, 0);
        CHECK_EQ(s->first_error, 0);
        w_scope_cancel_tree(s, -5);
        w_scope_cancel_tree(s, 7);
        CHECK_EQ(s->first_error, -5);
        leave(s);
}

/* ---- Scopes of foreign threads --------------------------------------------------------------- */

TEST(a_foreign_thread_has_scopes_of_its_own)
{
        struct scope *a = enter_as_foreign_thread(0, W_FOREVER);
        struct scope *b = enter_as_foreign_thread(1, W_FOREVER);
        struct scope *of_goroutine = enter(2, 0, W_FOREVER);

        CHECK(w_foreign_scope(w_os_foreign())->innermost == b && b->parent == a && !a->parent);
        CHECK(gs[0].scope == of_goroutine && !of_goroutine->outer);
        CHECK(w_scope_current(NULL) == b);
        w_foreign_scope(w_os_foreign())->n_shields++;
        CHECK(!w_scope_current(NULL));
        w_foreign_scope(w_os_foreign())->n_shields--;
        leave(b);
        leave(a);
        CHECK(!w_foreign_scope(w_os_foreign())->innermost && !w_scope_current(NULL));
}

TEST(the_end_of_a_run_removes_goroutines_from_a_foreign_threads_scope)
{
        struct scope *outer = enter_as_foreign_thread(0, W_FOREVER);
        struct scope *inner = enter_as_foreign_thread(1, W_FOREVER);
        struct wait   asleep, shut_down;

        run_in(0, inner);
        struct scope *of_goroutine = enter(2, 0, W_FOREVER);

        begin_wait(&asleep, inner, W_VERDICT_PARKED);
        asleep.waiter.gp = &gs[1];
        begin_wait(&shut_down, inner, W_VERDICT_SHUTDOWN);
        w_scopes_run_ended();
        CHECK(w_list_empty(&asleep.member) && w_list_empty(&of_goroutine->sibling));
        check_word(&asleep, W_VERDICT_PARKED);
        check_word(&shut_down, W_VERDICT_SHUTDOWN);
        CHECK(inner->members.next == &shut_down.member && inner->parent == outer);
        CHECK_EQ(w_scope_done(inner), -ECANCELED);
        CHECK_EQ(w_scope_done(of_goroutine), 0);
        CHECK_EQ(inner->n_running, 0);
        CHECK(inner->has_dropped && !outer->has_dropped);
        w_scope_unlist(inner, &shut_down);
        leave(inner);
        CHECK(w_foreign_scope(w_os_foreign())->innermost == outer);
        CHECK(w_list_empty(&outer->children));
        w_scopes_run_ended();                   /* of the next run */
        CHECK_EQ(w_scope_status(outer), -ECANCELED);
        leave(outer);
}

TEST(the_end_of_a_run_wakes_a_closer)
{
        struct scope *s = enter_as_foreign_thread(0, w_os_now());
        struct wait   closer = { .waiter.sole = true };

        s->n_running = 2;
        s->closer = &closer;
        w_scopes_run_ended();
        check_word(&closer, W_VERDICT_OTHER);
        CHECK(is_woken(&closer));
        w_scopes_run_ended();                   /* a second wake would be fatal */
        CHECK(s->has_dropped);
        CHECK_EQ(w_scope_done(s), -ETIMEDOUT);        /* which came first */
        leave(s);
}

TEST(the_end_of_a_run_does_not_concern_scopes_of_goroutines)
{
        struct scope *s = enter(0, 0, W_FOREVER);

        run_in(1, s);
        w_scopes_run_ended();
        CHECK_EQ(w_scope_done(s), 0);
        CHECK_EQ(s->n_running, 1);
}
