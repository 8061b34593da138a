/* tests/flow/scope/test_scope_foreign.c - scopes of foreign threads: as a goroutine's.
 *
 * test: procs=1,2,4
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/calls.h"
#include "lib/foreign.h"

/* ---- Every call that waits ------------------------------------------------------------------- */

struct ended_call {
        weft_scope   scope;
        int        (*call)(void);
        w_atomic_u32 open;
};

static void make_call(void *arg)
{
        struct ended_call *t = arg;

        scope_open(&t->scope, t->call == calls_wait_sem ? SCOPE_LONG_TIME : WEFT_FOREVER);
        w_store_rel(&t->open, 1);
        CHECK_EQ(t->call(), -ECANCELED);
        CHECK_EQ(weft_cancelled(), -ECANCELED);
        CHECK_EQ(weft_scope_status(&t->scope), -ECANCELED);
        scope_close(&t->scope, 0);
        CHECK_EQ(weft_cancelled(), 0);
        CHECK_EQ(weft_scope_status(&t->scope), -ECANCELED);
}

static void cancel_it(void *scope)
{
        weft_scope_cancel(scope);
}

/* From this goroutine, and from another thread. */
static void cancel_asleep(int (*call)(void), bool by_thread)
{
        struct ended_call t = { .call = call };
        struct foreign    sleeper, canceller;

        foreign_start(&sleeper, make_call, &t);
        sched_await(&t.open, 1);
        foreign_await_asleep(&t.scope);
        if (by_thread) {
                foreign_start(&canceller, cancel_it, &t.scope);
                foreign_join(&canceller);
        } else {
                weft_scope_cancel(&t.scope);
        }
        foreign_join(&sleeper);
}

GO_TEST(every_wait_of_a_thread_is_cancelled)
{
        calls_set_up();
        for (size_t i = 0; i < W_ARRAY_LEN(calls_that_wait); i++) {
                if (calls_that_wait[i] == calls_wait_park)
                        continue;
                cancel_asleep(calls_that_wait[i], false);
                cancel_asleep(calls_that_wait[i], true);
        }
        calls_take_down();
}

static void pass_deadlines(void *arg)
{
        (void)arg;
        for (size_t i = 0; i < W_ARRAY_LEN(calls_that_wait); i++) {
                weft_scope outer, s;
                int64_t    begin = w_os_now();

                if (calls_that_wait[i] == calls_wait_park)
                        continue;
                scope_open(&outer, i % 2 ? WEFT_US(300) : WEFT_FOREVER);
                scope_open(&s, i % 2 ? SCOPE_LONG_TIME : WEFT_US(300));
                int rc = calls_that_wait[i]();

                CHECK_MSG(rc == -ETIMEDOUT, "call %zu returned %d", i, rc);
                CHECK(w_os_now() >= begin + WEFT_US(300));
                CHECK_EQ(weft_cancelled(), -ETIMEDOUT);
                CHECK_EQ(weft_scope_status(&s), i % 2 ? 0 : -ETIMEDOUT);
                scope_close(&s, 0);
                scope_close(&outer, 0);
        }
}

GO_TEST(every_wait_of_a_thread_ends_at_the_deadline)
{
        calls_set_up();
        foreign_run(pass_deadlines, NULL);
        calls_take_down();
}

static void be_refused(void *arg)
{
        weft_scope s;

        (void)arg;
        scope_open(&s, WEFT_FOREVER);
        weft_scope_cancel(&s);
        for (size_t i = 0; i < W_ARRAY_LEN(calls_that_wait); i++)
                if (calls_that_wait[i] != calls_wait_park)
                        CHECK_MSG(calls_that_wait[i]() == -ECANCELED,
                                  "call %zu was not refused", i);
        for (size_t i = 0; i < W_ARRAY_LEN(calls_that_go_on); i++)
                CHECK_MSG(calls_that_go_on[i]() == -ECANCELED, "ready call %zu was not refused", i);
        CHECK_EQ(weft_chan_len(calls_on.some), 1);
        CHECK_EQ(weft_chan_len(calls_on.room), 0);
        weft_mutex_lock(&calls_on.mutex);             /* not cancellable */
        weft_mutex_unlock(&calls_on.mutex);
        CHECK_EQ(weft_chan_try_send(calls_on.full, NULL), -EINVAL);
        weft_shield_begin();
        CHECK_EQ(weft_cancelled(), 0);
        for (size_t i = 0; i < W_ARRAY_LEN(calls_that_go_on); i++)
                CHECK_MSG(calls_that_go_on[i]() == 0, "ready call %zu failed behind a shield", i);
        weft_shield_end();
        CHECK_EQ(weft_cancelled(), -ECANCELED);
        scope_close(&s, 0);
}

GO_TEST(a_call_of_a_thread_that_could_proceed_is_refused_too)
{
        calls_set_up();
        foreign_run(be_refused, NULL);
        calls_take_down();
}

/* ---- Nesting and shields --------------------------------------------------------------------- */

struct nest {
        weft_scope   outer, inner;
        w_atomic_u32 open, may_go_on;
};

static void wait_in_inner(void *arg)
{
        struct nest *n = arg;

        scope_open(&n->outer, SCOPE_LONG_TIME);
        scope_open(&n->inner, WEFT_FOREVER);
        w_store_rel(&n->open, 1);
        CHECK_EQ(weft_sleep(SCOPE_LONG_TIME), -ECANCELED);
        CHECK_EQ(weft_scope_status(&n->inner), 0);
        CHECK_EQ(weft_scope_status(&n->outer), -ECANCELED);
        scope_close(&n->inner, 0);
        CHECK_EQ(weft_cancelled(), -ECANCELED);
        scope_open(&n->inner, WEFT_FOREVER);            /* opened below a done scope */
        CHECK_EQ(weft_cancelled(), -ECANCELED);
        scope_close(&n->inner, 0);
        scope_close(&n->outer, 0);
        CHECK_EQ(weft_sleep(WEFT_US(1)), 0);
}

GO_TEST(a_cancellation_reaches_the_inner_scopes)
{
        struct nest    n = { 0 };
        struct foreign g;

        foreign_start(&g, wait_in_inner, &n);
        sched_await(&n.open, 1);
        foreign_await_asleep(&n.inner);
        weft_scope_cancel(&n.outer);
        foreign_join(&g);
}

static void shielded(void *arg)
{
        struct nest *n = arg;

        scope_open(&n->outer, 0);
        CHECK_EQ(weft_cancelled(), -ETIMEDOUT);
        weft_shield_begin();
        weft_shield_begin();
        weft_shield_end();
        CHECK_EQ(weft_sleep(WEFT_US(100)), 0);
        scope_open(&n->inner, WEFT_FOREVER);            /* counts, and is a root of its own */
        CHECK_EQ(weft_cancelled(), 0);
        w_store_rel(&n->open, 1);
        CHECK_EQ(weft_sleep(SCOPE_LONG_TIME), -ECANCELED);
        scope_close(&n->inner, 0);
        CHECK_EQ(weft_cancelled(), 0);
        weft_shield_end();
        CHECK_EQ(weft_cancelled(), -ETIMEDOUT);
        scope_close(&n->outer, 0);
}

GO_TEST(a_shield_hides_the_scopes_of_a_thread)
{
        struct nest    n = { 0 };
        struct foreign g;

        foreign_start(&g, shielded, &n);
        sched_await(&n.open, 1);
        foreign_await_asleep(&n.inner);
        weft_scope_cancel(&n.outer);                    /* hidden, and done already */
        weft_scope_cancel(&n.inner);
        foreign_join(&g);
}

static void sleep_until_cancelled(void *arg)
{
        struct nest *n = arg;

        scope_open(&n->outer, WEFT_FOREVER);
        w_store_rel(&n->open, 1);
        CHECK_EQ(weft_chan_recv(NULL, NULL), -ECANCELED);
        scope_close(&n->outer, 0);
}

GO_TEST(threads_do_not_share_scopes)
{
        struct nest    a = { 0 }, b = { 0 };
        struct foreign ga, gb;

        foreign_start(&ga, sleep_until_cancelled, &a);
        foreign_start(&gb, sleep_until_cancelled, &b);
        sched_await(&a.open, 1);
        sched_await(&b.open, 1);
        foreign_await_asleep(&a.outer);
        foreign_await_asleep(&b.outer);
        weft_scope_cancel(&a.outer);
        foreign_join(&ga);
        CHECK(foreign_is_asleep(&b.outer));
        CHECK_EQ(weft_scope_status(&b.outer), 0);
        weft_scope_cancel(&b.outer);
        foreign_join(&gb);
}

/* ---- Children -------------------------------------------------------------------------------- */

static int count_up(void *counter)
{
        weft_yield();
        w_add_rlx((w_atomic_u32 *)counter, 1);
        return 0;
}

/* A child of a foreign thread's scope opens a scope, and has children itself. */
static int spawn_more(void *counter)
{
        weft_scope s;

        scope_open(&s, SCOPE_LONG_TIME);
        for (int i = 0; i < 3; i++)
                scope_go(&s, count_up, counter);
        scope_close(&s, 0);
        return 0;
}

static int fail_late(void *rc)
{
        CHECK_EQ(weft_sleep(WEFT_US(200)), 0);
        return (int)(intptr_t)rc;
}

static void wait_for_children(void *arg)
{
        w_atomic_u32 n = W_ATOMIC_INIT(0);
        weft_scope   s;
        int          parked = 0;

        (void)arg;
        scope_open(&s, SCOPE_LONG_TIME);
        for (int i = 0; i < 20; i++)
                scope_go(&s, i % 2 ? spawn_more : count_up, &n);
        scope_close(&s, 0);
        CHECK_EQ(w_load_rlx(&n), 40);

        scope_open(&s, WEFT_FOREVER);
        scope_go(&s, scope_park, &parked);
        scope_go(&s, fail_late, (void *)(intptr_t)-77);
        CHECK_EQ(weft_sleep(SCOPE_LONG_TIME), -ECANCELED); /* the opener too */
        CHECK_EQ(weft_scope_go(&s, count_up, &n), -ECANCELED);
        scope_close(&s, -77);
        CHECK_EQ(parked, -ECANCELED);

        scope_open(&s, WEFT_US(300));
        if (weft_scope_go(&s, scope_park, &parked) < 0)
                parked = -ETIMEDOUT;                    /* a slow machine */
        scope_close(&s, 0);                             /* not before the child is cancelled */
        CHECK_EQ(parked, -ETIMEDOUT);
        CHECK_EQ(weft_scope_status(&s), -ETIMEDOUT);
}

GO_TEST(a_thread_waits_for_its_children)
{
        foreign_run(wait_for_children, NULL);
        CHECK_EQ(weft_count(), 1);
}

/* ---- Everything at once ---------------------------------------------------------------------- */

enum { N_THREADS = 4 };

struct storm {
        weft_scope   scopes[2];
        w_atomic_u32 open;              /* 1: the scopes may be cancelled; 2: being closed */
        weft_mutex   mutex;             /* held by the canceller */
        weft_sem     sem;
};

static int take_permit(void *arg)
{
        int rc = weft_sem_acquire(arg);

        CHECK(rc == 0 || rc == -ECANCELED || rc == -ETIMEDOUT);
        return 0;
}

static void storm_round(struct storm *st, uint32_t i)
{
        scope_open(&st->scopes[0], i % 3 ? WEFT_FOREVER : WEFT_US(50 + i % 100));
        scope_open(&st->scopes[1], i % 5 ? WEFT_FOREVER : WEFT_US(50 + i % 70));
        for (uint32_t k = 0; k < i % 4; k++)
                (void)!weft_scope_go(&st->scopes[k % 2], take_permit, &st->sem);
        w_store_rel(&st->open, 1);
        int rc = i % 2 ? weft_sem_acquire(&st->sem) : weft_sleep(SCOPE_LONG_TIME);

        CHECK(rc == -ECANCELED || rc == -ETIMEDOUT);
        CHECK_EQ(weft_cancelled(), rc);
        weft_mutex_lock(&st->mutex);
        w_store_rel(&st->open, 0);
        weft_mutex_unlock(&st->mutex);
        weft_scope_cancel(&st->scopes[0]);              /* for its children, if only 1 is done */
        scope_close(&st->scopes[1], 0);
        scope_close(&st->scopes[0], 0);
}

static void storm(void *arg)
{
        for (uint32_t i = 0, n = sched_scale(300); i < n; i++)
                storm_round(arg, i);
}

static struct storm  storms[N_THREADS];
static w_atomic_u32 storms_over;

static void cancel_in_storms(void *arg)
{
        (void)arg;
        for (uint32_t i = 0; !w_load_acq(&storms_over); i++) {
                struct storm *st = &storms[i % N_THREADS];

                weft_mutex_lock(&st->mutex);
                if (w_load_acq(&st->open))
                        weft_scope_cancel(&st->scopes[i / N_THREADS % 2]);
                weft_mutex_unlock(&st->mutex);
                weft_yield();
        }
}

GO_TEST(threads_with_scopes_and_cancellers_of_both_kinds)
{
        struct foreign threads[N_THREADS], canceller_thread;

        for (int i = 0; i < N_THREADS; i++)
                foreign_start(&threads[i], storm, &storms[i]);
        foreign_start(&canceller_thread, cancel_in_storms, NULL);
        int64_t id = sched_go(cancel_in_storms, NULL);

        for (int i = 0; i < N_THREADS; i++)
                foreign_join(&threads[i]);
        w_store_rel(&storms_over, 1);
        foreign_join(&canceller_thread);
        sched_join(id);
        CHECK_EQ(weft_count(), 1);
}
