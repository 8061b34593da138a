/* tests/flow/chan/test_chan_fair.c - channels and the scheduler: no goroutine starves.
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

/* ---- A goroutine that asks and yields -------------------------------------------------------- */

static void ask_and_yield(void *c)
{
        weft_case cs[] = { WEFT_RECV(c, NULL), WEFT_DEFAULT };

        while (weft_select(cs, 2) == 1)
                weft_yield();
}

GO_TEST(a_goroutine_that_asks_and_yields_gets_the_answer)
{
        weft_chan *c = new_chan(0);
        int64_t    id = sched_go(ask_and_yield, c);

        CHECK_EQ(weft_sleep(WEFT_MS(10)), 0);
        CHECK_EQ(weft_chan_send(c, &(int){ 1 }), 0);
        sched_join(id);
        weft_chan_unref(c);
}

/* ---- Two pairs, one of which works a thousand times as much per hop -------------------------- */

struct pair {
        weft_chan   *there, *back;
        uint32_t     work_per_hop;
        w_atomic_u64 work;
};

enum { HOPS = 200 };

static w_atomic_u32 stop;

static void do_work(struct pair *h)
{
        for (volatile uint32_t i = 0; i < h->work_per_hop; i++)
                continue;
        w_add_rlx(&h->work, h->work_per_hop);
}

static void ping(void *arg)
{
        struct pair *h = arg;
        int          x = 0;

        while (!w_load_acq(&stop)) {
                do_work(h);
                if (weft_chan_send(h->there, &x) < 0 || weft_chan_recv(h->back, &x) < 0)
                        break;
        }
        (void)weft_chan_close(h->there);
}

static void pong(void *arg)
{
        struct pair *h = arg;
        int          x = 0;

        while (weft_chan_recv(h->there, &x) == 0) {
                do_work(h);
                CHECK_EQ(weft_chan_send(h->back, &x), 0);
        }
}

static uint64_t hops_of(struct pair *h)
{
        return w_load_acq(&h->work) / h->work_per_hop;
}

GO_TEST(a_pair_that_works_more_per_hop_does_not_starve_the_other)
{
        struct pair pairs[2] = { { .work_per_hop = 20000 }, { .work_per_hop = 20 } };
        int64_t     ids[4];

        for (int i = 0; i < 2; i++) {
                pairs[i].there = new_chan(0);
                pairs[i].back = new_chan(0);
                ids[2 * i] = sched_go(pong, &pairs[i]);
                ids[2 * i + 1] = sched_go(ping, &pairs[i]);
        }
        while (hops_of(&pairs[0]) < HOPS || hops_of(&pairs[1]) < HOPS)
                CHECK_EQ(weft_sleep(WEFT_MS(1)), 0);
        uint64_t heavy = hops_of(&pairs[0]), light = hops_of(&pairs[1]);

        w_store_rel(&stop, 1);
        for (int i = 0; i < 4; i++)
                sched_join(ids[i]);
        /* A turn is a hop: with one P the lighter pair gets about as many. With more Ps the kernel
         * decides, too. */
        CHECK_MSG(sched_procs() > 1 || light > heavy / 20, "%llu heavy hops, %llu light ones",
                  (unsigned long long)heavy, (unsigned long long)light);
        for (int i = 0; i < 2; i++) {
                weft_chan_unref(pairs[i].there);
                weft_chan_unref(pairs[i].back);
        }
}
