/* tests/flow/chan/test_select_scale.c - select: many cases, much traffic. Long wait queues are in
 * test_queue_cost.c.
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

/* ---- Many cases ------------------------------------------------------------------------------ */

enum { N_CASES = 1500, N_CHANS = 1100 };        /* some channels twice */

struct many {
        weft_chan *c[N_CHANS];
        weft_case  cases[N_CASES];
        int        value, index;
};

static void select_many(void *arg)
{
        struct many *m = arg;

        m->index = weft_select(m->cases, N_CASES);
}

static void main_many(void *arg)
{
        struct many *m = arg;

        for (int i = 0; i < N_CHANS; i++)
                m->c[i] = new_chan(0);
        for (int i = 0; i < N_CASES; i++)
                m->cases[i] = WEFT_RECV(i % 50 == 49 ? NULL : m->c[(i * 7) % N_CHANS], &m->value);
        for (int k = 0; k < 20; k++) {
                int     at = (k * 541) % N_CASES;
                int64_t id = sched_go(select_many, m);

                while (at % 50 == 49)
                        at++;
                sched_await_parked(id);
                CHECK_EQ(weft_chan_send(m->c[(at * 7) % N_CHANS], &k), 0);
                sched_join(id);
                CHECK_EQ(m->value, k);
                CHECK_EQ((m->index * 7) % N_CHANS, (at * 7) % N_CHANS);
                CHECK_EQ(m->cases[m->index].result, 0);
        }
        for (int i = 0; i < N_CHANS; i++)
                weft_chan_unref(m->c[i]);
}

TEST(fifteen_hundred_cases)
{
        static struct many m;

        sched_run(main_many, &m);
}

/* ---- Stress ---------------------------------------------------------------------------------- */

enum { N_STRESS = 4 };
static const size_t stress_caps[N_STRESS] = { 0, 0, 2, 3 };

struct stress {
        weft_chan *c[N_STRESS];
        uint32_t   n;
};

struct stress_end {
        struct stress *s;
        int            which;
};

static void stress_send(void *arg)
{
        struct stress_end *e = arg;
        int                value = e->which;

        for (uint32_t i = 0; i < e->s->n; i++)
                CHECK_EQ(weft_chan_send(e->s->c[e->which], &value), 0);
}

static void stress_recv(void *arg)
{
        struct stress_end *e = arg;
        int                value;

        for (uint32_t i = 0; i < e->s->n; i++) {
                CHECK_EQ(weft_chan_recv(e->s->c[e->which], &value), 0);
                CHECK_EQ(value, e->which);
        }
}

/* All four at once; a case is removed when its channel has all its elements. */
static void stress_select(struct stress *s, bool sends)
{
        uint32_t  left[N_STRESS];
        int       values[N_STRESS];
        weft_case cs[N_STRESS];

        for (int i = 0; i < N_STRESS; i++) {
                left[i] = s->n;
                values[i] = i;
                cs[i] = sends ? WEFT_SEND(s->c[i], &values[i]) : WEFT_RECV(s->c[i], &values[i]);
        }
        for (uint32_t k = 0; k < N_STRESS * s->n; k++) {
                int i = weft_select(cs, N_STRESS);

                CHECK(i >= 0 && left[i] > 0);
                CHECK_EQ(cs[i].result, 0);
                CHECK_EQ(values[i], i);
                if (--left[i] == 0)
                        cs[i] = WEFT_RECV(NULL, NULL);
        }
}

static void stress_select_send(void *s)
{
        stress_select(s, true);
}

static void stress_select_recv(void *s)
{
        stress_select(s, false);
}

GO_TEST(plain_calls_and_selects_on_both_sides)
{
        struct stress     s = { .n = sched_scale(3000) };
        struct stress_end ends[N_STRESS];
        int64_t           ids[2 * N_STRESS + 2];
        int               n = 0;

        for (int i = 0; i < N_STRESS; i++) {
                s.c[i] = new_chan(stress_caps[i]);
                ends[i] = (struct stress_end){ &s, i };
                ids[n++] = sched_go(stress_send, &ends[i]);
                ids[n++] = sched_go(stress_recv, &ends[i]);
        }
        ids[n++] = sched_go(stress_select_send, &s);
        ids[n++] = sched_go(stress_select_recv, &s);
        for (int i = 0; i < n; i++)
                sched_join(ids[i]);
        for (int i = 0; i < N_STRESS; i++) {
                CHECK_EQ(weft_chan_len(s.c[i]), 0);
                weft_chan_unref(s.c[i]);
        }
}
