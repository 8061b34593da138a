/* tests/flow/sched/test_record_reuse.c - timers, channels and goroutines with records that are
 * reused again and again: an old object never affects the new object in its record. For descriptors
 * see test_io_storm.c.
 *
 * In check some thousand of each; TEST_LONG=1, as `make stress` sets it: 10^6.
 *
 * test: procs=1,2,4 timeout=600
 * The long form takes minutes.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/sync.h"

#include "base/rand.h"

static uint32_t n_rounds(uint32_t usual)
{
        return getenv("TEST_LONG") ? 1000000 : sched_scale(usual) + 50;
}

/* ---- Timers ---------------------------------------------------------------------------------- */

enum { N_SHOTS = 61, LATEST_NS = 30000 };

/* What a timer is for, and no other timer of the next N_SHOTS. */
struct shot { w_atomic_u32 armed; };

static struct shot  shots[N_SHOTS];
static w_atomic_u32 n_fired;

static void fire(void *arg)
{
        struct shot *s = arg;

        CHECK_MSG(w_load_acq(&s->armed), "shot %d was not due", (int)(s - shots));
        w_add_rlx(&n_fired, 1);
        w_store_rel(&s->armed, 0);
}

/* Now and then it is set anew; then it is stopped, or has fired. 1: it fires. */
static uint32_t arm_and_stop(struct shot *s, uint64_t *rand)
{
        w_store_rel(&s->armed, 1);
        weft_timer *t = weft_timer_new(w_rand_below(rand, LATEST_NS), fire, s);

        CHECK(t);
        if (w_rand_below(rand, 2))
                weft_yield();
        bool fires = true;

        if (w_rand_below(rand, 4) == 0 && weft_timer_stop(t)) {
                CHECK_EQ(weft_timer_reset(t, w_rand_below(rand, LATEST_NS)), 0);
                weft_yield();
        }
        if (weft_timer_stop(t)) {
                w_store_rel(&s->armed, 0);
                fires = false;
        }
        while (w_load_acq(&s->armed))
                weft_yield();
        weft_timer_free(t);
        return fires;
}

GO_TEST(a_timer_never_fires_for_the_timer_before_it)
{
        uint64_t rand = test_seed() | 1;
        uint32_t n_expected = 0;

        w_store_rlx(&n_fired, 0);
        for (uint32_t i = 0; i < n_rounds(5000); i++)
                n_expected += arm_and_stop(&shots[i % N_SHOTS], &rand);
        CHECK_EQ(weft_sleep(2 * LATEST_NS), 0);
        CHECK_EQ(w_load_acq(&n_fired), n_expected);
}

/* ---- Goroutines ------------------------------------------------------------------------------ */

static w_atomic_u32 n_woken;

static void nothing(void *arg)
{
        (void)arg;
}

static void park_once(void *arg)
{
        (void)arg;
        CHECK_EQ(weft_park(), 0);
        w_add_rlx(&n_woken, 1);
}

/* The parked goroutine may have the record, and the stack, of the goroutine that has ended. */
GO_TEST(an_old_id_never_means_a_new_goroutine)
{
        for (uint32_t i = 0; i < n_rounds(5000); i++) {
                int64_t ended = sched_go(nothing, NULL);

                sched_join(ended);
                int64_t parked = sync_go_waiting(park_once, NULL);

                CHECK(parked != ended);
                CHECK_EQ(weft_unpark(ended), -ESRCH);
                CHECK_EQ(weft_join(ended), 0);
                CHECK_EQ(w_load_rlx(&n_woken), i);
                CHECK_EQ(sched_state_of(parked), G_WAITING);
                CHECK_EQ(weft_unpark(parked), 0);
                sched_join(parked);
        }
}

/* ---- Channels -------------------------------------------------------------------------------- */

struct line {
        weft_chan *c;
        uint32_t   tag;
        int64_t    wait;
        uint32_t   n_sent, n_got;
};

static void send_or_leave(void *arg)
{
        struct line *l = arg;
        weft_case    cs[] = { WEFT_SEND(l->c, &l->tag), WEFT_AFTER(l->wait) };

        l->n_sent = weft_select(cs, 2) == 0 && cs[0].result == 0;
        weft_chan_unref(l->c);
}

static void take_or_leave(void *arg)
{
        struct line *l = arg;
        uint32_t     tag = 0;
        weft_case    cs[] = { WEFT_AFTER(LATEST_NS - l->wait), WEFT_RECV(l->c, &tag) };

        l->n_got = weft_select(cs, 2) == 1 && cs[1].result == 0;
        CHECK_MSG(!l->n_got || tag == l->tag, "%u from a channel of %u", tag, l->tag);
        weft_chan_unref(l->c);
}

/* They have left when it is closed, or see the close; the last of the three frees it. */
static void use_channel(uint32_t tag, uint64_t *rand)
{
        struct line l = { .c = weft_chan_new(sizeof(tag), tag % 3), .tag = tag,
                          .wait = w_rand_below(rand, LATEST_NS) };

        CHECK(l.c);
        (void)weft_chan_ref(l.c);
        (void)weft_chan_ref(l.c);
        int64_t sender = sched_go(send_or_leave, &l), taker = sched_go(take_or_leave, &l);

        if (w_rand_below(rand, 2))
                weft_yield();
        if (w_rand_below(rand, 4) == 0)
                CHECK_EQ(weft_chan_close(l.c), 0);
        weft_chan_unref(l.c);
        sched_join(sender);
        sched_join(taker);
        CHECK(l.n_got <= l.n_sent);
}

GO_TEST(a_value_never_comes_out_of_another_channel)
{
        uint64_t rand = test_seed() | 1;

        for (uint32_t i = 1; i <= n_rounds(3000); i++)
                use_channel(i, &rand);
}
