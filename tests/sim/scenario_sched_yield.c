/* tests/sim/scenario_sched_yield.c - more goroutines than a ring holds, all of them yielding.
 *
 * Rings overflow into the global queue, thieves steal, every goroutine continues with the errno
 * it had, and none runs twice at a time.
 *
 * test: seeds=quarter
 *
 * SPDX-License-Identifier: MIT
 */
#include "sim/sched_world.h"

enum { N = 20, ROUNDS = 6 };

static struct turn {
        bool     inside;                /* plain: set while it runs */
        uint32_t n_rounds;
        int64_t  id;
} turns[N];

static void turn(void *arg)
{
        struct turn *me = arg;

        for (uint32_t i = 0; i < ROUNDS; i++) {
                SIM_CHECK(!me->inside, "runs twice at a time");
                me->inside = true;
                *weft_errno() = (int)(me - turns) + 1;
                w_plain_store(&me->n_rounds, i + 1);
                if (sim_random(8) == 0)
                        sim_work(sim_random(2000));
                me->inside = false;
                if (sim_random(8) == 0)
                        weft_checkpoint();
                weft_yield();
                SIM_CHECK(*weft_errno() == (int)(me - turns) + 1, "errno did not come along");
        }
}

static void first(void *arg)
{
        (void)arg;
        for (uint32_t i = 0; i < N; i++)
                turns[i] = (struct turn){ 0 };
        for (uint32_t i = 0; i < N; i++)
                turns[i].id = sched_go(turn, &turns[i]);
        for (uint32_t i = 0; i < N; i++) {
                sched_join(turns[i].id);
                SIM_CHECK(turns[i].n_rounds == ROUNDS, "ended in round %u", turns[i].n_rounds);
        }
}

static void yield_main(void)
{
        sched_run_well(NULL, first);
}

SIM_SCENARIO(sched_yield, "more goroutines than a ring holds yield", yield_main,
             .max_steps = SCHED_MAX_STEPS)
