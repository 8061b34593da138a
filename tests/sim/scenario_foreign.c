/* tests/sim/scenario_foreign.c - PROTOCOL foreign: threads call weft while runs begin and end.
 *
 * Each of them enters and exits as fast as it can. While it is in a call, it checks that the run is
 * not being taken down.
 *
 * test: seeds=quarter
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/run/foreign.h"
#include "sched/run/run.h"
#include "sim/sched_world.h"

#include <errno.h>      /* ESHUTDOWN */

enum { N_RUNS = 3, N_FOREIGN = 3, N_CALLS = 25 };

static struct worker foreign_threads[N_FOREIGN];
static bool          over, taken_down;          /* plain: simulated threads run one at a time */
static uint32_t      n_in;                      /* foreign threads in a call */
static uint32_t      n_been;
static w_atomic_u32  clock_hand;

static void note_taking_down(void)
{
        taken_down = true;
        SIM_CHECK(n_in == 0, "the run is taken down with %u calls in progress", n_in);
}

static struct run_end hook = { .free = note_taking_down };

static void nothing(void *arg)
{
        (void)arg;
}

/* ---- Foreign threads ------------------------------------------------------------------------- */

static void look_around(void)
{
        n_in++;
        for (uint32_t n = sim_random(4); n > 0; n--)
                (void)w_load_rlx(&clock_hand);          /* a step */
        SIM_CHECK(!taken_down, "in a call, and the run is taken down");
        n_in--;
        n_been++;
}

/* As nested as real calls are. */
static void visit(void)
{
        if (!w_foreign_enter())
                return;
        if (sim_random(2) && w_foreign_enter()) {
                look_around();
                w_foreign_exit();
        }
        look_around();
        w_foreign_exit();
}

static void call(void)
{
        switch (sim_random(8)) {
        case 0:
                (void)!weft_go(nothing, NULL);
                break;
        case 1:
                (void)weft_sleep(sim_random(3000));
                break;
        case 2:
                sim_work(sim_random(2000));
                break;
        default:
                visit();
        }
}

static void be_foreign_thread(void *arg)
{
        (void)arg;
        foreign_begin();
        for (uint32_t i = 0; i < N_CALLS || (!over && sim_random(8)); i++)
                call();
}

/* ---- Runs ------------------------------------------------------------------------------------ */

static void first(void *arg)
{
        (void)arg;
        w_run_at_end(&hook);
        for (uint32_t i = sim_random(4); i > 0; i--)
                (void)!weft_go(nothing, NULL);
        sim_work(sim_random(1u << (4 + sim_random(12))));
        weft_yield();
}

/* No other thread can know of the run before the goroutine, which may be dropped, has the hook in
 * place: the test waits for that. */
static void in_background(void)
{
        weft_config cfg = { .procs = 1 + (int)sim_random(3), .stack_size = 16 << 10 };
        int         rc = weft_start(&cfg);

        if (rc < 0) {
                SIM_CHECK(rc == -EAGAIN || rc == -ENOMEM || rc == -EBUSY, "start returned %d", rc);
                return;
        }
        int64_t id = weft_go(first, NULL);

        if (id > 0)
                (void)weft_join(id);
        rc = weft_stop();
        SIM_CHECK(rc == 0, "stop returned %d", rc);
        SIM_CHECK(weft_threads_left() == 0, "%d threads are abandoned", weft_threads_left());
}

static void runs(void)
{
        over = taken_down = false;
        n_in = n_been = 0;
        for (uint32_t i = 0; i < N_FOREIGN; i++)
                worker_start(&foreign_threads[i], "foreign", be_foreign_thread, NULL);
        for (uint32_t i = 0; i < N_RUNS; i++) {
                sched_work_may_wait = true;
                taken_down = false;
                if (sim_random(2))
                        in_background();
                else
                        (void)sched_run(NULL, first);
                if (sim_random(2))
                        sim_work(sim_random(2000));
        }
        over = true;
        for (uint32_t i = 0; i < N_FOREIGN; i++)
                worker_join(&foreign_threads[i]);
}

SIM_SCENARIO(foreign_runs, "foreign threads call weft while runs begin and end", runs,
             .max_steps = 2 * SCHED_MAX_STEPS)
SIM_SCENARIO(foreign_scarce, "the same, with threads and memory scarce", runs,
             .calls_fail = true, .max_steps = 8 * SCHED_MAX_STEPS)

/* ---- Two threads stop ------------------------------------------------------------------------ */

static uint32_t n_stopped;

static void stop_it(void *arg)
{
        (void)arg;
        foreign_begin();
        sim_work(sim_random(500));
        int rc = weft_stop();

        SIM_CHECK(rc == 0 || rc == -ESHUTDOWN, "stop returned %d", rc);
        n_stopped += rc == 0;
}

static void stops(void)
{
        weft_config cfg = { .procs = 1 + (int)sim_random(3), .stack_size = 16 << 10 };
        int         rc = weft_start(&cfg);

        SIM_CHECK(rc == 0, "start returned %d", rc);
        n_stopped = 0;
        for (uint32_t i = 0; i < 2; i++)
                worker_start(&foreign_threads[i], "stopper", stop_it, NULL);
        for (uint32_t i = 0; i < 3; i++) {
                int64_t id = weft_go(nothing, NULL);

                SIM_CHECK(id > 0 || id == -ESHUTDOWN, "weft_go returned %ld", (long)id);
        }
        for (uint32_t i = 0; i < 2; i++)
                worker_join(&foreign_threads[i]);
        SIM_CHECK(n_stopped == 1, "%u have stopped one run", n_stopped);
}

SIM_SCENARIO(foreign_stops, "two threads stop a run in the background, and a third one calls in",
             stops, .max_steps = SCHED_MAX_STEPS)
