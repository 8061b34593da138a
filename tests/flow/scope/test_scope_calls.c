/* tests/flow/scope/test_scope_calls.c - scopes reach every cancellable call, and no other.
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

static void main_cancel_sleeping(void *arg)
{
        (void)arg;
        calls_set_up();
        for (size_t i = 0; i < W_ARRAY_LEN(waits); i++) {
                struct call call = { waits[i], 1 };
                weft_scope  s;

                scope_open(&s, i % 2 ? LONG_TIME : WEFT_FOREVER);
                sched_await_parked(scope_go(&s, make_call, &call));
                weft_scope_cancel(&s);
                scope_close(&s, 0);
                CHECK_MSG(call.rc == -ECANCELED, "call %zu returned %d", i, call.rc);
        }
        calls_take_down();
}

TEST(every_wait_is_cancelled)
{
        sched_run(main_cancel_sleeping, NULL);
}

static void main_deadline(void *arg)
{
        (void)arg;
        calls_set_up();
        for (size_t i = 0; i < W_ARRAY_LEN(waits); i++) {
                weft_scope s;

                scope_open(&s, WEFT_US(300));
                int rc = waits[i]();

                CHECK_MSG(rc == -ETIMEDOUT, "call %zu returned %d", i, rc);
                scope_close(&s, 0);
        }
        calls_take_down();
}

TEST(every_wait_ends_at_the_deadline)
{
        sched_run(main_deadline, NULL);
}

static void main_refused(void *arg)
{
        weft_scope s;

        (void)arg;
        calls_set_up();
        scope_open(&s, WEFT_FOREVER);
        weft_scope_cancel(&s);
        for (size_t i = 0; i < W_ARRAY_LEN(waits); i++)
                CHECK_MSG(waits[i]() == -ECANCELED, "call %zu was not refused", i);
        for (size_t i = 0; i < W_ARRAY_LEN(goes_on); i++)
                CHECK_MSG(goes_on[i]() == -ECANCELED, "ready call %zu was not refused", i);
        CHECK_EQ(weft_chan_len(on.some), 1);
        CHECK_EQ(weft_chan_len(on.room), 0);
        weft_shield_begin();
        for (size_t i = 0; i < W_ARRAY_LEN(goes_on); i++)
                CHECK_MSG(goes_on[i]() == 0, "ready call %zu failed behind a shield", i);
        weft_shield_end();
        scope_close(&s, 0);
        calls_take_down();
}

TEST(a_call_that_could_go_on_is_refused_too)
{
        sched_run(main_refused, NULL);
}

static void main_not_cancellable(void *arg)
{
        weft_scope   s;
        weft_rwmutex rw = WEFT_RWMUTEX_INIT;
        int          x = 5;

        (void)arg;
        calls_set_up();
        weft_case cases[] = { WEFT_RECV(on.none, &x), WEFT_DEFAULT };

        scope_open(&s, 0);
        CHECK_EQ(weft_cancelled(), -ETIMEDOUT);
        weft_mutex_lock(&on.mutex);
        weft_mutex_unlock(&on.mutex);
        weft_rwmutex_lock(&rw);
        weft_rwmutex_unlock(&rw);
        weft_rwmutex_rlock(&rw);
        weft_rwmutex_runlock(&rw);
        weft_yield();
        CHECK_EQ(weft_chan_try_recv(on.some, &x), 0);
        CHECK_EQ(weft_chan_try_send(on.full, &x), -EAGAIN);
        CHECK_EQ(weft_sem_try_acquire(&on.sem_none), -EAGAIN);
        CHECK_EQ(weft_select(cases, 2), 1);
        scope_close(&s, 0);
        calls_take_down();
}

TEST(calls_that_are_not_cancellable_go_on)
{
        sched_run(main_not_cancellable, NULL);
}

/* ---- Delivered or cancelled, never both ------------------------------------------------------ */

enum { N_PAIRS = 4 };

static struct {
        weft_chan   *c;
        w_atomic_u32 sent, received;    /* sums of what calls said was transferred */
} post;

static int send_until_struck(void *arg)
{
        uint32_t value = 1 + (uint32_t)(uintptr_t)arg;

        while (weft_chan_send(post.c, &value) == 0)
                w_add_rlx(&post.sent, value);
        return 0;
}

static int recv_until_struck(void *arg)
{
        uint32_t value;

        (void)arg;
        while (weft_chan_recv(post.c, &value) == 0)
                w_add_rlx(&post.received, value);
        return 0;
}

static void main_conserve(void *arg)
{
        uint32_t n = sched_scale(150), left;

        (void)arg;
        for (uint32_t i = 0; i < n; i++) {
                weft_scope s;

                w_store_rlx(&post.sent, 0);
                w_store_rlx(&post.received, 0);
                post.c = chan_with(i % 3, 0);
                scope_open(&s, i % 2 ? WEFT_FOREVER : WEFT_US(10 + i));
                for (uintptr_t k = 0; k < N_PAIRS; k++) {
                        (void)weft_scope_go(&s, send_until_struck, (void *)k);
                        (void)weft_scope_go(&s, recv_until_struck, NULL);
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

TEST(a_value_is_delivered_or_cancelled)
{
        sched_run(main_conserve, NULL);
}
