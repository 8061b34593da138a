/* tests/flow/chan/test_chan.c - channels: blocking, order, close, many on both sides.
 *
 * test: procs=1,2,4
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/sched.h"

#include <pthread.h>
#include <string.h>

enum { N_EACH = 4, MAX_CAP = 200 };

static weft_chan *new_chan(size_t size, size_t cap)
{
        weft_chan *c = weft_chan_new(size, cap);

        CHECK_MSG(c, "no channel of %zu times %zu bytes", cap, size);
        return c;
}

static void send_int(weft_chan *c, int value)
{
        CHECK_EQ(weft_chan_send(c, &value), 0);
}

static int recv_int(weft_chan *c)
{
        int value = -1;

        CHECK_EQ(weft_chan_recv(c, &value), 0);
        return value;
}

/* ---- Every capacity -------------------------------------------------------------------------- */

static w_atomic_u32 n_done;

static void recv_one(void *c)
{
        CHECK_EQ(recv_int(c), 7);
        w_add_acqrel(&n_done, 1);
}

static void send_seven(void *c)
{
        send_int(c, 7);
        w_add_acqrel(&n_done, 1);
}

static void await_waiting(int64_t id)
{
        sched_await_parked(id);
        CHECK_EQ(w_load_acq(&n_done), 0);
}

static void fill(weft_chan *c, int n)
{
        for (int i = 0; i < n; i++) {
                CHECK_EQ(weft_chan_len(c), i);
                if (i % 2)
                        send_int(c, i);
                else
                        CHECK_EQ(weft_chan_try_send(c, &i), 0);
        }
        CHECK_EQ(weft_chan_len(c), n);
        CHECK_EQ(weft_chan_try_send(c, &n), -EAGAIN);
}

static void one_capacity(int cap)
{
        weft_chan *c = new_chan(sizeof(int), (size_t)cap);
        int        value = 99;

        CHECK_EQ(weft_chan_cap(c), cap);
        CHECK_EQ(weft_chan_try_recv(c, &value), -EAGAIN);
        CHECK_EQ(value, 99);
        w_store_rel(&n_done, 0);
        int64_t id = sched_go(recv_one, c);

        await_waiting(id);
        send_int(c, 7);
        sched_join(id);
        fill(c, cap);
        w_store_rel(&n_done, 0);
        id = sched_go(send_seven, c);
        await_waiting(id);
        for (int i = 0; i < cap; i++)
                CHECK_EQ(recv_int(c), i);
        CHECK_EQ(recv_int(c), 7);
        sched_join(id);
        fill(c, cap);
        CHECK_EQ(weft_chan_close(c), 0);
        CHECK_EQ(weft_chan_send(c, &value), -EPIPE);
        CHECK_EQ(weft_chan_try_send(c, &value), -EPIPE);
        for (int i = 0; i < cap; i++)
                CHECK_EQ(recv_int(c), i);
        CHECK_EQ(weft_chan_recv(c, &value), -EPIPE);
        CHECK_EQ(value, 0);
        value = 5;
        CHECK_EQ(weft_chan_try_recv(c, &value), -EPIPE);
        CHECK_EQ(value, 0);
        CHECK_EQ(weft_chan_close(c), -EPIPE);
        weft_chan_unref(c);
}

GO_TEST(every_capacity_blocks_drains_and_closes)
{
        int step = test_is_slow() ? 37 : 7;

        for (int cap = 0; cap < MAX_CAP; cap += cap < 4 ? 1 : step)
                one_capacity(cap);
}

/* ---- Order ----------------------------------------------------------------------------------- */

struct waiting_turn {
        weft_chan *c;
        int        number, got;
};

static void take_turn(void *arg)
{
        struct waiting_turn *t = arg;

        t->got = recv_int(t->c);
}

static void give_turn(void *arg)
{
        struct waiting_turn *t = arg;

        send_int(t->c, t->number);
}

GO_TEST(waiters_are_served_in_order)
{
        enum { N = 20 };
        struct waiting_turn turns[N];
        int64_t             ids[N];
        weft_chan          *c = new_chan(sizeof(int), 0);

        for (int i = 0; i < N; i++) {
                turns[i] = (struct waiting_turn){ c, i, -1 };
                ids[i] = sched_go(take_turn, &turns[i]);
                sched_await_parked(ids[i]);
        }
        for (int i = 0; i < N; i++)
                send_int(c, i);
        for (int i = 0; i < N; i++) {
                sched_join(ids[i]);
                CHECK_EQ(turns[i].got, i);
        }
        for (int i = 0; i < N; i++) {
                ids[i] = sched_go(give_turn, &turns[i]);
                sched_await_parked(ids[i]);
        }
        for (int i = 0; i < N; i++)
                CHECK_EQ(recv_int(c), i);
        for (int i = 0; i < N; i++)
                sched_join(ids[i]);
        weft_chan_unref(c);
}

/* ---- Daisy chain ----------------------------------------------------------------------------- */

struct link {
        weft_chan *from, *to;
};

static void forward(void *arg)
{
        struct link *l = arg;

        send_int(l->to, recv_int(l->from) + 1);
        weft_chan_unref(l->from);
}

GO_TEST(a_value_goes_through_ten_thousand_goroutines)
{
        int          n = (int)test_scale(10000);
        struct link *links = calloc((size_t)n, sizeof(*links));
        weft_chan   *first = new_chan(sizeof(int), 0), *last = first;

        for (int i = 0; i < n; i++) {
                links[i] = (struct link){ last, new_chan(sizeof(int), 0) };
                last = links[i].to;
                sched_go(forward, &links[i]);
        }
        send_int(first, 0);
        CHECK_EQ(recv_int(last), n);
        while (weft_count() > 1)
                weft_yield();
        weft_chan_unref(last);
        free(links);
}

/* ---- Many on both sides ---------------------------------------------------------------------- */

struct crowd {
        weft_chan   *c;
        uint32_t     n;
        w_atomic_u64 sum;
        w_atomic_u32 n_received;
};

static void crowd_send(void *arg)
{
        struct crowd *crowd = arg;

        for (uint32_t i = 1; i <= crowd->n; i++)
                CHECK_EQ(weft_chan_send(crowd->c, &i), 0);
}

static void crowd_recv(void *arg)
{
        struct crowd *crowd = arg;
        uint32_t      value, before = 0, n = 0;
        uint64_t      sum = 0;

        while (weft_chan_recv(crowd->c, &value) == 0) {
                sum += value;
                n++;
                before = value;
        }
        CHECK_EQ(value, 0);
        (void)before;
        w_add_acqrel(&crowd->sum, sum);
        w_add_acqrel(&crowd->n_received, n);
}

static void crowd_of(size_t cap)
{
        struct crowd crowd = { .c = new_chan(sizeof(uint32_t), cap), .n = sched_scale(1000) };
        int64_t      senders[N_EACH], receivers[N_EACH];

        for (int i = 0; i < N_EACH; i++) {
                senders[i] = sched_go(crowd_send, &crowd);
                receivers[i] = sched_go(crowd_recv, &crowd);
        }
        for (int i = 0; i < N_EACH; i++)
                sched_join(senders[i]);
        CHECK_EQ(weft_chan_close(crowd.c), 0);
        for (int i = 0; i < N_EACH; i++)
                sched_join(receivers[i]);
        uint64_t n = crowd.n;

        CHECK_EQ(w_load_acq(&crowd.n_received), N_EACH * n);
        CHECK_EQ(w_load_acq(&crowd.sum), N_EACH * (n * (n + 1) / 2));
        weft_chan_unref(crowd.c);
}

GO_TEST(four_send_and_four_receive)
{
        crowd_of(0);
        crowd_of(1);
        crowd_of(10);
}

/* ---- Close ----------------------------------------------------------------------------------- */

static w_atomic_u32 n_closed;

static void recv_until_closed(void *c)
{
        uint64_t value[3] = { 1, 2, 3 };

        CHECK_EQ(weft_chan_recv(c, value), -EPIPE);
        CHECK(value[0] == 0 && value[1] == 0 && value[2] == 0);
        w_add_acqrel(&n_closed, 1);
}

static void send_until_closed(void *c)
{
        uint64_t value[3] = { 1, 2, 3 };

        CHECK_EQ(weft_chan_send(c, value), -EPIPE);
        w_add_acqrel(&n_closed, 1);
}

static void close_on(void (*fn)(void *), weft_chan *c)
{
        enum { N = 30 };
        int64_t ids[N];

        w_store_rel(&n_closed, 0);
        for (int i = 0; i < N; i++)
                ids[i] = sched_go(fn, c);
        for (int i = 0; i < N; i++)
                sched_await_parked(ids[i]);
        CHECK_EQ(weft_chan_close(c), 0);
        for (int i = 0; i < N; i++)
                sched_join(ids[i]);
        CHECK_EQ(w_load_acq(&n_closed), N);
        weft_chan_unref(c);
}

GO_TEST(close_wakes_all_waiters)
{
        close_on(recv_until_closed, new_chan(24, 0));
        close_on(recv_until_closed, new_chan(24, 5));
        close_on(send_until_closed, new_chan(24, 0));
}

static int64_t order[8];
static int     n_order;

static void note_order(void *c)
{
        CHECK_EQ(weft_chan_recv(c, NULL), -EPIPE);
        order[n_order++] = weft_id();
}

static void main_close_order(void *arg)
{
        enum { N = 8 };
        weft_chan *c = new_chan(0, 0);
        int64_t    ids[N];

        (void)arg;
        for (int i = 0; i < N; i++) {
                ids[i] = sched_go(note_order, c);
                sched_await_parked(ids[i]);
        }
        CHECK_EQ(weft_chan_close(c), 0);
        for (int i = 0; i < N; i++)
                sched_join(ids[i]);
        for (int i = 0; i < N; i++)
                CHECK_EQ(order[i], ids[i]);
        weft_chan_unref(c);
}

TEST(close_wakes_in_the_order_of_coming)
{
        if (sched_procs() > 1)
                test_skip("several Ps run them in any order");
        sched_run(main_close_order, NULL);
}

/* ---- Elements -------------------------------------------------------------------------------- */

struct wide { char bytes[1000]; };

GO_TEST(elements_of_no_bytes_and_of_many)
{
        weft_chan  *signals = new_chan(0, 3), *wide = new_chan(sizeof(struct wide), 40);
        struct wide in, out;

        for (int i = 0; i < 3; i++)
                CHECK_EQ(weft_chan_send(signals, NULL), 0);
        CHECK_EQ(weft_chan_try_send(signals, NULL), -EAGAIN);
        CHECK_EQ(weft_chan_len(signals), 3);
        CHECK_EQ(weft_chan_close(signals), 0);
        for (int i = 0; i < 3; i++)
                CHECK_EQ(weft_chan_recv(signals, NULL), 0);
        CHECK_EQ(weft_chan_recv(signals, NULL), -EPIPE);
        for (int i = 0; i < 100; i++) {
                memset(&in, i, sizeof(in));
                CHECK_EQ(weft_chan_send(wide, &in), 0);
                if (i % 3 == 2) {
                        CHECK_EQ(weft_chan_recv(wide, NULL), 0);        /* dropped */
                        CHECK_EQ(weft_chan_recv(wide, NULL), 0);
                        memset(&in, i, sizeof(in));
                        CHECK_EQ(weft_chan_recv(wide, &out), 0);
                        CHECK(memcmp(&in, &out, sizeof(in)) == 0);
                }
        }
        weft_chan_unref(signals);
        weft_chan_unref(wide);
}

/* ---- Other threads --------------------------------------------------------------------------- */

static void *thread_echo(void *arg)
{
        weft_chan **c = arg;
        int         value;

        while (weft_chan_recv(c[0], &value) == 0)
                send_int(c[1], value + 1);
        return NULL;
}

GO_TEST(a_plain_thread_sends_and_receives)
{
        weft_chan *c[2] = { new_chan(sizeof(int), 0), new_chan(sizeof(int), 0) };
        pthread_t  thread;

        CHECK_EQ(pthread_create(&thread, NULL, thread_echo, c), 0);
        for (int i = 0; i < (int)sched_scale(2000); i++) {
                send_int(c[0], i);
                CHECK_EQ(recv_int(c[1]), i + 1);
        }
        CHECK_EQ(weft_chan_close(c[0]), 0);
        CHECK_EQ(pthread_join(thread, NULL), 0);
        weft_chan_unref(c[0]);
        weft_chan_unref(c[1]);
}
