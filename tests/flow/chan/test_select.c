/* tests/flow/chan/test_select.c - select: one case, fairly chosen, on one moment's state.
 *
 * test: procs=1,2,4
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/sched.h"

static weft_chan *new_chan(size_t cap)
{
        weft_chan *c = weft_chan_new(sizeof(int), cap);

        CHECK(c);
        return c;
}

/* ---- What it returns ------------------------------------------------------------------------- */

GO_TEST(the_index_and_its_result)
{
        weft_chan *a = new_chan(1), *b = new_chan(1), *closed = new_chan(0);
        int        x = 0, y = 5;
        weft_case  cs[] = { WEFT_RECV(a, &x), WEFT_SEND(b, &y), WEFT_RECV(NULL, &x),
                            { { 0 }, 0, 0 }, WEFT_DEFAULT };

        cs[0].result = cs[4].result = 77;
        CHECK_EQ(weft_select(cs, 5), 1);
        CHECK_EQ(cs[1].result, 0);
        CHECK_EQ(cs[0].result, 77);     /* other results are not written */
        CHECK_EQ(weft_select(cs, 5), 4);
        CHECK_EQ(cs[4].result, 0);
        CHECK_EQ(weft_chan_try_send(a, &(int){ 6 }), 0);
        CHECK_EQ(weft_select(cs, 5), 0);
        CHECK_EQ(x, 6);
        CHECK_EQ(weft_select(cs + 4, 1), 0);
        CHECK_EQ(weft_select(cs + 2, 3), 2);
        CHECK_EQ(weft_chan_close(closed), 0);
        weft_case gone[] = { WEFT_RECV(closed, &x), WEFT_RECV(a, &y) };

        CHECK_EQ(weft_select(gone, 2), 0);
        CHECK_EQ(gone[0].result, -EPIPE);
        CHECK_EQ(x, 0);
        gone[0] = WEFT_SEND(closed, &y);
        CHECK_EQ(weft_select(gone, 2), 0);
        CHECK_EQ(gone[0].result, -EPIPE);
        CHECK_EQ(weft_select(gone, 1), 0);
        CHECK_EQ(gone[0].result, -EPIPE);
        weft_chan_unref(a);
        weft_chan_unref(b);
        weft_chan_unref(closed);
}

GO_TEST(bad_cases_are_refused)
{
        weft_chan *c = new_chan(0);
        weft_case  cs[] = { WEFT_RECV(c, NULL), WEFT_SEND(c, NULL), WEFT_DEFAULT };

        CHECK_EQ(weft_select(NULL, 1), -EINVAL);
        CHECK_EQ(weft_select(cs, SIZE_MAX), -EINVAL);
        CHECK_EQ(weft_select(cs, (size_t)INT32_MAX), -EINVAL);
        CHECK_EQ(weft_select(cs, 3), -EINVAL);
        cs[1].opaque[0] = 99;
        CHECK_EQ(weft_select(cs, 3), -EINVAL);
        weft_chan_unref(c);
}

static void select_nothing(void *arg)
{
        weft_case cs[] = { WEFT_RECV(NULL, NULL), { { 0 }, 0, 0 } };

        (void)!weft_select(arg ? cs : NULL, arg ? 2 : 0);
        CHECK_MSG(false, "a select of nothing returned");
}

static void main_nothing(void *arg)
{
        (void)arg;
        sched_await_parked(sched_go(select_nothing, NULL));
        sched_await_parked(sched_go(select_nothing, &arg));
}

TEST(a_select_of_nothing_waits_for_ever)
{
        sched_run(main_nothing, NULL);
}

/* ---- Waiting --------------------------------------------------------------------------------- */

struct chooser {
        weft_chan *c[3];
        int        index, value, result;
};

static void choose(void *arg)
{
        struct chooser *me = arg;
        int             out = 1000;
        weft_case       cs[] = { WEFT_RECV(me->c[0], &me->value), WEFT_RECV(me->c[1], &me->value),
                                 WEFT_SEND(me->c[2], &out), WEFT_RECV(me->c[0], &me->value) };

        me->index = weft_select(cs, 4);
        me->result = cs[me->index].result;
}

static void chooser_start(int64_t *id, struct chooser *me)
{
        for (int i = 0; i < 3; i++)
                me->c[i] = new_chan(0);
        *id = sched_go(choose, me);
        sched_await_parked(*id);
}

static void chooser_end(int64_t id, struct chooser *me)
{
        sched_join(id);
        for (int i = 0; i < 3; i++)     /* which checks that both queues are empty */
                weft_chan_unref(me->c[i]);
}

GO_TEST(a_partner_ends_the_wait)
{
        struct chooser me = { .index = -1 };
        int64_t        id;
        int            value = 0;

        chooser_start(&id, &me);
        CHECK_EQ(weft_chan_send(me.c[1], &(int){ 11 }), 0);
        chooser_end(id, &me);
        CHECK(me.index == 1 && me.value == 11 && me.result == 0);
        chooser_start(&id, &me);
        CHECK_EQ(weft_chan_send(me.c[0], &(int){ 12 }), 0);
        chooser_end(id, &me);
        CHECK((me.index == 0 || me.index == 3) && me.value == 12 && me.result == 0);
        chooser_start(&id, &me);
        CHECK_EQ(weft_chan_recv(me.c[2], &value), 0);
        chooser_end(id, &me);
        CHECK(me.index == 2 && value == 1000 && me.result == 0);
        chooser_start(&id, &me);
        CHECK_EQ(weft_chan_close(me.c[2]), 0);
        chooser_end(id, &me);
        CHECK(me.index == 2 && me.result == -EPIPE);
        chooser_start(&id, &me);
        CHECK_EQ(weft_chan_close(me.c[1]), 0);
        chooser_end(id, &me);
        CHECK(me.index == 1 && me.result == -EPIPE && me.value == 0);
}

/* A select that lost stays in a queue among other waiters for a while: it must stay intact. */
GO_TEST(a_loser_leaves_the_queue_intact)
{
        weft_chan *a = new_chan(0), *b = new_chan(0);
        int        x = 0;

        for (int i = 0; i < 50; i++) {
                struct chooser me = { .c = { a, b, NULL } };
                int64_t        first = sched_go(choose, &me);
                struct chooser you = { .c = { b, a, NULL } };
                int64_t        second = sched_go(choose, &you);

                sched_await_parked(first);
                sched_await_parked(second);
                x = i;
                CHECK_EQ(weft_chan_send(a, &x), 0);
                CHECK_EQ(weft_chan_send(b, &x), 0);
                sched_join(first);
                sched_join(second);
                CHECK(me.value == i && you.value == i);
                CHECK_EQ(weft_chan_try_send(a, &x), -EAGAIN);
                CHECK_EQ(weft_chan_try_recv(b, &x), -EAGAIN);
        }
        weft_chan_unref(a);
        weft_chan_unref(b);
}

/* ---- Fair ------------------------------------------------------------------------------------ */

GO_TEST(each_ready_case_is_as_likely)
{
        enum { N = 4 };
        weft_chan *c[N];
        weft_case  cs[N + 2];
        int        n = (int)sched_scale(10000), counts[N + 2] = { 0 }, x = 0;

        for (int i = 0; i < N; i++) {
                c[i] = new_chan(i < 2 ? 0 : 1);
                cs[i] = WEFT_RECV(c[i], &x);
        }
        CHECK_EQ(weft_chan_close(c[0]), 0);
        CHECK_EQ(weft_chan_close(c[3]), 0);
        cs[4] = WEFT_AFTER(0);
        cs[5] = WEFT_AFTER(-5);
        for (int i = 0; i < n; i++) {
                int got = weft_select(cs, N + 2);

                CHECK(got >= 0);
                counts[got]++;
        }
        CHECK_EQ(counts[1] + counts[2], 0);
        /* 4 are ready; 10 sigma is less than n / 4 for every n above 300. */
        for (int i = 0; i < N + 2; i++)
                if (i != 1 && i != 2)
                        CHECK_MSG(counts[i] > n / 8 && counts[i] < n / 2, "%d of %d", counts[i], n);
        for (int i = 0; i < N; i++)
                weft_chan_unref(c[i]);
}

/* Two sends on one channel in one select: both values arrive in the end. */
static void send_either(void *c)
{
        int       zero = 0, one = 1, stop = 0;
        weft_case cs[] = { WEFT_SEND(c, &zero), WEFT_SEND(c, &one) };

        while (!stop) {
                int i = weft_select(cs, 2);

                stop = cs[i].result == -EPIPE;
        }
}

GO_TEST(either_send_happens)
{
        for (size_t cap = 0; cap <= 100; cap += 100) {
                weft_chan *c = new_chan(cap);
                int64_t    id = sched_go(send_either, c);
                int        n = (int)sched_scale(1000), ones = 0, x;

                for (int i = 0; i < n; i++) {
                        weft_yield();
                        CHECK_EQ(weft_chan_recv(c, &x), 0);
                        ones += x;
                }
                CHECK_EQ(weft_chan_close(c), 0);
                sched_join(id);
                if (n >= 200)
                        CHECK_MSG(ones > n / 10 && ones < n * 9 / 10, "%d of %d", ones, n);
                weft_chan_unref(c);
        }
}

/* ---- One moment ------------------------------------------------------------------------------ */

struct race {
        weft_chan   *c1, *c2;
        w_atomic_u32 n_default;
        bool         close;
};

static void look_at_both(void *arg)
{
        struct race *r = arg;
        weft_case    cs[] = { WEFT_RECV(r->c1, NULL), WEFT_RECV(r->c2, NULL), WEFT_DEFAULT };

        if (weft_select(cs, 3) == 2)
                w_add_acqrel(&r->n_default, 1);
}

/* Either channel has something at every moment, so the default must never be taken. */
static void race_once(struct race *r)
{
        int x = 1;

        r->c1 = new_chan(1);
        r->c2 = new_chan(1);
        CHECK_EQ(weft_chan_send(r->c1, &x), 0);
        int64_t id = sched_go(look_at_both, r);

        if (r->close)
                CHECK_EQ(weft_chan_close(r->c2), 0);
        else
                CHECK_EQ(weft_chan_send(r->c2, &x), 0);
        (void)weft_chan_try_recv(r->c1, &x);
        sched_join(id);
        weft_chan_unref(r->c1);
        weft_chan_unref(r->c2);
}

static void main_race(void *arg)
{
        struct race r = { .close = arg != NULL };

        for (uint32_t i = 0; i < sched_scale(20000); i++)
                race_once(&r);
        CHECK_EQ(w_load_acq(&r.n_default), 0);
}

TEST(default_only_if_nothing_was_ready_at_one_moment)
{
        sched_run(main_race, NULL);
}

TEST(default_never_past_a_closed_channel)
{
        sched_run(main_race, "close");
}

/* ---- Both sides of one channel --------------------------------------------------------------- */

struct self {
        weft_chan *c;
        int        me, n, cap;
};

static void self_select(void *arg)
{
        struct self *s = arg;
        int          got = -1, mine = s->me;
        weft_case    cs[] = { WEFT_SEND(s->c, &mine), WEFT_RECV(s->c, &got) };

        for (int i = 0; i < s->n; i++) {
                int picked = weft_select(cs, 2);

                CHECK_EQ(cs[picked].result, 0);
                if (picked == 1 && s->cap == 0)
                        CHECK_MSG(got != s->me, "received its own");
        }
}

GO_TEST(two_select_both_sides_of_one_channel)
{
        for (int cap = 0; cap <= 10; cap += 10) {
                weft_chan  *c = new_chan((size_t)cap);
                struct self a = { c, 1, (int)sched_scale(2000), cap }, b = a;

                b.me = 2;
                int64_t first = sched_go(self_select, &a), second = sched_go(self_select, &b);

                sched_join(first);
                sched_join(second);
                weft_chan_unref(c);
        }
}
