/* tests/explore/ring.c - PROTOCOL runq with four slots: nothing lost, nothing doubled, everything
 * handed over properly. Whether "empty" is true is asked in ring_empty.c.
 *
 * A goroutine is here an object with ordinary content. It is written before it is put in and read
 * by the thread that takes it out, so that the race check sees whether the queue hands it over.
 * Goroutine i goes to position START + i, and START makes positions wrap around 2^32 in the middle.
 *
 * SPDX-License-Identifier: MIT
 */
#include "scenarios.h"

#include "../lib/runq_pop.h"

#include <string.h>

#define START (UINT32_MAX - 1)

struct g {
        int content;
};

enum { N_G = 8 };

static struct runq   q, thief_q;
static struct g      gs[N_G];
static int           n_made, n_taken[N_G];
static w_atomic_u32  n_in_ring;

static struct g *make(void)
{
        struct g *gp = &gs[n_made++];

        w_plain_store(&gp->content, n_made);
        return gp;
}

static void take(struct g *gp)
{
        EXPLORE_CHECK(gp >= gs && gp < gs + n_made);
        EXPLORE_CHECK(w_plain_load(&gp->content) == gp - gs + 1);
        n_taken[gp - gs]++;
}

static void push(void)
{
        EXPLORE_CHECK(w_runq_push(&q, make()) == NULL);
}

static void pop(void)
{
        struct g *gp = runq_pop(&q);

        if (gp)
                take(gp);
}

static void drain(struct runq *from)
{
        for (struct g *gp; (gp = runq_pop(from));)
                take(gp);
        EXPLORE_CHECK(w_runq_is_empty(from));
}

/* ---- Before and after ------------------------------------------------------------------------ */

static void setup(int n)
{
        memset(&q, 0, sizeof(q));
        memset(&thief_q, 0, sizeof(thief_q));
        memset(n_taken, 0, sizeof(n_taken));
        q.head.raw = q.tail.raw = START;
        n_made = 0;
        for (int i = 0; i < n; i++)
                push();
}

static void setup_0(void) { setup(0); }
static void setup_2(void) { setup(2); }
static void setup_3(void) { setup(3); }
static void setup_4(void) { setup(4); }

static void setup_next(void)
{
        setup(0);
        EXPLORE_CHECK(w_runq_push_next(&q, make()) == NULL);
}

static void setup_next_full(void)
{
        setup(4);
        EXPLORE_CHECK(w_runq_push_next(&q, make()) == NULL);
}

static int all_once(void)
{
        drain(&q);
        drain(&thief_q);
        for (int i = 0; i < n_made; i++)
                EXPLORE_CHECK(n_taken[i] == 1);
        return 0;
}

/* ---- Parties --------------------------------------------------------------------------------- */

static void claim(const struct g *gp)
{
        w_explore_claimed(&q.slots[(START + (uint32_t)(gp - gs)) % W_RUNQ_CAP].raw);
}

enum { SPARE = W_RUNQ_CAP };    /* after the maximum of a grab: stays untouched */

static void grab(enum runq_grab how)
{
        struct g *out[W_RUNQ_HALF + SPARE] = { NULL };
        uint32_t  n = w_runq_grab(&q, out, how);

        for (uint32_t i = W_RUNQ_HALF; i < W_RUNQ_HALF + SPARE; i++)
                EXPLORE_CHECK(!out[i]);
        for (uint32_t i = 0; i < n; i++) {
                take(out[i]);
                if (how == W_GRAB_RING)
                        claim(out[i]);
        }
}

static void thief(void)      { grab(W_GRAB_RING); }
static void thief_next(void) { grab(W_GRAB_NEXT_TOO); }
static void thief_twice(void) { thief(); thief(); }

static void stealer(void)
{
        struct g *gp = w_runq_steal(&thief_q, &q, W_GRAB_RING);

        if (!gp)
                return;
        take(gp);
        if ((gp = runq_pop(&thief_q)))
                take(gp);
}

static void push_push(void)     { push(); push(); }
static void push_pop(void)      { push(); pop(); }
static void pop_pop(void)       { pop(); pop(); }
static void pop_push_push(void) { pop(); push(); push(); }

static void push_batch(void)
{
        struct g *batch[3] = { make(), make(), make() };
        uint32_t  n = w_runq_push_batch(&q, batch, 3);

        for (uint32_t i = n; i < 3; i++)
                take(batch[i]);
        pop();
}

static void spill(struct g *gp)
{
        struct g *out[W_RUNQ_SPILL];
        uint32_t  n = gp ? w_runq_spill(&q, gp, out) : 0;

        EXPLORE_CHECK(n == 0 || n == W_RUNQ_SPILL);
        for (uint32_t i = 0; i < n; i++)
                take(out[i]);
}

static void overflow(void)      { spill(w_runq_push(&q, make())); pop(); }
static void overflow_next(void) { spill(w_runq_push_next(&q, make())); pop(); }
static void fill_overflow(void) { push_push(); push_push(); overflow(); }
static void push_next_pop(void) { overflow_next(); pop(); }
static void pop_push_next(void) { pop(); overflow_next(); }

/* Fills the slots that the thief is about to copy from, if it may. */
static void refill(void)
{
        for (int i = 0; i < 2; i++) {
                struct g *gp = make();

                if (w_runq_push(&q, gp))
                        take(gp);
        }
}

/* Half is rounded up, whatever the ring holds, and at most half the ring. */
static void count_after_push(void)
{
        push();
        w_store_rel(&n_in_ring, 1);
}

static void thief_counts(void)
{
        struct g *out[W_RUNQ_HALF];
        bool      three = w_load_acq(&n_in_ring);
        uint32_t  n = w_runq_grab(&q, out, W_GRAB_RING);

        EXPLORE_CHECK(three ? n == 2 : n == 1 || n == 2);
        for (uint32_t i = 0; i < n; i++) {
                EXPLORE_CHECK(out[i] == &gs[i]);
                take(out[i]);
        }
}

static void setup_count(void)
{
        setup(2);
        n_in_ring.raw = 0;
}

const struct explore_scenario ring_scenarios[] = {
        { "ring-push-grab", "the owner pushes and pops, a thief grabs",
          { { "owner", push_pop }, { "thief", thief } }, setup_2, all_once, .bound = ANY },
        { "ring-pop-grab", "the owner pops to the end, a thief grabs",
          { { "owner", pop_pop }, { "thief", thief } }, setup_3, all_once, .bound = ANY },
        { "ring-wrap", "the owner reuses slots that a thief copies",
          { { "owner", pop_push_push }, { "thief", thief_twice } }, setup_2, all_once, .bound = 6 },
        { "ring-refill", "the owner overwrites what a thief has just claimed",
          { { "owner", refill }, { "thief", thief } }, setup_4, all_once, .bound = ANY },
        { "ring-two-thieves", "two thieves against each other and the owner",
          { { "owner", push_pop }, { "thief1", thief }, { "thief2", thief } }, setup_2, all_once,
          .bound = 3 },
        { "ring-steal", "a thief steals into its own ring",
          { { "owner", push_pop }, { "thief", stealer } }, setup_2, all_once, .bound = 6 },
        { "ring-half", "a grab takes half, rounded up, the oldest first",
          { { "owner", count_after_push }, { "thief", thief_counts } }, setup_count, all_once,
          .bound = ANY },
        { "ring-batch", "a batch is published while a thief grabs",
          { { "owner", push_batch }, { "thief", thief } }, setup_2, all_once, .bound = ANY },
        { "ring-batch-start", "a batch is published in an empty ring",
          { { "owner", push_batch }, { "thief", thief_twice } }, setup_0, all_once,
          .bound = ANY },
        { "ring-overflow", "the owner spills half of a full ring, a thief grabs",
          { { "owner", overflow }, { "thief", thief } }, setup_4, all_once, .bound = ANY },
        { "ring-overflow-thieves", "the same with two thieves",
          { { "owner", overflow }, { "thief1", thief }, { "thief2", thief } }, setup_4, all_once,
          .bound = 3 },
        { "ring-overflow-next", "`next` is displaced into a full ring",
          { { "owner", overflow_next }, { "thief", thief } }, setup_next_full, all_once,
          .bound = ANY },
        { "ring-next", "`next` is displaced and taken, a thief wants it too",
          { { "owner", push_next_pop }, { "thief", thief_next } }, setup_next, all_once,
          .bound = ANY },
        { "ring-next-pop", "`next` is taken and filled again, a thief wants it too",
          { { "owner", pop_push_next }, { "thief", thief_next } }, setup_next, all_once,
          .bound = ANY },
        { "ring-next-thieves", "two thieves want one `next`",
          { { "owner", push_next_pop }, { "thief1", thief_next }, { "thief2", thief_next } },
          setup_next, all_once, .bound = 3 },
        { "ring-start", "an empty ring is filled under a thief's eyes",
          { { "owner", push_push }, { "thief", thief_twice } }, setup_0, all_once, .bound = ANY },
        { "ring-fill-overflow", "an empty ring is filled and spilled under a thief's eyes",
          { { "owner", fill_overflow }, { "thief", thief } }, setup_0, all_once, .bound = 3 },
        { .name = NULL },
};
