/* tests/sim/scenario_sched_park.c - PROTOCOL park and PROTOCOL park-unpark with the whole
 * scheduler.
 *
 * Two rings of goroutines hand a baton round by unpark; others wait for tokens from several givers,
 * which may come before the park, with it or after it. A wake that is lost ends in a deadlock, a
 * wake without a cause finds the baton elsewhere.
 *
 * test: seeds=quarter
 *
 * SPDX-License-Identifier: MIT
 */
#include "sim/sched_world.h"

enum { N_RINGS = 2, RING = 3, ROUNDS = 4, N_GIVERS = 3, GIVES = 4 };

/* ---- A baton --------------------------------------------------------------------------------- */

struct ring {
        int64_t  ids[RING];
        uint32_t at;                    /* plain: handed over by the tokens */
};

struct runner {
        struct ring *ring;
        uint32_t     index;
};

static struct ring   rings[N_RINGS];
static struct runner runners[N_RINGS][RING];

static void unpark(int64_t id)
{
        int rc = weft_unpark(id);

        SIM_CHECK(rc == 0, "unpark of %ld returned %d", (long)id, rc);
}

static void runner(void *arg)
{
        struct runner *me = arg;
        struct ring   *ring = me->ring;

        for (uint32_t round = 0; round < ROUNDS; round++) {
                weft_park();
                SIM_CHECK(w_plain_load(&ring->at) == round * RING + me->index,
                          "runner %u wakes with the baton at %u", me->index, ring->at);
                w_plain_store(&ring->at, ring->at + 1);
                if (round + 1 < ROUNDS || me->index + 1 < RING)
                        unpark(ring->ids[(me->index + 1) % RING]);
                if (sim_random(4) == 0)
                        weft_yield();
        }
}

static void start_ring(uint32_t r)
{
        rings[r].at = 0;
        for (uint32_t i = 0; i < RING; i++) {
                runners[r][i] = (struct runner){ &rings[r], i };
                rings[r].ids[i] = sched_go(runner, &runners[r][i]);
        }
        unpark(rings[r].ids[0]);
}

/* ---- Several givers -------------------------------------------------------------------------- */

static w_atomic_u32 n_given, n_done;
static int64_t      taker_id;

static void giver(void *arg)
{
        (void)arg;
        for (uint32_t i = 0; i < GIVES; i++) {
                w_add_rlx(&n_given, 1);
                unpark(taker_id);
                if (sim_random(3) == 0)
                        weft_yield();
        }
        w_add_rlx(&n_done, 1);
}

/* A token that comes while it does not park stays: it never parks in vain. */
static void taker(void *arg)
{
        (void)arg;
        while (w_load_rlx(&n_given) < N_GIVERS * GIVES)
                weft_park();
        while (w_load_rlx(&n_done) < N_GIVERS)
                weft_yield();
}

static void first(void *arg)
{
        int64_t givers[N_GIVERS];

        (void)arg;
        for (uint32_t r = 0; r < N_RINGS; r++)
                start_ring(r);
        w_store_rlx(&n_given, 0);
        w_store_rlx(&n_done, 0);
        taker_id = weft_go(taker, NULL);
        for (uint32_t i = 0; i < N_GIVERS; i++)
                givers[i] = weft_go(giver, NULL);
        for (uint32_t i = 0; i < N_GIVERS; i++)
                sched_join(givers[i]);
        sched_join(taker_id);
        for (uint32_t r = 0; r < N_RINGS; r++)
                for (uint32_t i = 0; i < RING; i++)
                        sched_join(rings[r].ids[i]);
        SIM_CHECK(weft_count() == 1, "%ld goroutines are left", (long)weft_count());
}

static void park_main(void)
{
        sched_run_well(NULL, first);
}

SIM_SCENARIO(sched_park, "goroutines hand a baton round; one takes tokens of several givers",
             park_main, .max_steps = SCHED_MAX_STEPS)
