/* tests/flow/chan/test_select_kinds.c - select: joins, times, cancellation, foreign threads.
 *
 * test: procs=1,2,4
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/sched.h"

#include <pthread.h>

static weft_chan *new_chan(size_t cap)
{
        weft_chan *c = weft_chan_new(sizeof(int), cap);

        CHECK(c);
        return c;
}

/* ---- Joins and times ------------------------------------------------------------------------- */

static void nothing(void *arg)
{
        (void)arg;
}

static void wait_for_token(void *arg)
{
        (void)arg;
        CHECK_EQ(weft_park(), 0);
}

GO_TEST(a_join_gives_what_join_gives)
{
        weft_chan *c = new_chan(0);
        int64_t    ended = sched_go(nothing, NULL), alive = sched_go(wait_for_token, NULL);
        weft_case  cs[] = { WEFT_RECV(c, NULL), WEFT_JOIN(alive), WEFT_JOIN(ended), WEFT_DEFAULT };

        sched_join(ended);
        CHECK_EQ(weft_select(cs, 4), 2);
        CHECK_EQ(cs[2].result, 0);
        CHECK_EQ(weft_unpark(alive), 0);
        CHECK_EQ(weft_select(cs + 1, 1), 0);
        CHECK_EQ(cs[1].result, 0);
        cs[1] = WEFT_JOIN(INT64_C(1) << 40);
        CHECK_EQ(weft_select(cs, 2), 1);
        CHECK_EQ(cs[1].result, -ESRCH);
        cs[1] = WEFT_JOIN(weft_id());
        CHECK_EQ(weft_select(cs, 2), 1);
        CHECK_EQ(cs[1].result, -EDEADLK);
        weft_chan_unref(c);
}

struct awaiter {
        weft_chan *c;
        int64_t    targets[3];
        int        index;
};

static void await_any(void *arg)
{
        struct awaiter *me = arg;
        weft_case       cs[] = { WEFT_JOIN(me->targets[0]), WEFT_RECV(me->c, NULL),
                                 WEFT_JOIN(me->targets[1]), WEFT_JOIN(me->targets[2]),
                                 WEFT_JOIN(me->targets[1]) };

        me->index = weft_select(cs, 5);
        CHECK_EQ(cs[me->index].result, 0);
}

GO_TEST(the_first_of_several_to_end)
{
        for (int i = 0; i < (int)sched_scale(500); i++) {
                struct awaiter me = { .c = new_chan(0) };

                for (int k = 0; k < 3; k++)
                        me.targets[k] = sched_go(wait_for_token, NULL);
                int64_t id = sched_go(await_any, &me);

                if (i % 2)
                        sched_await_parked(id);
                if (i % 5 == 0)
                        CHECK_EQ(weft_chan_send(me.c, &(int){ 1 }), 0);
                CHECK_EQ(weft_unpark(me.targets[i % 3]), 0);
                sched_join(id);
                CHECK(me.index >= 0 && (me.index == 1) == (i % 5 == 0));
                for (int k = 0; k < 3; k++) {
                        if (k != i % 3)
                                CHECK_EQ(weft_unpark(me.targets[k]), 0);
                        sched_join(me.targets[k]);
                }
                weft_chan_unref(me.c);
        }
}

GO_TEST(the_earliest_time_counts)
{
        weft_chan *c = new_chan(0);
        weft_case  cs[] = { WEFT_AFTER(WEFT_FOREVER), WEFT_RECV(c, NULL), WEFT_AFTER(WEFT_MS(3)),
                            WEFT_AFTER(WEFT_MS(2)), WEFT_AFTER(WEFT_SEC(5)) };

        for (int i = 0; i < 3; i++) {           /* the time counts from each call */
                int64_t start = w_os_now();

                CHECK_EQ(weft_select(cs, 5), 3);
                CHECK_EQ(cs[3].result, 0);
                CHECK(w_os_now() - start >= WEFT_MS(2));
        }
        CHECK_EQ(weft_select(cs + 2, 2), 1);
        CHECK_EQ(weft_select(cs + 3, 1), 0);
        weft_chan_unref(c);
}

/* ---- Other threads --------------------------------------------------------------------------- */

static void *thread_selects(void *arg)
{
        weft_chan **c = arg;
        int         x = 0, sum = 0;
        weft_case   cs[] = { WEFT_RECV(c[0], &x), WEFT_RECV(c[1], &x) };

        for (int open = 2; open > 0;) {
                int i = weft_select(cs, 2);

                CHECK(i >= 0);
                if (cs[i].result == -EPIPE) {
                        cs[i] = WEFT_RECV(NULL, NULL);
                        open--;
                }
                sum += x;
        }
        CHECK_EQ(weft_select((weft_case[]){ WEFT_RECV(NULL, NULL), WEFT_AFTER(WEFT_MS(1)) }, 2),
                 1);
        return (void *)(intptr_t)sum;
}

GO_TEST(a_plain_thread_selects)
{
        weft_chan *c[2] = { new_chan(0), new_chan(1) };
        int        n = (int)sched_scale(1000), one = 1;
        pthread_t  thread;
        void      *sum;

        CHECK_EQ(pthread_create(&thread, NULL, thread_selects, c), 0);
        for (int i = 0; i < n; i++)
                CHECK_EQ(weft_chan_send(c[i % 2], &one), 0);
        CHECK_EQ(weft_chan_close(c[0]), 0);
        CHECK_EQ(weft_chan_close(c[1]), 0);
        CHECK_EQ(pthread_join(thread, &sum), 0);
        CHECK_EQ((intptr_t)sum, n);
        weft_chan_unref(c[0]);
        weft_chan_unref(c[1]);
}

/* ---- Scopes ---------------------------------------------------------------------------------- */

GO_TEST(a_done_scope_ends_a_select_that_could_proceed)
{
        weft_chan *c = new_chan(1), *never = new_chan(0);
        int        x = 1;
        weft_case  cs[] = { WEFT_RECV(never, &x), WEFT_SEND(c, &x), WEFT_DEFAULT };
        weft_scope s;

        CHECK_EQ(weft_scope_open(&s, WEFT_MS(2)), 0);
        CHECK_EQ(weft_chan_recv(never, &x), -ETIMEDOUT);
        CHECK_EQ(weft_chan_send(c, &x), -ETIMEDOUT);            /* though there is room */
        CHECK_EQ(weft_chan_send(NULL, NULL), -ETIMEDOUT);
        CHECK_EQ(weft_select(cs, 2), -ETIMEDOUT);
        CHECK_EQ(weft_select(NULL, 0), -ETIMEDOUT);
        CHECK_EQ(weft_join(INT64_C(1) << 40), -ETIMEDOUT);
        CHECK_EQ(weft_chan_len(c), 0);
        CHECK_EQ(weft_chan_try_send(c, &x), 0);                 /* not cancellable */
        CHECK_EQ(weft_select(cs, 3), 2);
        CHECK_EQ(weft_chan_try_recv(c, &x), 0);
        CHECK_EQ(weft_select(cs, 3), 1);
        CHECK_EQ(weft_scope_close(&s), 0);
        CHECK_EQ(weft_scope_open(&s, WEFT_FOREVER), 0);
        weft_scope_cancel(&s);
        CHECK_EQ(weft_chan_recv(c, &x), -ECANCELED);
        CHECK_EQ(weft_chan_len(c), 1);
        CHECK_EQ(weft_scope_close(&s), 0);
        CHECK_EQ(weft_scope_open(&s, WEFT_MS(2)), 0);
        CHECK_EQ(weft_select(cs, 1), -ETIMEDOUT);               /* while it waits */
        CHECK_EQ(weft_scope_close(&s), 0);
        CHECK_EQ(weft_scope_open(&s, WEFT_SEC(600)), 0);
        cs[1] = WEFT_AFTER(WEFT_MS(1));
        CHECK_EQ(weft_select(cs, 2), 1);
        CHECK_EQ(weft_scope_close(&s), 0);
        weft_chan_unref(c);
        weft_chan_unref(never);
}

/* Delivered or cancelled: both sides agree, many times. */
struct either {
        weft_chan *c, *other;
        weft_scope scope;
        bool       selects;
        int        rc, value;
};

static int recv_in_scope(void *arg)
{
        struct either *e = arg;
        weft_case      cs[] = { WEFT_RECV(e->other, NULL), WEFT_RECV(e->c, &e->value) };

        e->rc = e->selects ? weft_select(cs, 2) : weft_chan_recv(e->c, &e->value);
        if (e->rc == 1)
                e->rc = cs[1].result;
        return 0;
}

static void cancel_scope(void *arg)
{
        weft_scope_cancel(arg);
}

static void either_once(struct either *e, int i)
{
        int rc = -EAGAIN;

        e->rc = e->value = 0;
        CHECK_EQ(weft_scope_open(&e->scope, WEFT_FOREVER), 0);
        CHECK(weft_scope_go(&e->scope, recv_in_scope, e) > 0);
        if (i % 2)
                weft_yield();
        int64_t id = sched_go(cancel_scope, &e->scope);

        for (int k = 0; k < 3 && rc != 0; k++)
                rc = weft_chan_try_send(e->c, &i);
        weft_shield_begin();
        sched_join(id);
        weft_shield_end();
        CHECK_EQ(weft_scope_close(&e->scope), 0);
        CHECK_EQ(e->rc, rc == 0 ? 0 : -ECANCELED);
        CHECK_EQ(e->value, rc == 0 ? i : 0);
}

GO_TEST(delivered_or_cancelled_never_both)
{
        struct either e = { .c = new_chan(0), .other = new_chan(0) };

        for (int i = 1; i < (int)sched_scale(4000); i++) {
                e.selects = i % 4 < 2;
                either_once(&e, i);
        }
        weft_chan_unref(e.c);
        weft_chan_unref(e.other);
}
