/* tests/sim/scenario_blocked.c - why an M does not come back decides whether it loses its P.
 *
 * At one P somebody waits for its turn beside goroutine 1, which is away for a while in one of
 * several ways. The monitor has to tell them apart by what the system says of the thread.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sim/sched_world.h"

enum { AWAY_NS = 160000000, MS = 1000000 };

static w_atomic_u32 n_beside;

static void beside(void *arg)
{
        (void)arg;
        w_add_acqrel(&n_beside, 1);
}

/* ---- Ways to be away ------------------------------------------------------------------------- */

static void sleep_for(int64_t ns)
{
        w_os_sleep_until(w_os_now() + ns);
}

/* In stretches of 5 to 40 ms, with hardly any run time between them. */
static void starve(int64_t ns)
{
        for (int64_t until = sim_now() + ns; sim_now() < until;) {
                sim_starve((5 + (int64_t)sim_random(36)) * MS);
                if (sim_random(2))
                        sim_work(MS / 10);
        }
}

/* Too little in each window, but it adds up. */
static void compute_where_many_do(int64_t ns)
{
        for (int64_t until = sim_now() + ns; sim_now() < until;) {
                sim_work(2 * MS);
                sim_starve(9 * MS);
        }
}

/* A storm of page faults: it runs a little in between. */
static void sleep_often(int64_t ns)
{
        for (int64_t until = sim_now() + ns; sim_now() < until;) {
                sleep_for(MS);
                sim_work(MS / 4);
        }
}

static void compute_then_sleep(int64_t ns)
{
        sim_work(ns);
        sleep_for(ns / 2);
}

static const struct way {
        void (*away)(int64_t ns);
        bool   blocked, all;            /* does it lose its P? */
} ways[] = {
        { sleep_for, true, true },
        { sleep_often, true, true },
        { compute_then_sleep, true, true },
        { sim_work, false, true },
        { compute_where_many_do, false, true },
        { starve, false, false },
};

static const struct way *way;
static int               preempt;

static void why_first(void *arg)
{
        uint32_t expected = preempt == WEFT_PREEMPT_ALL ? way->all :
                            preempt == WEFT_PREEMPT_BLOCKED ? way->blocked : 0;

        (void)arg;
        w_store_rlx(&n_beside, 0);
        (void)weft_sleep((int64_t)sim_random(20) * MS);         /* the monitor sleeps, too */
        int64_t id = weft_go(beside, NULL);

        way->away(AWAY_NS);
        uint32_t n = w_load_acq(&n_beside);

        SIM_CHECK(n == expected, "way %d under preempt %d: %u of %u others had their turn",
                  (int)(way - ways), preempt, n, expected);
        sched_join(id);
}

static void why_main(void)
{
        preempt = WEFT_PREEMPT_OFF + (int)sim_random(3);
        way = &ways[sim_random(sizeof(ways) / sizeof(ways[0]))];
        weft_config cfg = { .procs = 1, .preempt = preempt };

        sched_run_well(&cfg, why_first);
}

SIM_SCENARIO(blocked_why, "who blocks loses its P, who computes may, who gets no CPU does not",
             why_main, .max_steps = SCHED_MAX_STEPS)

/* ---- Descriptors ----------------------------------------------------------------------------- */

static int64_t about;

/* All of them come back at about the same time. */
static void compute(void *arg)
{
        (void)arg;
        sim_work(about + sim_random(40000));
}

/* Threads end while the monitor looks at them: every descriptor is closed, once. */
static void end_first(void *arg)
{
        about = MS + sim_random(MS);
        for (int i = 0; i < 6; i++)
                (void)sched_go(compute, NULL);
        compute(arg);
}

static void end_main(void)
{
        weft_config cfg = { .procs = 2 + (int)sim_random(2) };

        sched_run_well(&cfg, end_first);
}

SIM_SCENARIO(blocked_end, "the run ends while the monitor asks about its threads", end_main,
             .max_steps = SCHED_MAX_STEPS)

/* ---- How many -------------------------------------------------------------------------------- */

enum { N_BLOCKERS = 12, LOST_MAX = 8 };

static w_atomic_u32 is_over;

static void blocker(void *arg)
{
        (void)arg;
        sleep_for(300 * MS);
}

static void counter(void *arg)
{
        (void)arg;
        foreign_begin();
        while (!w_load_acq(&is_over)) {
                w_lock(&w_sched.lock);
                uint32_t n = w_sched.n_lost;

                w_unlock(&w_sched.lock);
                SIM_CHECK(n <= LOST_MAX, "%u have lost their Ps", n);
                sleep_for(2 * MS);
        }
}

static void limit_first(void *arg)
{
        struct worker thread;
        int64_t       ids[N_BLOCKERS];

        (void)arg;
        w_store_rlx(&is_over, 0);
        worker_start(&thread, "counter", counter, NULL);
        for (int i = 0; i < N_BLOCKERS; i++)
                ids[i] = sched_go(blocker, NULL);
        for (int i = 0; i < N_BLOCKERS; i++)
                sched_join(ids[i]);
        SIM_CHECK(w_sched.too_many_lost, "nothing was said");
        w_store_rel(&is_over, 1);
        worker_join(&thread);
}

static void limit_main(void)
{
        weft_config cfg = { .procs = 1 };

        sched_run_well(&cfg, limit_first);
}

SIM_SCENARIO(blocked_limit, "so many block that their threads would be too many", limit_main,
             .max_steps = 4 * SCHED_MAX_STEPS)
