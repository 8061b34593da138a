/* tests/sim/scenario_blocked.c - what an M does in user code decides whether it loses its P.
 *
 * With one P a goroutine waits for its turn beside goroutine 1, which stays in user code for a
 * while in one of several ways. The monitor must distinguish these ways by what the kernel reports
 * about the thread.
 *
 * test: seeds=quarter
 *
 * SPDX-License-Identifier: MIT
 */
#include "sim/sched_world.h"

#include "base/fatal.h"
#include "sched/sched.h"

enum { AWAY_NS = 160000000, MS = 1000000 };

static w_atomic_u32 n_beside;

static void beside(void *arg)
{
        (void)arg;
        w_add_acqrel(&n_beside, 1);
}

/* ---- Ways to be in user code ----------------------------------------------------------------- */

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

/* Too little CPU time in each window, but the sum is enough. */
static void compute_where_many_do(int64_t ns)
{
        for (int64_t until = sim_now() + ns; sim_now() < until;) {
                sim_work(2 * MS);
                sim_starve(9 * MS);
        }
}

/* A storm of page faults: the thread runs a little in between. Not at fixed intervals: the monitor
 * would see it run at each of its rounds, every 10 ms. */
static void sleep_often(int64_t ns)
{
        for (int64_t until = sim_now() + ns; sim_now() < until;) {
                sleep_for(MS / 2 + sim_random(MS));
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
        (void)weft_sleep((int64_t)sim_random(20) * MS);         /* the monitor sleeps as well */
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

SIM_SCENARIO(blocked_why, "a blocked M loses its P, a running M may, a starved M does not",
             why_main, .max_steps = SCHED_MAX_STEPS)

/* ---- A late monitor -------------------------------------------------------------------------- */

static void late_first(void *arg)
{
        (void)arg;
        w_store_rlx(&n_beside, 0);
        int64_t id = weft_go(beside, NULL);

        sim_cpus_are_scarce(30 * MS);
        starve(AWAY_NS);
        uint32_t n = w_load_acq(&n_beside);

        sim_cpus_are_scarce(0);
        SIM_CHECK(n == 0, "an M without a CPU has lost its P");
        sched_join(id);
}

static void late_main(void)
{
        weft_config cfg = { .procs = 1, .preempt = WEFT_PREEMPT_ALL };

        sched_run_well(&cfg, late_first);
}

SIM_SCENARIO(blocked_late, "a starved M keeps its P although the monitor gets no CPU either",
             late_main, .max_steps = SCHED_MAX_STEPS)

/* ---- How soon -------------------------------------------------------------------------------- */

static int64_t turn_at;

static void note_turn(void *arg)
{
        (void)arg;
        turn_at = sim_now();
}

/* The monitor samples within 10 ms and judges 10 ms later, not at its next round after that. The
 * rest is the cost of steps and wakeups. */
static void soon_first(void *arg)
{
        (void)arg;
        (void)weft_sleep((int64_t)sim_random(40) * MS);
        int64_t id = weft_go(note_turn, NULL);
        int64_t from = sim_now();

        sleep_for(AWAY_NS);
        sched_join(id);
        SIM_CHECK(turn_at - from <= 22 * (int64_t)MS, "others had to wait for %ld us",
                  (long)((turn_at - from) / 1000));
}

static void soon_main(void)
{
        weft_config cfg = { .procs = 1, .preempt = WEFT_PREEMPT_BLOCKED };

        sched_run_well(&cfg, soon_first);
}

SIM_SCENARIO(blocked_soon, "a blocked M loses its P soon",
             soon_main, .max_steps = SCHED_MAX_STEPS)

/* ---- Which P --------------------------------------------------------------------------------- */

static w_atomic_u32 n_at_it;

static void sleep_long(void *arg)
{
        (void)arg;
        SIM_CHECK(weft_sleep(3 * AWAY_NS) == 0, "sleep");
}

static void in_region(int64_t ns)
{
        weft_block_begin();
        sleep_for(ns);
        weft_block_end();
}

static void soon_back(void *arg)
{
        (void)arg;
        in_region(MS / 2);
}

static void compute_beside(void *arg)
{
        (void)arg;
        in_region(MS);
        w_add_acqrel(&n_at_it, 1);
        while (w_load_acq(&n_beside) == 0)
                sim_work(MS);
}

static void block_beside(void *arg)
{
        bool says_so = preempt == WEFT_PREEMPT_OFF || sim_random(2);

        (void)arg;
        in_region(MS);
        if (says_so)
                weft_block_begin();
        w_add_acqrel(&n_at_it, 1);
        sleep_for(2 * AWAY_NS);
        if (says_so)
                weft_block_end();
}

/* With work in the queue of its own P, or among the timers of that P. */
static void compute_before(void)
{
        weft_timer *timer = NULL;

        if (sim_random(2))
                timer = weft_timer_new((int64_t)sim_random(60) * MS, beside, NULL);
        else
                (void)!weft_go(beside, NULL);
        sim_work(AWAY_NS);
        SIM_CHECK(w_load_acq(&n_beside) == 1, "under preempt %d the waiting work was not run",
                  preempt);
        weft_timer_free(timer);
}

/* Every P is with a goroutine that stays in user code. Before that all goroutines go through
 * regions, and there are more of them than Ps. So there are more threads, too, and the threads that
 * leave their regions last find idle Ps while no M spins. */
static void beside_first(void *arg)
{
        uint32_t n = w_n_procs(), n_block = 1 + sim_random(n - 1);
        int64_t  ids[12];

        (void)arg;
        w_store_rlx(&n_beside, 0);
        w_store_rlx(&n_at_it, 1);
        ids[0] = sched_go(sleep_long, NULL);    /* for which there is a timekeeper */
        for (uint32_t i = 1; i < n; i++)
                ids[i] = sched_go(i <= n_block ? block_beside : compute_beside, NULL);
        for (uint32_t i = n; i < 2 * n; i++)
                ids[i] = sched_go(soon_back, NULL);
        in_region(MS);
        while (w_load_acq(&n_at_it) < n)
                sim_work(1000);
        compute_before();
        for (uint32_t i = 0; i < 2 * n; i++)
                sched_join(ids[i]);
}

static void beside_main(void)
{
        preempt = WEFT_PREEMPT_OFF + (int)sim_random(3);
        weft_config cfg = { .procs = 2 + (int)sim_random(3), .preempt = preempt };

        sched_run_well(&cfg, beside_first);
}

SIM_SCENARIO(blocked_beside, "a blocked M loses its P for work on the P of a running M",
             beside_main, .max_steps = SCHED_MAX_STEPS)

/* ---- Reports --------------------------------------------------------------------------------- */

enum { N_REPORTED = 3, LONG_MS = 1000, SOON_MS = 60 };

struct report {
        char    name[8], text[40];
        int64_t ns;
};

static struct report reports[N_REPORTED];

/* The last M runs beside a goroutine that needs its P; then no goroutine runs for long. */
static void block_and_be_reported(struct report *t)
{
        weft_name(t->name);
        (void)!weft_go(beside, NULL);
        sleep_for(t->ns);
        bool stayed = t->ns >= (LONG_MS + 2 * SOON_MS) * (int64_t)MS;
        bool not_yet = t->ns < LONG_MS * (int64_t)MS;

        SIM_CHECK(!stayed || sim_times_said(t->text) == 1, "%s is not reported", t->name);
        SIM_CHECK(!not_yet || sim_times_said(t->text) == 0, "%s is reported early", t->name);
        SIM_CHECK(weft_count() > 0, "count");   /* enters without a P, which it does not need */
        if (t->ns < 2 * SOON_MS * (int64_t)MS)
                sleep_for((LONG_MS + SOON_MS) * (int64_t)MS);
        weft_yield();
        SIM_CHECK(sim_times_said(t->text) == 1, "%s was reported %u times", t->name,
                  sim_times_said(t->text));
}

/* Each function is a place of its own. */
static void report_0(void *arg) { block_and_be_reported(arg); }
static void report_1(void *arg) { block_and_be_reported(arg); weft_yield(); }
static void report_2(void *arg) { block_and_be_reported(arg); weft_yield(); weft_yield(); }

static void report_first(void *arg)
{
        void (*const fns[N_REPORTED])(void *) = { report_0, report_1, report_2 };
        int64_t ids[N_REPORTED];

        (void)arg;
        for (int i = 0; i < N_REPORTED; i++) {
                struct report *t = &reports[i];

                t->ns = (SOON_MS + (int64_t)sim_random(sim_random(2) ? 40 : 1300)) * MS;
                w_format(t->name, sizeof(t->name), "block %d", i);
                w_format(t->text, sizeof(t->text), " \"block %d\" blocked its thread", i);
                ids[i] = sched_go(fns[i], t);
        }
        for (int i = 0; i < N_REPORTED; i++)
                sched_join(ids[i]);
}

static void report_main(void)
{
        weft_config cfg = { .procs = 1, .preempt = WEFT_PREEMPT_BLOCKED + (int)sim_random(2) };

        sched_run_well(&cfg, report_first);
}

SIM_SCENARIO(blocked_report, "each block is reported once, and not too late", report_main,
             .max_steps = SCHED_MAX_STEPS)

/* ---- Another M ------------------------------------------------------------------------------- */

static uint32_t where_of_first;

/* On another thread, with the same epoch as the thread before it. */
static void compute_named(void *arg)
{
        (void)arg;
        weft_name("other");
        for (int i = 0; i < 8 && w_load_rlx(&w_m()->where) != where_of_first; i++)
                (void)weft_checkpoint();
        sim_work(MS);
        weft_yield();
        SIM_CHECK(sim_times_said("\"other\" blocked") == 0, "the wrong goroutine is reported");
}

/* It enters when the monitor is about to take its P. Its thread waits with it, so that a new thread
 * gets the P. */
static void other_first(void *arg)
{
        const struct p *pp = w_sched.all_p[0];

        (void)arg;
        weft_thread_lock();
        int64_t id = weft_go(compute_named, NULL);

        where_of_first = w_load_rlx(&w_m()->where);
        sleep_for(10 * MS);
        for (int i = 0; i < 2000 && !pp->sample.suspect; i++)
                sleep_for(MS / 200);
        SIM_CHECK(weft_sleep(MS) == 0, "sleep");
        weft_thread_unlock();
        sched_join(id);
}

static void other_main(void)
{
        weft_config cfg = { .procs = 1, .preempt = WEFT_PREEMPT_BLOCKED + (int)sim_random(2) };

        sched_run_well(&cfg, other_first);
}

SIM_SCENARIO(blocked_other, "another M has the P by the time when it is asked for", other_main,
             .max_steps = SCHED_MAX_STEPS)

/* ---- Descriptors ----------------------------------------------------------------------------- */

static int64_t about;

/* All of them enter at about the same time. */
static void compute(void *arg)
{
        (void)arg;
        sim_work(about + sim_random(40000));
}

/* Threads end while the monitor samples them: every descriptor is closed, once. */
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
        SIM_CHECK(w_sched.sysmon.too_many_lost, "nothing was said");
        w_store_rel(&is_over, 1);
        worker_join(&thread);
}

static void limit_main(void)
{
        weft_config cfg = { .procs = 1 };

        sched_run_well(&cfg, limit_first);
}

SIM_SCENARIO(blocked_limit, "so many Ms block that there would be too many threads", limit_main,
             .max_steps = 4 * SCHED_MAX_STEPS)
