/* tests/sim/scenario_sched_exit.c - PROTOCOL live: goroutine 1 leaves, the last one ends the run.
 *
 * test: seeds=quarter
 *
 * SPDX-License-Identifier: MIT
 */
#include "sim/sched_world.h"

enum { N = 4, DEPTH = 2, N_SHORT = 12 };

static uint32_t n_ended, n_spawned;     /* plain: simulated threads run one at a time */

static void heir(void *arg)
{
        uint32_t depth = (uint32_t)(uintptr_t)arg;

        for (uint32_t i = 0; depth > 0 && i < 2; i++) {
                n_spawned++;
                (void)sched_go(heir, (void *)(uintptr_t)(depth - 1));
        }
        if (sim_random(2))
                weft_yield();
        if (sim_random(4) == 0)
                sim_work(sim_random(2000));
        n_ended++;
        if (sim_random(2))
                weft_exit();
}

static void first(void *arg)
{
        (void)arg;
        for (uint32_t i = 0; i < N; i++) {
                n_spawned++;
                (void)sched_go(heir, (void *)(uintptr_t)DEPTH);
        }
        if (sim_random(2))
                sim_work(sim_random(4000));
        weft_exit();
}

static void alone_first(void *arg)
{
        (void)arg;
        weft_exit();
}

static void exit_main(void)
{
        n_ended = n_spawned = 0;
        sched_run_well(NULL, first);
        SIM_CHECK(n_ended == n_spawned, "the run ended with %u of %u goroutines", n_ended,
                  n_spawned);
        if (sim_random(4) == 0)
                sched_run_well(NULL, alone_first);
}

SIM_SCENARIO(sched_exit, "goroutine 1 ends by weft_exit, the last of the others ends the run",
             exit_main, .max_steps = SCHED_MAX_STEPS)

/* ---- Counting while others come and go ------------------------------------------------------- */

static bool         parent_done;
static w_atomic_u32 clock_hand;

static void nothing(void *arg)
{
        (void)arg;
}

/* Its children live and end elsewhere, maybe entirely during a count. */
static void parent(void *arg)
{
        (void)arg;
        for (uint32_t i = 0; i < N_SHORT; i++) {
                (void)!weft_go(nothing, NULL);
                for (uint32_t n = sim_random(1u << sim_random(10)); n > 0; n--)
                        (void)w_load_rlx(&clock_hand);  /* a step, and no wait */
        }
        parent_done = true;
}

static void count_first(void *arg)
{
        (void)arg;
        (void)!weft_go(parent, NULL);
        weft_exit();
}

static void count_main(void)
{
        parent_done = false;
        sched_run_well(NULL, count_first);
        SIM_CHECK(parent_done, "the run ended with a goroutine alive");
}

SIM_SCENARIO(sched_exit_count, "goroutines come and go while the live ones are counted",
             count_main, .max_steps = SCHED_MAX_STEPS)

/* ---- Goroutine 1 and one other end at the same time ------------------------------------------ */

static void together_first(void *arg)
{
        (void)arg;
        (void)!weft_go(nothing, NULL);
        sim_work(sim_random(1u << (4 + sim_random(8))));
        weft_exit();
}

static void together_main(void)
{
        sched_run_well(NULL, together_first);
}

SIM_SCENARIO(sched_exit_together, "goroutine 1 and the only other one end at the same time",
             together_main, .max_steps = SCHED_MAX_STEPS)
