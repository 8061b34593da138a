/* tests/flow/chan/test_chan_linear.c - random histories of channel and select calls against a
 * model.
 *
 * A few goroutines make a few random calls each on two channels. Every call is stamped with a
 * counter before and after. Afterwards a search looks for an order of the calls that respects the
 * stamps and in which a plain sequential channel gives the same results. If there is none, the
 * channels are not linearizable. Calls that wait are tried with the state at one moment too, since
 * a send and the receive that it meets happen together.
 *
 * test: procs=1,2,4
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/sched.h"

#include "base/rand.h"

#include <string.h>

enum { N_ACTORS = 3, N_OPS = 4, N_CALLS = N_ACTORS * N_OPS, N_CHANS = 2, MAX_CAP = 2 };

enum op_kind {
        OP_TRY_SEND, OP_TRY_RECV, OP_CLOSE, OP_SELECT_DEFAULT, OP_SEND, OP_RECV, N_OP_KINDS
};

/* What a call did to one channel in the end: a select counts as the case that it chose. */
struct call {
        enum op_kind kind;
        int          chan;              /* the first; a select's second case is on the other */
        bool         sends[2];          /* of a select: the kinds of its two cases */
        int          chosen;            /* of a select: 0, 1, or 2 for the default */
        int          rc, value;
        uint32_t     begin, end;
};

struct model {
        int  queue[N_CHANS][MAX_CAP], n[N_CHANS], cap[N_CHANS];
        bool closed[N_CHANS];
};

struct history {
        weft_chan   *c[N_CHANS];
        int          caps[N_CHANS];
        struct call  calls[N_ACTORS][N_OPS];
        w_atomic_u32 clock;
        uint64_t     seed;
};

struct actor {
        struct history *h;
        int             me;
};

/* ---- Making one ------------------------------------------------------------------------------ */

static void do_select(struct history *h, struct call *call)
{
        int       got[2] = { -1, -1 };
        weft_case cs[3];

        for (int i = 0; i < 2; i++) {
                weft_chan *c = h->c[(call->chan + i) % N_CHANS];

                cs[i] = call->sends[i] ? WEFT_SEND(c, &call->value) : WEFT_RECV(c, &got[i]);
        }
        cs[2] = WEFT_DEFAULT;
        call->chosen = weft_select(cs, 3);
        CHECK(call->chosen >= 0 && call->chosen <= 2);
        call->rc = cs[call->chosen].result;
        if (call->chosen < 2 && !call->sends[call->chosen])
                call->value = got[call->chosen];
}

static void do_call(struct history *h, struct call *call)
{
        weft_chan *c = h->c[call->chan];

        call->begin = w_add_acqrel(&h->clock, 1);
        switch (call->kind) {
        case OP_TRY_SEND: call->rc = weft_chan_try_send(c, &call->value); break;
        case OP_TRY_RECV: call->rc = weft_chan_try_recv(c, &call->value); break;
        case OP_CLOSE: call->rc = weft_chan_close(c); break;
        case OP_SELECT_DEFAULT: do_select(h, call); break;
        case OP_SEND: call->rc = weft_chan_send(c, &call->value); break;
        default: call->rc = weft_chan_recv(c, &call->value); break;
        }
        call->end = w_add_acqrel(&h->clock, 1);
}

static void act(void *arg)
{
        struct actor *a = arg;
        uint64_t      rand = a->h->seed + (uint64_t)a->me;

        for (int i = 0; i < N_OPS; i++) {
                struct call *call = &a->h->calls[a->me][i];
                uint32_t     dice = w_rand_below(&rand, 20);

                call->kind = dice < 5 ? OP_TRY_SEND : dice < 10 ? OP_TRY_RECV :
                             dice < 14 ? OP_SELECT_DEFAULT : dice < 16 ? OP_SEND :
                             dice < 18 ? OP_RECV : OP_CLOSE;
                call->chan = (int)w_rand_below(&rand, N_CHANS);
                call->sends[0] = w_rand_below(&rand, 2);
                call->sends[1] = w_rand_below(&rand, 2);
                call->value = 100 * (a->me + 1) + i;
                call->end = UINT32_MAX;
                do_call(a->h, call);
                if (w_rand_below(&rand, 3) == 0)
                        weft_yield();
        }
}

/* ---- The model ------------------------------------------------------------------------------- */

/* A call on one channel that needs no partner: does the model give the same result? */
static bool alone(struct model *m, int c, bool sends, int rc, int value)
{
        if (sends) {
                if (m->closed[c])
                        return rc == -EPIPE;
                if (m->n[c] == m->cap[c] || rc != 0)
                        return false;
                m->queue[c][m->n[c]++] = value;
                return true;
        }
        if (m->n[c] > 0) {
                if (rc != 0 || m->queue[c][0] != value)
                        return false;
                memmove(m->queue[c], m->queue[c] + 1, (size_t)--m->n[c] * sizeof(int));
                return true;
        }
        return m->closed[c] && rc == -EPIPE && value == 0;
}

static bool must_wait(const struct model *m, int c, bool sends)
{
        return !m->closed[c] && (sends ? m->n[c] == m->cap[c] : m->n[c] == 0);
}

/* The channel and direction that a call used; false: none. */
static bool came_down_to(const struct call *call, int *c, bool *sends)
{
        *c = call->chan;
        switch (call->kind) {
        case OP_SELECT_DEFAULT:
                if (call->chosen == 2)
                        return false;
                *c = (call->chan + call->chosen) % N_CHANS;
                *sends = call->sends[call->chosen];
                return true;
        case OP_CLOSE:
                return false;
        default:
                *sends = call->kind == OP_TRY_SEND || call->kind == OP_SEND;
                return call->rc != -EAGAIN;
        }
}

static bool apply(struct model *m, const struct call *call)
{
        int  c;
        bool sends = false;

        if (came_down_to(call, &c, &sends))
                return alone(m, c, sends, call->rc, call->value);
        switch (call->kind) {
        case OP_CLOSE:
                if (m->closed[c])
                        return call->rc == -EPIPE;
                m->closed[c] = true;
                return call->rc == 0;
        case OP_SELECT_DEFAULT:
                return must_wait(m, call->chan, call->sends[0]) &&
                       must_wait(m, (call->chan + 1) % N_CHANS, call->sends[1]);
        default:
                return must_wait(m, c, call->kind == OP_TRY_SEND);
        }
}

/* A send and a receive that meet: one of them waited, so nothing else was possible then. */
static bool meet(const struct model *m, const struct call *s, const struct call *r)
{
        int  c, d;
        bool sends = false, other = true;

        if (!came_down_to(s, &c, &sends) || !came_down_to(r, &d, &other) || !sends || other)
                return false;
        return c == d && s->rc == 0 && r->rc == 0 && s->value == r->value && !m->closed[c] &&
               m->n[c] == 0;
}

/* ---- The search ------------------------------------------------------------------------------ */

struct search {
        const struct history *h;
        uint64_t              n_steps;
};

/* May this call be the next? Not if another remaining call has ended before it began. */
static bool may_be_next(const struct history *h, const int at[N_ACTORS], int actor)
{
        const struct call *call = &h->calls[actor][at[actor]];

        for (int i = 0; i < N_ACTORS; i++)
                if (i != actor && at[i] < N_OPS && h->calls[i][at[i]].end < call->begin)
                        return false;
        return true;
}

static bool explains(struct search *s, struct model m, int at[N_ACTORS]);

static bool try_pairs(struct search *s, const struct model *m, int at[N_ACTORS], int a)
{
        for (int b = 0; b < N_ACTORS; b++) {
                if (b == a || at[b] == N_OPS || !may_be_next(s->h, at, b) ||
                    !meet(m, &s->h->calls[a][at[a]], &s->h->calls[b][at[b]]))
                        continue;
                at[a]++;
                at[b]++;
                if (explains(s, *m, at))
                        return true;
                at[a]--;
                at[b]--;
        }
        return false;
}

static bool explains(struct search *s, struct model m, int at[N_ACTORS])
{
        bool all = true;

        CHECK(s->n_steps++ < 50000000);
        for (int a = 0; a < N_ACTORS; a++) {
                if (at[a] == N_OPS)
                        continue;
                all = false;
                if (!may_be_next(s->h, at, a))
                        continue;
                struct model next = m;

                if (apply(&next, &s->h->calls[a][at[a]])) {
                        at[a]++;
                        if (explains(s, next, at))
                                return true;
                        at[a]--;
                }
                if (try_pairs(s, &m, at, a))
                        return true;
        }
        return all;
}

static bool is_linear(const struct history *h)
{
        struct search s = { .h = h };
        struct model  m = { .cap = { h->caps[0], h->caps[1] } };
        int           at[N_ACTORS] = { 0 };

        return explains(&s, m, at);
}

static void print(const struct history *h)
{
        static const char *const names[N_OP_KINDS] = { "try_send", "try_recv", "close", "select",
                                                       "send", "recv" };

        fprintf(stderr, "capacities %d and %d, seed %llu\n", h->caps[0], h->caps[1],
                (unsigned long long)h->seed);
        for (int a = 0; a < N_ACTORS; a++)
                for (int i = 0; i < N_OPS; i++) {
                        const struct call *call = &h->calls[a][i];

                        fprintf(stderr, "  %d: %u..%u %s(%d) %s%s chose %d: %d, value %d\n", a,
                                call->begin, call->end, names[call->kind], call->chan,
                                call->sends[0] ? "s" : "r", call->sends[1] ? "s" : "r",
                                call->chosen, call->rc, call->value);
                }
}

/* ---- Histories ------------------------------------------------------------------------------- */

/* True: the history was searched. */
static bool one_history(uint64_t seed)
{
        struct history h = { .seed = seed };
        struct actor   actors[N_ACTORS];
        int64_t        ids[N_ACTORS];
        weft_case      done[N_ACTORS + 1];
        int            left = N_ACTORS;
        uint64_t       rand = seed;

        for (int i = 0; i < N_CHANS; i++) {
                h.caps[i] = (int)w_rand_below(&rand, MAX_CAP + 1);
                h.c[i] = weft_chan_new(sizeof(int), (size_t)h.caps[i]);
        }
        for (int i = 0; i < N_ACTORS; i++) {
                actors[i] = (struct actor){ &h, i };
                ids[i] = sched_go(act, &actors[i]);
                done[i] = WEFT_JOIN(ids[i]);
        }
        /* A close releases calls that wait for a partner that does not come. The close acts as one
         * more party, so such a history is not searched. */
        bool released = false;

        done[N_ACTORS] = WEFT_AFTER(WEFT_MS(1));
        while (left > 0) {
                int i = weft_select(done, N_ACTORS + 1);

                if (i < N_ACTORS) {
                        done[i] = WEFT_RECV(NULL, NULL);
                        left--;
                } else {
                        released = true;
                        (void)weft_chan_close(h.c[0]);
                        (void)weft_chan_close(h.c[1]);
                }
        }
        if (!released && !is_linear(&h)) {
                print(&h);
                CHECK_MSG(false, "no order of these calls explains the results");
        }
        for (int i = 0; i < N_CHANS; i++)
                weft_chan_unref(h.c[i]);
        return !released;
}

GO_TEST(every_history_is_explained_by_some_order)
{
        uint64_t seed = test_seed();
        uint32_t n = sched_scale(3000), n_seen = 0;

        for (uint32_t i = 0; i < n; i++)
                n_seen += one_history(seed + 1000 * i);
        CHECK_MSG(n_seen >= n / 4, "only %u of %u histories were searched", n_seen, n);
}

/* The search can say no. */
TEST(an_impossible_history_is_refused)
{
        static struct history h;

        h.caps[0] = h.caps[1] = 1;
        for (int a = 0; a < N_ACTORS; a++)
                for (int i = 0; i < N_OPS; i++)
                        h.calls[a][i] = (struct call){ .kind = OP_TRY_RECV, .rc = -EAGAIN,
                                                       .begin = (uint32_t)(10 * i),
                                                       .end = (uint32_t)(10 * i + 5) };
        CHECK(is_linear(&h));
        h.calls[0][0] = (struct call){ .kind = OP_SEND, .value = 5, .begin = 0, .end = 5 };
        CHECK(!is_linear(&h));                  /* sent, and never received */
        h.calls[1][3].rc = 0;
        h.calls[1][3].value = 5;
        CHECK(!is_linear(&h));                  /* received late; earlier calls found nothing */
        h.calls[1][0].rc = 0;
        h.calls[1][0].value = 5;
        h.calls[1][3].rc = -EAGAIN;
        CHECK(is_linear(&h));
        h.calls[1][0].value = 6;
        CHECK(!is_linear(&h));                  /* another value */
}
