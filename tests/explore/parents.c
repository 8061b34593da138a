/* tests/explore/parents.c - PROTOCOL parents with two slots: each parent is taken once, and
 * handed over.
 *
 * SPDX-License-Identifier: MIT
 */
#include "scenarios.h"

#include "sched/queue/parents.h"

#include <string.h>

struct g {
        int content;
};

enum { N_G = 4 };

static struct parents ps;
static struct g       gs[N_G];
static int            n_made, n_taken[N_G];
static w_atomic_u32   pushed;

static void take(struct g *gp)
{
        if (!gp)
                return;
        EXPLORE_CHECK(gp >= gs && gp < gs + n_made);
        EXPLORE_CHECK(w_plain_load(&gp->content) == gp - gs + 1);
        n_taken[gp - gs]++;
}

static void push(void)
{
        struct g *gp = &gs[n_made++];

        w_plain_store(&gp->content, n_made);
        if (!w_parents_push(&ps, gp))
                take(gp);
}

static void pop(void)   { take(w_parents_pop(&ps)); }
static void thief(void) { take(w_parents_take_oldest(&ps)); }

static void setup(void)
{
        memset(&ps, 0, sizeof(ps));
        memset(n_taken, 0, sizeof(n_taken));
        n_made = 0;
        pushed.raw = 0;
}

static void setup_1(void) { setup(); push(); }
static void setup_2(void) { setup(); push(); push(); }

static int all_once(void)
{
        for (struct g *gp; (gp = w_parents_pop(&ps));)
                take(gp);
        for (int i = 0; i < n_made; i++)
                EXPLORE_CHECK(n_taken[i] == 1);
        EXPLORE_CHECK(w_parents_is_empty(&ps));
        return 0;
}

static void push_pop(void)      { push(); pop(); }
static void pop_push(void)      { pop(); push(); }
static void push_push(void)     { push(); push(); }
static void pop_pop(void)       { pop(); pop(); }
static void thief_twice(void)   { thief(); thief(); }

static void push_notify(void)
{
        push();
        w_store_rel(&pushed, 1);
}

/* An onlooker that knows of a parent must not find the stack empty. */
static void onlooker(void)
{
        if (w_load_acq(&pushed))
                EXPLORE_CHECK(!w_parents_is_empty(&ps));
}

/* An onlooker that reads the new top must see the parent below it. */
static void top_reader(void)
{
        if (w_load_acq(&ps.top) == 1)
                EXPLORE_CHECK(w_load_rlx(&ps.slots[0]));
}

const struct explore_scenario parents_scenarios[] = {
        { "parents-push-take", "the owner pushes and pops, a thief takes",
          { { "owner", push_pop }, { "thief", thief_twice } }, setup_1, all_once, .bound = ANY },
        { "parents-pop-take", "the owner pops to the end, a thief takes",
          { { "owner", pop_pop }, { "thief", thief } }, setup_2, all_once, .bound = ANY },
        { "parents-refill", "the owner refills a slot that a thief reads",
          { { "owner", pop_push }, { "thief", thief_twice } }, setup_2, all_once, .bound = ANY },
        { "parents-overflow", "the owner pushes more than there is room for",
          { { "owner", push_push }, { "thief", thief } }, setup_1, all_once, .bound = ANY },
        { "parents-two-thieves", "two thieves against each other and the owner",
          { { "owner", push_pop }, { "thief1", thief }, { "thief2", thief } }, setup_1, all_once,
          .bound = 4 },
        { "parents-known", "an onlooker that knows of a parent",
          { { "owner", push_notify }, { "onlooker", onlooker } }, setup, all_once, .bound = ANY },
        { "parents-top", "the top is never ahead of its slot",
          { { "owner", push }, { "onlooker", top_reader } }, setup, all_once, .bound = ANY },
        { .name = NULL },
};
