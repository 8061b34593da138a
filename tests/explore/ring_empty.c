/* tests/explore/ring_empty.c - w_runq_is_empty is never true for a queue with a goroutine.
 *
 * In every scenario at least one goroutine is in the queue at every moment.
 *
 * SPDX-License-Identifier: MIT
 */
#include "scenarios.h"

#include "../lib/runq_pop.h"

#include <string.h>

struct g {
        int unused;
};

static struct runq  q;
static struct g     gs[4];
static w_atomic_u32 pushed;

static void setup_next(void)
{
        memset(&q, 0, sizeof(q));
        pushed.raw = 0;
        EXPLORE_CHECK(w_runq_push_next(&q, &gs[0]) == NULL);
}

static void setup_ring(void)
{
        memset(&q, 0, sizeof(q));
        pushed.raw = 0;
        EXPLORE_CHECK(w_runq_push(&q, &gs[0]) == NULL);
}

static void pop(void)
{
        EXPLORE_CHECK(runq_pop(&q));
}

static void push_next_pop(void)
{
        EXPLORE_CHECK(w_runq_push_next(&q, &gs[1]) == NULL);
        pop();
}

static void push_pop(void)
{
        EXPLORE_CHECK(w_runq_push(&q, &gs[1]) == NULL);
        pop();
}

static void push_pop_twice(void)
{
        push_pop();
        EXPLORE_CHECK(w_runq_push_next(&q, &gs[2]) == NULL);
        pop();
}

static void push_notify(void)
{
        EXPLORE_CHECK(w_runq_push(&q, &gs[1]) == NULL);
        w_store_rel(&pushed, 1);
}

/* Takes a goroutine if there are two, never the only one. */
static void thief_notified(void)
{
        struct g *out[W_RUNQ_HALF];

        if (w_load_acq(&pushed))
                EXPLORE_CHECK(w_runq_grab(&q, out, W_GRAB_RING) == 1);
}

static void onlooker(void)
{
        EXPLORE_CHECK(!w_runq_is_empty(&q));
}

static int len_is_one(void)
{
        EXPLORE_CHECK(w_runq_len_hint(&q) == 1);
        return 0;
}

const struct explore_scenario ring_empty_scenarios[] = {
        { "ring-empty-next", "`next` is displaced into the ring and its successor taken",
          { { "owner", push_next_pop }, { "onlooker", onlooker } }, setup_next, len_is_one,
          .bound = ANY },
        { "ring-empty-push", "one is pushed to the ring and `next` taken",
          { { "owner", push_pop }, { "onlooker", onlooker } }, setup_next, len_is_one,
          .bound = ANY },
        { "ring-empty-ring", "one is pushed and an older one popped",
          { { "owner", push_pop }, { "onlooker", onlooker } }, setup_ring, len_is_one,
          .bound = ANY },
        { "ring-empty-twice", "ring and `next` take turns",
          { { "owner", push_pop_twice }, { "onlooker", onlooker } }, setup_next, len_is_one,
          .bound = ANY },
        { "ring-empty-thief", "one is pushed, then a thief takes an older one",
          { { "owner", push_notify }, { "thief", thief_notified }, { "onlooker", onlooker } },
          setup_ring, .bound = ANY },
        { .name = NULL },
};
