/* tests/sim/scenario_parents.c - PROTOCOL parents: each parent comes out once, for the owner or a
 * thief.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/queue/parents.h"
#include "sim/scenario.h"

#include <string.h>

enum { N_THIEVES = 2, N_ITEMS = 60 };

struct g {
        uint32_t number;                /* plain: handed over by the slots */
};

static struct parents ps;
static struct g       items[N_ITEMS];
static uint32_t       n_taken[N_ITEMS];
static w_atomic_u32   finished;

static void take(struct g *gp)
{
        uint32_t i = (uint32_t)(gp - items);

        SIM_CHECK(w_plain_load(&gp->number) == i + 1, "item %u is not yet what it should be", i);
        SIM_CHECK(++n_taken[i] == 1, "item %u came out twice", i);
}

static void steal(void *arg)
{
        (void)arg;
        while (!w_load_acq(&finished)) {                /* scenario's own */
                struct g *gp = w_parents_take_oldest(&ps);

                if (gp)
                        take(gp);
        }
}

static void own(void)
{
        struct g *gp;

        for (uint32_t i = 0; i < N_ITEMS; i++) {
                w_plain_store(&items[i].number, i + 1);
                if (!w_parents_push(&ps, &items[i]))
                        take(&items[i]);
                else if (sim_random(2) && (gp = w_parents_pop(&ps)))
                        take(gp);
        }
        while ((gp = w_parents_pop(&ps)))
                take(gp);
}

static void parents_main(void)
{
        struct worker thieves[N_THIEVES];

        memset(&ps, 0, sizeof(ps));
        memset(items, 0, sizeof(items));
        memset(n_taken, 0, sizeof(n_taken));
        finished.raw = 0;
        for (int i = 0; i < N_THIEVES; i++)
                worker_start(&thieves[i], "thief", steal, NULL);
        own();
        w_store_rel(&finished, 1);                      /* scenario's own */
        for (int i = 0; i < N_THIEVES; i++)
                worker_join(&thieves[i]);
        for (int i = 0; i < N_ITEMS; i++)
                SIM_CHECK(n_taken[i] == 1, "item %d came out %u times", i, n_taken[i]);
        SIM_CHECK(w_parents_is_empty(&ps), "a parent is left");
}

SIM_SCENARIO(parents, "an owner pushes and pops, thieves take the oldest", parents_main,
             .max_steps = 20000)
