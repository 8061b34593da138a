/* tests/sim/scenario_abandon.c - PROTOCOL abandon: a run ends without some of its threads, and
 * another begins.
 *
 * Goroutines are in user code, in the middle of calls, or in the handler of the preempt signal,
 * when the end of their run gives up; and at any step they may lose their CPUs for longer than
 * that. Then the next run begins. Once no M is waited for any more, no M may return from a call:
 * its epoch would show that. Writes to the memory of the first run show as well: its pages are
 * unmapped.
 *
 * test: seeds=quarter
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/run/run.h"
#include "sched/sched.h"
#include "sim/sched_world.h"

#include <errno.h>      /* ESHUTDOWN */

enum { MS = 1000000, N_AWAY = 3, N_NEXT = 4, N_CALLS = 40, N_HELD = 3, N_STOPS = 3 };

static struct {
        struct m *mp;
        uint32_t  stay;
} left[SIM_MAX_THREADS];

static uint32_t     n_left;
static w_atomic_u32 n_out, n_next;

/* ---- Which Ms are abandoned ------------------------------------------------------------------ */

/* As the thread itself sees it. In the runtime or not: it may be about to enter. */
static uint32_t stay_of(const struct m *mp)
{
        uint64_t where = sim_peek(&mp->thread, &mp->where.raw, sizeof(mp->where.raw));

        return (uint32_t)where | W_IN_RUNTIME;
}

/* No M is waited for any more. */
static void remember_abandoned(void)
{
        W_LIST_EACH(node, &w_sched.all_m) {
                struct m *mp = W_CONTAINER_OF(node, struct m, all_link);

                if (mp->is_main)
                        continue;
                left[n_left].mp = mp;
                left[n_left++].stay = stay_of(mp);
        }
}

static void check_abandoned(void)
{
        for (uint32_t i = 0; i < n_left; i++)
                SIM_CHECK(stay_of(left[i].mp) == left[i].stay,
                          "an abandoned thread returned from weft");
}

/* ---- The runs -------------------------------------------------------------------------------- */

static void next_one(void *arg)
{
        (void)arg;
        SIM_CHECK(weft_sleep((int64_t)sim_random(10) * MS) == 0, "sleep");
        w_add_acqrel(&n_next, 1);
}

static void next_first(void *arg)
{
        int64_t ids[N_NEXT];

        (void)arg;
        w_store_rlx(&n_next, 0);
        for (int i = 0; i < N_NEXT; i++)
                ids[i] = sched_go(next_one, NULL);
        for (int i = 0; i < N_NEXT; i++)
                sched_join(ids[i]);
        SIM_CHECK(w_load_acq(&n_next) == N_NEXT, "%u of the next", w_load_acq(&n_next));
        SIM_CHECK(weft_check() == 0, "check");
}

/* What the first run does last. */
static void about_to_end(void)
{
        static struct run_end at_end = { .free = remember_abandoned };

        w_run_at_end(&at_end);
        sim_cpus_are_scarce((int64_t)sim_random(3) * 2 * MS);
}

static void run_and_go_on(const weft_config *cfg, void (*first)(void *), int n_more)
{
        n_left = 0;
        int n = sched_run(cfg, first);

        sim_cpus_are_scarce(0);
        SIM_CHECK(n >= 0 && (uint32_t)n == n_left, "sched_run returned %d", n);
        for (; n_more > 0; n_more--) {
                sched_run_well(cfg, next_first);
                check_abandoned();
        }
}

/* ---- In user code ---------------------------------------------------------------------------- */

/* For about as long as the end of the run waits. */
static void away(void *arg)
{
        (void)arg;
        for (int i = 0; i < 3; i++) {
                int64_t ns = (int64_t)sim_random(30) * MS / 2;

                if (sim_random(2))
                        sim_work(ns);
                else
                        w_os_sleep_until(w_os_now() + ns);
                switch (sim_random(5)) {
                case 0: weft_yield(); break;
                case 1: (void)weft_sleep((int64_t)sim_random(1000)); break;
                case 2: weft_block_begin(); sim_work(ns); weft_block_end(); break;
                case 3: (void)!weft_go(away, NULL); break;
                default: (void)weft_count(); break;
                }
        }
}

static void runs_first(void *arg)
{
        (void)arg;
        for (int i = 0; i < N_AWAY; i++)
                (void)!weft_go(away, NULL);
        if (sim_random(2))
                (void)weft_sleep((int64_t)sim_random(20) * MS);
        about_to_end();
}

static void runs_main(void)
{
        weft_config cfg = { .procs = 1 + (int)sim_random(3),
                            .shutdown_ms = 1 + (int)sim_random(8) };

        run_and_go_on(&cfg, runs_first, 2);
}

SIM_SCENARIO(abandon_runs, "runs follow a run that abandoned threads", runs_main,
             .may_leave = true, .max_steps = 4 * SCHED_MAX_STEPS)

/* ---- In the middle of calls ------------------------------------------------------------------ */

static weft_chan *chan;
static int64_t    abandoned_at;      /* about then; 0: not known yet */

static void call(void)
{
        int v = 0;

        switch (sim_random(6)) {
        case 0: (void)weft_chan_try_send(chan, &v); break;
        case 1: (void)weft_chan_try_recv(chan, &v); break;
        case 2: (void)weft_unpark(1); break;
        default: (void)weft_count(); break;     /* which nothing makes visible early */
        }
}

static void in_and_out(void *arg)
{
        (void)arg;
        while (!abandoned_at)
                sim_work(MS / 20);
        sim_work(abandoned_at - sim_now() - sim_random(2000));
        for (uint32_t i = sim_random(N_CALLS); i > 0; i--)
                call();
}

static void enter_first(void *arg)
{
        (void)arg;
        chan = weft_chan_new(sizeof(int), 1);
        abandoned_at = 0;
        for (int i = 0; i < N_AWAY; i++)
                (void)!weft_go(in_and_out, NULL);
        SIM_CHECK(weft_sleep(MS) == 0, "sleep");
        about_to_end();
        abandoned_at = sim_now() + MS;
}

static void enter_main(void)
{
        weft_config cfg = { .procs = N_AWAY, .shutdown_ms = 1 };

        run_and_go_on(&cfg, enter_first, 1);
}

SIM_SCENARIO(abandon_enter, "threads enter and leave weft at the moment when they are abandoned",
             enter_main, .may_leave = true, .max_steps = 4 * SCHED_MAX_STEPS)

/* ---- Stopping the world ---------------------------------------------------------------------- */

/* Begins when the run is about to end: once it is ending no thread may. */
static void stop_then(void *arg)
{
        (void)arg;
        while (!abandoned_at)
                sim_work(MS / 20);
        sim_work(abandoned_at - sim_now() + (int64_t)sim_random(1000));
        for (int i = 0; i < N_STOPS; i++) {
                int rc = sim_random(2) ? weft_check() : weft_procs(1 + (int)sim_random(3));

                SIM_CHECK(rc >= 0 || rc == -ESHUTDOWN, "stopping returned %d", rc);
        }
}

/* In user code with its P, for as long as another M may want the P. */
static void in_at_times(void *arg)
{
        (void)arg;
        while (!abandoned_at)
                sim_work(MS / 20);
        sim_work(abandoned_at - sim_now());
        for (int i = 0; i < N_CALLS; i++) {
                sim_work((int64_t)sim_random(sim_random(8) ? 2000 : 2 * MS));
                (void)weft_count();
        }
}

static void stopper_first(void *arg)
{
        (void)arg;
        abandoned_at = 0;
        for (int i = 0; i < N_AWAY; i++)
                (void)!weft_go(i ? in_at_times : stop_then, NULL);
        SIM_CHECK(weft_sleep(MS) == 0, "sleep");
        about_to_end();
        sim_cpus_are_scarce(20 * MS);
        abandoned_at = sim_now() + MS / 10;
        sim_work(MS / 10);
}

/* A stopper has no CPU when it is abandoned, and continues with other abandoned Ms that still have
 * their Ps: no thread can request these Ps any more. */
static void stopper_main(void)
{
        weft_config cfg = { .procs = 3 + (int)sim_random(2), .shutdown_ms = 1 };

        sched_work_may_wait = true;     /* for a thread that has no CPU */
        run_and_go_on(&cfg, stopper_first, 1);
}

SIM_SCENARIO(abandon_stopper, "a stopper is abandoned while it stops the world", stopper_main,
             .may_leave = true, .max_steps = 4 * SCHED_MAX_STEPS)

/* ---- In the handler -------------------------------------------------------------------------- */

static void computes(void *arg)
{
        (void)arg;
        for (int i = 0; i < 120; i++)
                sim_work(MS / 2);
}

static void handler_first(void *arg)
{
        (void)arg;
        for (int i = 0; i < N_HELD; i++)
                (void)!weft_go(computes, NULL);
        sim_cpus_are_scarce(2 * MS);
        SIM_CHECK(weft_sleep((int64_t)(20 + sim_random(30)) * MS) == 0, "sleep");
        about_to_end();
}

static void handler_main(void)
{
        weft_config cfg = { .procs = 1, .shutdown_ms = 1 };

        sched_work_may_wait = true;     /* for a thread that has no CPU */
        run_and_go_on(&cfg, handler_first, 1);
}

SIM_SCENARIO(abandon_handler, "threads are in their handlers when they are abandoned", handler_main,
             .may_leave = true, .max_steps = 4 * SCHED_MAX_STEPS)

/* ---- Threads that have not begun ------------------------------------------------------------- */

static void brief(void *arg)
{
        (void)arg;
        weft_yield();
}

static void unborn_first(void *arg)
{
        (void)arg;
        for (int i = 0; i < N_AWAY; i++)
                (void)sched_go(brief, NULL);
        sim_work(sim_random(2000));
        weft_yield();
}

/* A thread that was started for the first run and begins when that run ends is a thread of weft:
 * the end waits for it, however long that takes, and does not take it for a thread in user code. */
static void unborn_main(void)
{
        weft_config cfg = { .procs = 1 + (int)sim_random(4), .shutdown_ms = 1 };

        for (int i = 0; i < 2; i++) {
                sched_work_may_wait = true;
                int n = sched_run(&cfg, unborn_first);

                SIM_CHECK(n == 0, "sched_run returned %d", n);
        }
}

SIM_SCENARIO(abandon_not_begun, "runs end while their threads have not begun yet", unborn_main,
             .slow_starts = true, .max_steps = SCHED_MAX_STEPS)

/* ---- Threads that end when they are given up ------------------------------------------------- */

static void back_just_then(void *arg)
{
        (void)arg;
        w_add_acqrel(&n_out, 1);
        sim_work(MS - 4000 + (int64_t)sim_random(16000));
}

static void just_first(void *arg)
{
        uint32_t n = 1 + sim_random(N_AWAY);

        (void)arg;
        w_store_rlx(&n_out, 0);
        for (uint32_t i = 0; i < n; i++)
                (void)sched_go(back_just_then, NULL);
        while (w_load_acq(&n_out) < n)
                weft_yield();
}

static void just_main(void)
{
        weft_config cfg = { .procs = 4, .shutdown_ms = 1 };
        int         n = sched_run(&cfg, just_first);

        SIM_CHECK(n >= 0 && n <= N_AWAY, "sched_run returned %d", n);
        sched_run_well(&cfg, next_first);
}

SIM_SCENARIO(abandon_ending, "threads end at the moment when they are given up", just_main,
             .may_leave = true, .max_steps = 2 * SCHED_MAX_STEPS)

/* ---- Reporting that they were blocked -------------------------------------------------------- */

/* It has lost its P when it comes back, and calls when the run has ended. */
static void blocked_till_then(void *arg)
{
        (void)arg;
        while (!abandoned_at)
                w_os_sleep_until(w_os_now() + 15 * MS);
        if (abandoned_at > sim_now())
                w_os_sleep_until(abandoned_at - (int64_t)sim_random(MS));
        for (uint32_t i = 1 + sim_random(4); i > 0; i--)
                call();
}

/* Another goroutine needs the P meanwhile. */
static void take_turns(void *arg)
{
        (void)arg;
        while (!abandoned_at) {
                sim_work(MS / 4);
                weft_yield();
        }
}

static void report_first(void *arg)
{
        (void)arg;
        abandoned_at = 0;
        chan = weft_chan_new(sizeof(int), N_CALLS);
        (void)sched_go(blocked_till_then, NULL);
        (void)sched_go(take_turns, NULL);
        SIM_CHECK(weft_sleep(40 * MS) == 0, "sleep");
        about_to_end();
        abandoned_at = sim_now() + MS;
}

static void report_main(void)
{
        weft_config cfg = { .procs = 1, .shutdown_ms = 1 };

        run_and_go_on(&cfg, report_first, 1);
}

SIM_SCENARIO(abandon_report, "a blocked M reports it when its run abandons it", report_main,
             .may_leave = true, .slow_voice = true, .max_steps = 4 * SCHED_MAX_STEPS)

/* ---- Getting a P again ----------------------------------------------------------------------- */

static w_atomic_u32 no_m_turns;

static void region_till_then(void *arg)
{
        (void)arg;
        weft_block_begin();
        while (!w_load_acq(&no_m_turns))
                w_os_sleep_until(w_os_now() + MS / 10);
        weft_block_end();               /* an idle P, or none any more */
        for (uint32_t i = sim_random(3); i > 0; i--)
                sim_work(MS / 2);
        for (uint32_t i = 1 + sim_random(4); i > 0; i--)
                call();
}

static void some_turns(void *arg)
{
        (void)arg;
        for (int i = 0; i < 30; i++) {
                sim_work(MS / 20);
                weft_yield();
        }
}

static void take_first(void *arg)
{
        (void)arg;
        w_store_rlx(&no_m_turns, 0);
        chan = weft_chan_new(sizeof(int), N_CALLS);
        for (int i = 0; i < 2; i++)
                (void)sched_go(region_till_then, NULL);
        for (int i = 0; i < 4; i++)
                (void)sched_go(some_turns, NULL);
        SIM_CHECK(weft_sleep(30 * MS) == 0, "sleep");
        about_to_end();
        w_store_rel(&no_m_turns, 1);
        sim_work((int64_t)sim_random(200000));
}

static void take_main(void)
{
        weft_config cfg = { .procs = 2, .shutdown_ms = 1 };

        run_and_go_on(&cfg, take_first, 1);
}

SIM_SCENARIO(abandon_take, "an M that gets a P again is abandoned at that moment", take_main,
             .may_leave = true, .max_steps = 4 * SCHED_MAX_STEPS)
