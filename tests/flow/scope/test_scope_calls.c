/* tests/flow/scope/test_scope_calls.c - scopes reach every cancellable call, and no other.
 *
 * test: procs=1,2,4
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/calls.h"

/* ---- The tests ------------------------------------------------------------------------------- */

struct call {
        int (*fn)(void);
        int   rc;
};

static int make_call(void *arg)
{
        struct call *call = arg;

        call->rc = call->fn();
        return 0;
}

GO_TEST(every_wait_is_cancelled)
{
        calls_set_up();
        for (size_t i = 0; i < W_ARRAY_LEN(calls_that_wait); i++) {
                struct call call = { calls_that_wait[i], 1 };
                weft_scope  s;

                scope_open(&s, i % 2 ? SCOPE_LONG_TIME : WEFT_FOREVER);
                sched_await_parked(scope_go(&s, make_call, &call));
                weft_scope_cancel(&s);
                scope_close(&s, 0);
                CHECK_MSG(call.rc == -ECANCELED, "call %zu returned %d", i, call.rc);
        }
        calls_take_down();
}

GO_TEST(every_wait_ends_at_the_deadline)
{
        calls_set_up();
        for (size_t i = 0; i < W_ARRAY_LEN(calls_that_wait); i++) {
                weft_scope s;

                scope_open(&s, WEFT_US(300));
                int rc = calls_that_wait[i]();

                CHECK_MSG(rc == -ETIMEDOUT, "call %zu returned %d", i, rc);
                scope_close(&s, 0);
        }
        calls_take_down();
}

GO_TEST(a_call_that_could_proceed_is_refused_too)
{
        weft_scope s;

        calls_set_up();
        scope_open(&s, WEFT_FOREVER);
        weft_scope_cancel(&s);
        for (size_t i = 0; i < W_ARRAY_LEN(calls_that_wait); i++)
                CHECK_MSG(calls_that_wait[i]() == -ECANCELED, "call %zu was not refused", i);
        for (size_t i = 0; i < W_ARRAY_LEN(calls_that_go_on); i++)
                CHECK_MSG(calls_that_go_on[i]() == -ECANCELED, "ready call %zu was not refused", i);
        CHECK_EQ(weft_chan_len(calls_on.some), 1);
        CHECK_EQ(weft_chan_len(calls_on.room), 0);
        weft_shield_begin();
        for (size_t i = 0; i < W_ARRAY_LEN(calls_that_go_on); i++)
                CHECK_MSG(calls_that_go_on[i]() == 0, "ready call %zu failed behind a shield", i);
        weft_shield_end();
        scope_close(&s, 0);
        calls_take_down();
}

GO_TEST(calls_that_are_not_cancellable_go_on)
{
        weft_scope   s;
        weft_rwmutex rw = WEFT_RWMUTEX_INIT;
        int          x = 5;

        calls_set_up();
        weft_case cases[] = { WEFT_RECV(calls_on.none, &x), WEFT_DEFAULT };

        scope_open(&s, 0);
        CHECK_EQ(weft_cancelled(), -ETIMEDOUT);
        weft_mutex_lock(&calls_on.mutex);
        weft_mutex_unlock(&calls_on.mutex);
        weft_rwmutex_lock(&rw);
        weft_rwmutex_unlock(&rw);
        weft_rwmutex_rlock(&rw);
        weft_rwmutex_runlock(&rw);
        weft_yield();
        CHECK_EQ(weft_chan_try_recv(calls_on.some, &x), 0);
        CHECK_EQ(weft_chan_try_send(calls_on.full, &x), -EAGAIN);
        CHECK_EQ(weft_sem_try_acquire(&calls_on.sem_none), -EAGAIN);
        CHECK_EQ(weft_select(cases, 2), 1);
        scope_close(&s, 0);
        calls_take_down();
}

/* ---- Delivered or cancelled, never both ------------------------------------------------------ */

enum { N_PAIRS = 4 };

static struct {
        weft_chan   *c;
        w_atomic_u32 sent, received;    /* sums of what calls said was transferred */
} post;

static int send_until_done(void *arg)
{
        uint32_t value = 1 + (uint32_t)(uintptr_t)arg;

        while (weft_chan_send(post.c, &value) == 0)
                w_add_rlx(&post.sent, value);
        return 0;
}

static int recv_until_done(void *arg)
{
        uint32_t value;

        (void)arg;
        while (weft_chan_recv(post.c, &value) == 0)
                w_add_rlx(&post.received, value);
        return 0;
}

GO_TEST(a_value_is_delivered_or_cancelled)
{
        uint32_t n = sched_scale(150), left;

        for (uint32_t i = 0; i < n; i++) {
                weft_scope s;

                w_store_rlx(&post.sent, 0);
                w_store_rlx(&post.received, 0);
                post.c = calls_chan_with(i % 3, 0);
                scope_open(&s, i % 2 ? WEFT_FOREVER : WEFT_US(10 + i));
                for (uintptr_t k = 0; k < N_PAIRS; k++) {
                        (void)!weft_scope_go(&s, send_until_done, (void *)k);
                        (void)!weft_scope_go(&s, recv_until_done, NULL);
                }
                for (uint32_t k = 0; k < i % 5; k++)
                        weft_yield();
                if (i % 2)
                        weft_scope_cancel(&s);
                scope_close(&s, 0);
                while (weft_chan_try_recv(post.c, &left) == 0)
                        w_add_rlx(&post.received, left);
                CHECK_EQ(w_load_rlx(&post.received), w_load_rlx(&post.sent));
                weft_chan_unref(post.c);
        }
}
