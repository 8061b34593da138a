/* tests/unit/test_chan.c - the steps under a channel's lock, and the lock order of a select.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/rand.h"
#include "chan/select.h"
#include "chan/step.h"
#include "harness/test.h"

enum { N_WAITERS = 5 };

/* A channel that belongs to no run. */
static struct chan *make(struct chan *c, size_t cap)
{
        *c = (struct chan){ .elem_size = sizeof(int64_t), .cap = cap, .buffer = c->room };
        w_lock_init(&c->lock, W_LOCK_chan);
        w_list_init(&c->receivers.waiting);
        w_list_init(&c->senders.waiting);
        CHECK(cap * sizeof(int64_t) <= W_CHAN_INLINE);
        return c;
}

static struct waiter asleep_waiter(void)
{
        struct waiter w = { .sole = false };

        w_store_rlx(&w.word, W_VERDICT_PARKED);
        return w;
}

TEST(a_buffer_goes_round)
{
        struct chan    c;
        struct waiter *asleep;
        int64_t        in = 0, out = 0, x;

        make(&c, 3);
        for (int round = 0; round < 10; round++) {
                while (w_chan_send_locked(&c, &in, &asleep) == 0)
                        in++;
                CHECK_EQ(in - out, 3);
                CHECK(w_chan_send_would_wait(&c) && !w_chan_recv_would_wait(&c));
                for (int k = 0; k < 1 + round % 3; k++, out++) {
                        CHECK_EQ(w_chan_recv_locked(&c, &x, &asleep), 0);
                        CHECK_EQ(x, out);
                }
                CHECK(!w_chan_send_would_wait(&c));
        }
}

TEST(an_element_goes_to_the_first_waiter_that_still_waits)
{
        struct chan        c;
        struct waiter      w[N_WAITERS], *asleep;
        struct chan_waiter queued[N_WAITERS];
        int64_t            got[N_WAITERS] = { 0 }, seven = 7;

        make(&c, 0);
        for (int i = 0; i < N_WAITERS; i++) {
                w[i] = asleep_waiter();
                queued[i] = (struct chan_waiter){ .waiter = &w[i], .elem = &got[i],
                                                  .verdict = W_VERDICT_OTHER, .rc = -1 };
                w_chan_enqueue(&c.receivers, &queued[i]);
        }
        CHECK_EQ(w_wake_claim(&w[0], W_VERDICT_CANCELED), W_CLAIM_WON);
        CHECK_EQ(w_wake_claim(&w[1], W_VERDICT_TIMEOUT), W_CLAIM_WON);
        w_store_rlx(&w[2].word, W_VERDICT_ARMING);
        CHECK(!w_chan_send_would_wait(&c));
        CHECK_EQ(w_chan_send_locked(&c, &seven, &asleep), 0);
        CHECK(!asleep);                 /* it has not gone to sleep: no thread to wake */
        CHECK(got[0] == 0 && got[1] == 0 && got[2] == 7);
        CHECK_EQ(queued[2].rc, 0);
        CHECK_EQ(w_chan_send_locked(&c, &seven, &asleep), 0);
        CHECK(asleep == &w[3] && got[3] == 7);
        CHECK_EQ(queued[0].rc, -1);
        CHECK_EQ(w_load_rlx(&c.receivers.n), 1);
        for (int i = 0; i < N_WAITERS; i++)        /* waiters that were taken out do no harm */
                w_chan_unlink(&c.receivers, &queued[i]);
        CHECK_EQ(w_load_rlx(&c.receivers.n), 0);
        CHECK(w_chan_send_would_wait(&c));
        CHECK_EQ(w_chan_send_locked(&c, &seven, &asleep), -EAGAIN);
}

TEST(a_waiting_sender_gets_the_room_at_once)
{
        struct chan        c;
        struct waiter      w = asleep_waiter(), *asleep;
        int64_t            values[] = { 1, 2, 3 }, x;
        struct chan_waiter sender = { .waiter = &w, .elem = &values[2],
                                      .verdict = W_VERDICT_OTHER };

        make(&c, 2);
        CHECK_EQ(w_chan_send_locked(&c, &values[0], &asleep), 0);
        CHECK_EQ(w_chan_send_locked(&c, &values[1], &asleep), 0);
        CHECK_EQ(w_chan_send_locked(&c, &values[2], &asleep), -EAGAIN);
        w_chan_enqueue(&c.senders, &sender);
        CHECK_EQ(w_chan_recv_locked(&c, &x, &asleep), 0);
        CHECK(x == 1 && asleep == &w);
        CHECK_EQ(w_load_rlx(&c.n), 2);
        CHECK_EQ(w_chan_recv_locked(&c, &x, &asleep), 0);
        CHECK_EQ(x, 2);
        CHECK_EQ(w_chan_recv_locked(&c, NULL, &asleep), 0);
        CHECK_EQ(w_chan_recv_locked(&c, &x, &asleep), -EAGAIN);
}

TEST(closed_is_drained_first)
{
        struct chan    c;
        struct waiter *asleep;
        int64_t        x = 4;

        make(&c, 1);
        CHECK_EQ(w_chan_send_locked(&c, &x, &asleep), 0);
        w_store_rlx(&c.closed, 1);
        CHECK_EQ(w_chan_send_locked(&c, &x, &asleep), -EPIPE);
        x = 0;
        CHECK_EQ(w_chan_recv_locked(&c, &x, &asleep), 0);
        CHECK_EQ(x, 4);
        CHECK(!w_chan_recv_would_wait(&c) && !w_chan_send_would_wait(&c));
        CHECK_EQ(w_chan_recv_locked(&c, &x, &asleep), -EPIPE);
        CHECK_EQ(x, 0);
}

/* ---- The lock order -------------------------------------------------------------------------- */

static struct chan chans[64];

static void sort_case(uint32_t n, uint64_t *rand)
{
        static weft_case cases[200];
        struct select    s = { .cases = cases, .n = n };
        bool             seen[200] = { false };

        for (uint32_t i = 0; i < n; i++) {
                struct chan *c = &chans[w_rand_below(rand, 64)];
                bool         none = w_rand_below(rand, 8) == 0;

                cases[i] = WEFT_RECV(none ? NULL : (void *)c, NULL);
                s.n_chans += !none;
        }
        w_select_sort(&s);
        for (uint32_t k = 0; k < s.n_chans; k++) {
                uint32_t at = w_case_of(&cases[k])->order;

                CHECK(at < n && !seen[at] && w_case_of(&cases[at])->chan);
                seen[at] = true;
                if (k > 0)
                        CHECK(w_case_of(&cases[at])->chan >=
                              w_case_of(&cases[w_case_of(&cases[k - 1])->order])->chan);
        }
        w_select_lock_all(&s);
        for (uint32_t i = 0; i < n; i++)
                if (w_case_of(&cases[i])->chan)
                        CHECK(!w_lock_try(&w_case_of(&cases[i])->chan->lock));
        w_select_unlock_all(&s);
        for (uint32_t i = 0; i < 64; i++) {
                CHECK(w_lock_try(&chans[i].lock));
                w_unlock(&chans[i].lock);
        }
}

TEST(every_case_has_one_position_in_address_order)
{
        uint64_t rand = test_seed();

        for (int i = 0; i < 64; i++)
                make(&chans[i], 1);
        for (uint32_t n = 0; n <= 200; n += n < 40 ? 1 : 13)
                sort_case(n, &rand);
}
