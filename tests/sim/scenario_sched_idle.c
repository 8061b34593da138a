/* tests/sim/scenario_sched_idle.c - PROTOCOL idle: work never waits while a P is idle.
 *
 * Goroutines submit work at moments that the seed puts as close as possible to the moment when
 * other Ps run out of work. Then they compute for longer than work may wait (I10, checked at each
 * step). Work that is overlooked at such a moment therefore stays overlooked until the check sees
 * it.
 *
 * test: seeds=quarter
 *
 * SPDX-License-Identifier: MIT
 */
#include "sim/sched_world.h"

enum { LONG_NS = 13000000, DEPTH = 3 };

static w_atomic_u32 n_alive;
static int64_t      first_id;

static void short_while(void)
{
        if (sim_random(3))
                sim_work(sim_random(1u << (1 + sim_random(12))));
}

static void long_while(void)
{
        sim_work(LONG_NS);
}

static void done(void)
{
        if (w_sub_acqrel(&n_alive, 1) == 1)             /* scenario's own */
                weft_unpark(first_id);
}

static void submit(void (*fn)(void *), void *arg)
{
        w_add_rlx(&n_alive, 1);
        (void)sched_go(fn, arg);
}

static void quick(void *arg)
{
        (void)arg;
        short_while();
        done();
}

static void chain(void *arg)
{
        uint32_t depth = (uint32_t)(uintptr_t)arg;

        short_while();
        for (uint32_t n = sim_random(3); n > 0; n--)
                submit(quick, NULL);
        if (depth > 0) {
                submit(chain, (void *)(uintptr_t)(depth - 1));
                short_while();
                if (sim_random(2))
                        submit(chain, (void *)(uintptr_t)(depth - 1));
        }
        if (sim_random(2))
                long_while();
        done();
}

static void first(void *arg)
{
        (void)arg;
        first_id = weft_id();
        w_store_rlx(&n_alive, 1);
        submit(chain, (void *)(uintptr_t)DEPTH);
        short_while();
        submit(quick, NULL);
        if (sim_random(2))
                long_while();
        if (w_sub_acqrel(&n_alive, 1) > 1)              /* scenario's own */
                weft_park();
        SIM_CHECK(w_load_rlx(&n_alive) == 0, "woken too early");
}

static void idle_main(void)
{
        sched_run_well(NULL, first);
}

SIM_SCENARIO(sched_idle, "work is submitted while others run out of it; none waits", idle_main,
             .max_steps = SCHED_MAX_STEPS)

/* ---- The same from foreign threads ----------------------------------------------------------- */

enum { N_FOREIGN = 2, N_SLEEPERS = 3 };

static int64_t      sleepers[N_SLEEPERS];
static w_atomic_u32 n_awake;

static void sleeper(void *arg)
{
        (void)arg;
        weft_park();
        w_add_rlx(&n_awake, 1);
        if (sim_random(2))
                long_while();
}

static void foreigner(void *arg)
{
        uint32_t which = (uint32_t)(uintptr_t)arg;

        foreign_begin();
        SIM_CHECK(weft_id() == 0, "a foreign thread is goroutine %ld", (long)weft_id());
        short_while();
        for (uint32_t i = which; i < N_SLEEPERS; i += N_FOREIGN) {
                int rc = weft_unpark(sleepers[i]);

                SIM_CHECK(rc == 0, "unpark of a sleeper returned %d", rc);
                short_while();
        }
        if (sim_random(2))
                submit(quick, NULL);
        done();
}

static void foreign_first(void *arg)
{
        struct worker threads[N_FOREIGN];

        (void)arg;
        first_id = weft_id();
        w_store_rlx(&n_awake, 0);
        w_store_rlx(&n_alive, 1 + N_FOREIGN);
        for (uint32_t i = 0; i < N_SLEEPERS; i++)
                sleepers[i] = sched_go(sleeper, NULL);
        for (uint32_t i = 0; i < N_FOREIGN; i++)
                worker_start(&threads[i], "foreign", foreigner, (void *)(uintptr_t)i);
        if (sim_random(2))
                long_while();
        for (uint32_t i = 0; i < N_SLEEPERS; i++)
                sched_join(sleepers[i]);
        if (w_sub_acqrel(&n_alive, 1) > 1)              /* scenario's own */
                weft_park();
        SIM_CHECK(w_load_rlx(&n_awake) == N_SLEEPERS, "a sleeper was not woken");
        for (uint32_t i = 0; i < N_FOREIGN; i++)
                worker_join(&threads[i]);
}

static void foreign_main(void)
{
        sched_run_well(NULL, foreign_first);
}

SIM_SCENARIO(sched_foreign, "foreign threads wake and spawn goroutines", foreign_main,
             .max_steps = SCHED_MAX_STEPS)

/* ---- Work and no idle P, just when a P becomes idle ------------------------------------------ */

enum { N_LEAVES = 6 };

static int64_t releaser_id, pair_ids[2];

/* Runs out of work at about the time when spinners search for work and find the pair. */
static void releaser(void *arg)
{
        (void)arg;
        for (int i = 0; i < N_LEAVES; i++) {
                weft_park();
                short_while();
        }
        done();
}

static void one_of_pair(void *arg)
{
        (void)arg;
        for (int i = 0; i < N_LEAVES; i++) {
                weft_park();
                long_while();
        }
        done();
}

static void wake_in_turn(void *arg)
{
        (void)arg;
        foreign_begin();
        for (int i = 0; i < N_LEAVES; i++) {
                (void)weft_unpark(releaser_id);
                sim_work(sim_random(1u << (3 + sim_random(8))));
                (void)weft_unpark(pair_ids[0]);
                (void)weft_unpark(pair_ids[1]);
                sim_work(2 * LONG_NS);
        }
        done();
}

static void leave_first(void *arg)
{
        struct worker thread;

        (void)arg;
        first_id = weft_id();
        w_store_rlx(&n_alive, 4);
        releaser_id = weft_go(releaser, NULL);
        for (int i = 0; i < 2; i++)
                pair_ids[i] = weft_go(one_of_pair, NULL);
        worker_start(&thread, "foreign", wake_in_turn, NULL);
        while (w_load_rlx(&n_alive) > 0)
                weft_park();
        worker_join(&thread);
}

/* With two Ps one spinner is enough to keep the other M from spinning. */
static void leave_main(void)
{
        weft_config cfg = { .procs = 2 };

        sched_run_well(&cfg, leave_first);
}

SIM_SCENARIO(sched_leave, "work comes and no P is idle, just when one becomes idle", leave_main,
             .max_steps = SCHED_MAX_STEPS)
