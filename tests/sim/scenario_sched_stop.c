/* tests/sim/scenario_sched_stop.c - PROTOCOL world: the world stops and starts during everything
 * else.
 *
 * Several goroutines call weft_check, which stops the world and checks every goroutine, thread and
 * P. Others yield, park, spawn, join and compute, foreign threads unpark, and thieves, sleepers and
 * Ps in transit are wherever the seed has put them.
 *
 * test: seeds=quarter
 *
 * SPDX-License-Identifier: MIT
 */
#include "sim/sched_world.h"

#include <errno.h>      /* ESHUTDOWN */

enum { N_BUSY = 4, N_STOPPERS = 2, STOPS = 3, ROUNDS = 5 };

static w_atomic_u32 n_stops;
static int64_t      busy_ids[N_BUSY];
static w_atomic_u32 n_busy;

static void brief(void *arg)
{
        (void)arg;
        if (sim_random(2))
                sim_work(sim_random(500));
}

/* At the end of a run nothing is spawned any more. */
static void spawn_and_join(void)
{
        int64_t id = weft_go(brief, NULL);

        SIM_CHECK(id > 0 || id == -ESHUTDOWN, "weft_go returned %ld", (long)id);
        if (id > 0)
                sched_join(id);
}

/* Everything that a goroutine can do. Tokens come from others and from itself. */
static void busy(void *arg)
{
        (void)arg;
        for (uint32_t i = 0; i < ROUNDS; i++) {
                switch (sim_random(5)) {
                case 0:
                        weft_yield();
                        break;
                case 1:
                        weft_unpark(weft_id());
                        weft_park();
                        break;
                case 2:
                        spawn_and_join();
                        break;
                case 3:
                        sim_work(sim_random(2000));
                        break;
                default:
                        (void)weft_checkpoint();
                }
        }
}

static void stopper(void *arg)
{
        (void)arg;
        for (uint32_t i = 0; i < STOPS; i++) {
                int rc = weft_check();

                SIM_CHECK(rc == 0, "weft_check returned %d", rc);
                w_add_rlx(&n_stops, 1);
                if (sim_random(2))
                        sim_work(sim_random(3000));
        }
}

/* Tokens from a foreign thread to the live goroutines. */
static void pester(void *arg)
{
        (void)arg;
        foreign_begin();
        for (uint32_t i = 0; i < 2 * N_BUSY; i++) {
                if (w_load_acq(&n_busy) > i % N_BUSY)   /* scenario's own */
                        (void)weft_unpark(busy_ids[i % N_BUSY]);
                sim_work(sim_random(800));
        }
}

static void start_all(int64_t *stoppers)
{
        w_store_rlx(&n_busy, 0);
        for (uint32_t i = 0; i < N_BUSY || i < N_STOPPERS; i++) {
                if (i < N_STOPPERS)
                        stoppers[i] = sched_go(stopper, NULL);
                if (i < N_BUSY) {
                        busy_ids[i] = sched_go(busy, NULL);
                        w_store_rel(&n_busy, i + 1);            /* scenario's own */
                }
        }
}

static void first(void *arg)
{
        int64_t       stoppers[N_STOPPERS];
        struct worker thread;

        (void)arg;
        w_store_rlx(&n_stops, 0);
        worker_start(&thread, "pester", pester, NULL);
        start_all(stoppers);
        for (uint32_t i = 0; i < N_BUSY; i++)
                sched_join(busy_ids[i]);
        for (uint32_t i = 0; i < N_STOPPERS; i++)
                sched_join(stoppers[i]);
        SIM_CHECK(w_load_rlx(&n_stops) == N_STOPPERS * STOPS, "%u stops", w_load_rlx(&n_stops));
        worker_join(&thread);
}

static void stop_main(void)
{
        sched_run_well(NULL, first);
}

SIM_SCENARIO(sched_stop, "several goroutines stop the world while others do all they can",
             stop_main, .max_steps = SCHED_MAX_STEPS)

/* ---- The end of the run meets all of this ---------------------------------------------------- */

static void busy_for_ever(void *arg)
{
        for (;;) {
                busy(arg);
                if (sim_random(4) == 0)
                        weft_park();
        }
}

static void stop_for_ever(void *arg)
{
        (void)arg;
        for (;;) {
                (void)weft_check();
                weft_yield();
                sim_work(1 + sim_random(500));  /* a stop no longer waits for others to run */
        }
}

/* Returns at some moment; the others are wherever they are. */
static void ending_first(void *arg)
{
        (void)arg;
        for (uint32_t i = 0; i < N_BUSY; i++)
                (void)sched_go(busy_for_ever, NULL);
        for (uint32_t i = 0; i < N_STOPPERS; i++)
                (void)sched_go(stop_for_ever, NULL);
        sim_work(sim_random(1u << (4 + sim_random(9))));
        if (sim_random(2))
                weft_yield();
}

/* Twice: the second run would find what the first run leaves. */
static void ending_main(void)
{
        sched_run_well(NULL, ending_first);
        sched_run_well(NULL, ending_first);
}

SIM_SCENARIO(sched_end, "goroutine 1 returns while others run and stop the world", ending_main,
             .max_steps = SCHED_MAX_STEPS)

/* ---- Stop after stop ------------------------------------------------------------------------- */

enum { N_TURNS = 4 };

static void few_turns(void *arg)
{
        (void)arg;
        for (int i = 0; i < N_TURNS; i++)
                weft_yield();
}

static void storm_first(void *arg)
{
        for (uint32_t i = 0; i < N_STOPPERS; i++)
                (void)sched_go(stop_for_ever, NULL);
        int64_t id = sched_go(few_turns, NULL);

        few_turns(arg);
        sched_join(id);
}

static void storm_main(void)
{
        sched_run_well(NULL, storm_first);
}

SIM_SCENARIO(sched_stop_storm, "stop after stop of the world keeps no goroutine from running",
             storm_main, .max_steps = 8 * SCHED_MAX_STEPS)

/* ---- Foreign threads continue after the end -------------------------------------------------- */

static void brief_park(void *arg)
{
        (void)arg;
        weft_park();
        weft_yield();
}

/* Calls at any moment: before, during, between and after two runs. */
static void outlive(void *arg)
{
        (void)arg;
        foreign_begin();
        for (uint32_t i = 0; i < 24; i++) {
                int rc = weft_unpark(1 + sim_random(2 * N_BUSY));

                SIM_CHECK(rc == 0 || rc == -ESRCH || rc == -ESHUTDOWN, "unpark returned %d", rc);
                if (sim_random(4) == 0) {
                        int64_t id = weft_go(brief, NULL);

                        SIM_CHECK(id > 0 || id == -ESHUTDOWN, "weft_go returned %ld", (long)id);
                }
                (void)weft_count();
                if (sim_random(2))
                        sim_work(sim_random(2000));
        }
}

static void outlived_first(void *arg)
{
        (void)arg;
        for (uint32_t i = 0; i < N_BUSY; i++)
                (void)sched_go(brief_park, NULL);
        if (sim_random(2))
                sim_work(sim_random(4000));
}

static void outlived_main(void)
{
        struct worker thread;

        worker_start(&thread, "outlive", outlive, NULL);
        sched_run_well(NULL, outlived_first);
        sched_run_well(NULL, outlived_first);
        worker_join(&thread);
}

SIM_SCENARIO(sched_outlived, "a foreign thread calls before, during and after runs", outlived_main,
             .max_steps = SCHED_MAX_STEPS)
