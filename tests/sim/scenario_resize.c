/* tests/sim/scenario_resize.c - PROTOCOL resize: Ps come and go during everything else.
 *
 * Goroutines yield, park, spawn, sleep, use timers, enter regions and compute, and have their Ps
 * taken meanwhile. Other goroutines and a foreign thread change the number of Ps or stop the world
 * to check everything. At the end every goroutine has ended, every sleeper woke, every timer fired
 * or was stopped, and the counts agree.
 *
 * test: seeds=quarter
 *
 * SPDX-License-Identifier: MIT
 */
#include "sim/sched_world.h"

#include <errno.h>      /* ENOMEM and others */

enum { N_BUSY = 4, ROUNDS = 4, RESIZES = 4, PROCS_MAX = 5, LONG_NS = 15000000 };

static uint32_t     n_started, n_ended, n_fired;        /* plain: threads run one at a time */
static w_atomic_u32 stop_taking;

static void brief(void *arg)
{
        (void)arg;
        if (sim_random(2))
                sim_work(sim_random(500));
        n_ended++;
}

/* At the end of a run nothing is spawned any more. */
static void go_brief(void)
{
        n_started++;
        int64_t id = weft_go(brief, NULL);

        SIM_CHECK(id > 0 || id == -ESHUTDOWN, "weft_go returned %ld", (long)id);
}

/* ---- Resizers -------------------------------------------------------------------------------- */

static bool refusals;           /* memory may be refused */

static void resize(int n)
{
        int rc = weft_procs(n);

        SIM_CHECK((rc >= 1 && rc <= PROCS_MAX) || (refusals && rc == -ENOMEM) || rc == -ESHUTDOWN,
                  "weft_procs(%d) returned %d", n, rc);
}

static void resizer(void *arg)
{
        (void)arg;
        for (int i = 0; i < RESIZES; i++) {
                resize(1 + (int)sim_random(PROCS_MAX));
                if (sim_random(2))
                        sim_work(sim_random(2000));
                else
                        weft_yield();
                if (sim_random(3) == 0)
                        SIM_CHECK(weft_check() == 0, "weft_check");
        }
}

static void foreign_resizer(void *arg)
{
        (void)arg;
        foreign_begin();
        for (int i = 0; i < RESIZES; i++) {
                sim_work(sim_random(3000));
                resize(1 + (int)sim_random(PROCS_MAX));
        }
}

/* ---- Goroutines that run meanwhile ----------------------------------------------------------- */

static void fire(void *arg)
{
        (void)arg;
        n_fired++;
}

/* Set on one P, postponed and stopped on others. */
static void use_timer(void)
{
        weft_timer *t = weft_timer_new((int64_t)sim_random(4000), fire, NULL);
        uint32_t    before = n_fired;

        if (!t)
                return;
        weft_yield();
        int rc = weft_timer_reset(t, (int64_t)sim_random(4000));

        if (rc >= 0 && sim_random(2))
                for (int64_t ns = 4000; n_fired == before; ns *= 2)     /* another's will do */
                        (void)weft_sleep(ns);
        (void)weft_timer_stop(t);
        weft_timer_free(t);
}

static void in_region(void)
{
        weft_block_begin();
        sim_work(sim_random(1u << (1 + sim_random(12))));
        go_brief();
        weft_block_end();
}

static void sleep_some(void)
{
        int64_t begin = sim_now(), ns = (int64_t)sim_random(6000);
        int     rc = weft_sleep(ns);

        SIM_CHECK(rc == 0 || rc == -ENOMEM, "weft_sleep returned %d", rc);
        SIM_CHECK(rc < 0 || sim_now() - begin >= ns, "woken %ld ns early",
                  (long)(ns - (sim_now() - begin)));
}

/* Seldom for so long that other Ms must have taken what it queued before. */
static void compute(void)
{
        if (sim_random(16) == 0) {
                go_brief();
                sim_work(LONG_NS);
        } else {
                sim_work(sim_random(4000));
        }
}

static void busy(void *arg)
{
        (void)arg;
        for (uint32_t i = 0; i < ROUNDS; i++) {
                switch (sim_random(7)) {
                case 0: weft_yield(); break;
                case 1: weft_unpark(weft_id()); weft_park(); break;
                case 2: go_brief(); break;
                case 3: compute(); break;
                case 4: sleep_some(); break;
                case 5: in_region(); break;
                default: use_timer();
                }
        }
        n_ended++;
}

/* ---- Ps are taken at any moment -------------------------------------------------------------- */

static void taker(void *arg)
{
        (void)arg;
        foreign_begin();
        for (int i = 0; i < 20 && !w_load_acq(&stop_taking); i++) {
                sim_work(sim_random(1u << (1 + sim_random(12))));
                sched_take_some();
        }
}

/* ---- All of them ----------------------------------------------------------------------------- */

static void await_all(void)
{
        for (int64_t ns = 500; n_ended < n_started; ns *= 2)
                (void)weft_sleep(ns);
        SIM_CHECK(n_ended == n_started, "%u started, %u ended", n_started, n_ended);
}

static void first(void *arg)
{
        struct worker threads[2];
        int64_t       resizers[2];

        (void)arg;
        n_started = n_ended = n_fired = 0;
        w_store_rlx(&stop_taking, 0);
        worker_start(&threads[0], "taker", taker, NULL);
        worker_start(&threads[1], "resizer", foreign_resizer, NULL);
        for (int i = 0; i < N_BUSY; i++) {
                n_started++;
                (void)sched_go(busy, NULL);
                if (i < 2)
                        resizers[i] = sched_go(resizer, NULL);
        }
        for (int i = 0; i < 2; i++)
                sched_join(resizers[i]);
        await_all();
        w_store_rel(&stop_taking, 1);   /* scenario's own */
        for (int i = 0; i < 2; i++)
                worker_join(&threads[i]);
        SIM_CHECK(weft_check() == 0, "weft_check");
}

static void resize_main(void)
{
        refusals = false;
        sched_run_well(NULL, first);
}

SIM_SCENARIO(resize_world, "more Ps and fewer while goroutines do all they can", resize_main,
             .max_steps = 2 * SCHED_MAX_STEPS)

/* ---- The end of the run meets it ------------------------------------------------------------- */

static void busy_for_ever(void *arg)
{
        for (;;) {
                busy(arg);
                if (sim_random(4) == 0)
                        weft_park();
        }
}

static void resize_for_ever(void *arg)
{
        (void)arg;
        for (;;) {
                resize(1 + (int)sim_random(PROCS_MAX));
                weft_yield();
                sim_work(1 + sim_random(500));
        }
}

static void ending_first(void *arg)
{
        (void)arg;
        for (int i = 0; i < N_BUSY; i++)
                (void)sched_go(i % 2 ? busy_for_ever : resize_for_ever, NULL);
        sim_work(sim_random(1u << (4 + sim_random(9))));
        if (sim_random(2))
                weft_yield();
}

static void outlive(void *arg)
{
        (void)arg;
        foreign_begin();
        for (int i = 0; i < 12; i++) {
                resize(1 + (int)sim_random(PROCS_MAX));
                (void)weft_count();
                sim_work(sim_random(3000));
        }
}

/* Twice: the second run would find what the first run leaves. */
static void ending_main(void)
{
        struct worker thread;

        refusals = false;
        worker_start(&thread, "outlive", outlive, NULL);
        sched_run_well(NULL, ending_first);
        sched_run_well(NULL, ending_first);
        worker_join(&thread);
}

SIM_SCENARIO(resize_end, "goroutine 1 returns while others change the number of Ps", ending_main,
             .max_steps = SCHED_MAX_STEPS)

/* ---- Timers armed without a P ---------------------------------------------------------------- */

static weft_chan *chan, *never;
static uint32_t   n_waiters;

/* A goroutine that loses its P here arms its timer in any heap, also in a heap that is about to go.
 * A goroutine that gets its element in time removes the timer, wherever it is by then. */
static void wait_with_deadline(void *arg)
{
        weft_scope s;
        int        v;

        (void)arg;
        for (int i = 0; i < 4; i++) {
                int64_t begin = sim_now(), ns = 1 + (int64_t)sim_random(8000);

                SIM_CHECK(weft_scope_open(&s, ns) == 0, "open");
                sim_work(sim_random(3000));
                int rc = weft_chan_recv(sim_random(2) ? chan : never, &v);

                SIM_CHECK(rc == 0 || (rc == -ETIMEDOUT && sim_now() - begin >= ns),
                          "recv returned %d after %ld of %ld ns", rc, (long)(sim_now() - begin),
                          (long)ns);
                (void)weft_scope_close(&s);
        }
        n_waiters--;
}

/* A foreign thread. */
static void use_timers(void *arg)
{
        (void)arg;
        foreign_begin();
        for (int i = 0; i < 3; i++)
                use_timer();
        n_waiters--;
}

static void resize_and_send(int64_t ns)
{
        int v = 0;

        resize(1 + (int)sim_random(PROCS_MAX));
        if (sim_random(2))
                (void)weft_chan_try_send(chan, &v);
        if (sim_random(4) == 0)
                SIM_CHECK(weft_check() == 0, "weft_check");
        (void)weft_sleep((int64_t)sim_random((uint32_t)ns));
}

static void deadlines_first(void *arg)
{
        struct worker threads[2];

        (void)arg;
        chan = weft_chan_new(sizeof(int), 0);
        never = weft_chan_new(sizeof(int), 0);
        n_waiters = 4;
        w_store_rlx(&stop_taking, 0);
        worker_start(&threads[0], "taker", taker, NULL);
        worker_start(&threads[1], "timers", use_timers, NULL);
        for (int i = 0; i < 3; i++)
                (void)sched_go(wait_with_deadline, NULL);
        for (int64_t ns = 1000; n_waiters; ns += ns / 4)
                resize_and_send(ns);
        w_store_rel(&stop_taking, 1);   /* scenario's own */
        for (int i = 0; i < 2; i++)
                worker_join(&threads[i]);
        weft_chan_unref(chan);
        weft_chan_unref(never);
        SIM_CHECK(weft_check() == 0, "weft_check");
}

static void deadlines_main(void)
{
        refusals = false;
        sched_run_well(NULL, deadlines_first);
}

SIM_SCENARIO(resize_timers, "heaps are closed while Ms without a P arm timers in them",
             deadlines_main, .max_steps = SCHED_MAX_STEPS)

/* ---- Memory and threads are refused ---------------------------------------------------------- */

static void scarce_first(void *arg)
{
        (void)arg;
        n_started = n_ended = 0;
        for (int i = 0; i < 12; i++) {
                int before = weft_procs(0), n = 1 + (int)sim_random(2 * PROCS_MAX);
                int rc = weft_procs(n);

                SIM_CHECK(rc == before || rc == -ENOMEM, "weft_procs returned %d", rc);
                SIM_CHECK(weft_procs(0) == (rc < 0 ? before : n), "%d Ps", weft_procs(0));
                n_started++;
                if (weft_go(brief, NULL) < 0)
                        n_started--;
                (void)weft_sleep((int64_t)sim_random(2000));
                SIM_CHECK(weft_check() == 0, "weft_check");
        }
        while (n_ended < n_started)
                weft_yield();
}

static void scarce_main(void)
{
        weft_config cfg = { .stack_size = 128 << 10 };  /* the memory of one P in a mapping */

        refusals = true;
        sched_work_may_wait = true;
        int rc = sched_run(&cfg, scarce_first);

        SIM_CHECK(rc == 0 || rc == -EAGAIN || rc == -ENOMEM || rc == -EBUSY,
                  "sched_run returned %d", rc);
}

SIM_SCENARIO(resize_scarce, "memory for more Ps is refused, and for their timers", scarce_main,
             .calls_fail = true, .max_steps = SCHED_MAX_STEPS)

/* ---- Following the machine ------------------------------------------------------------------- */

enum { SECOND = 1000000000 };

static void look_up(void)
{
        while (weft_procs(0) != 3)
                (void)weft_sleep(1000000);
}

/* The program sets a number at the very moment when the monitor changes it: the program wins. */
static void follow_first(void *arg)
{
        (void)arg;
        SIM_CHECK(weft_procs(0) == 2, "%d Ps", weft_procs(0));
        for (int i = 0; i < N_BUSY; i++)
                (void)sched_go(busy, NULL);
        sim_machine_has(8, 3);
        if (sim_random(2)) {
                (void)weft_sleep(SECOND + sim_random(300));
                look_up();
        } else {
                (void)weft_sleep(SECOND - 2000 + sim_random(20000));
                sim_work(sim_random(4000));
                int n = 1 + (int)sim_random(PROCS_MAX);

                resize(n);
                (void)weft_sleep(20000000);
                SIM_CHECK(weft_procs(0) == n, "set to %d, but %d", n, weft_procs(0));
                SIM_CHECK(weft_procs(WEFT_PROCS_AUTO) == n && weft_procs(0) == 3, "auto");
        }
        SIM_CHECK(weft_check() == 0, "weft_check");
}

static void follow_main(void)
{
        weft_config cfg = { .procs = SCHED_PROCS_FOUND };

        refusals = false;
        sim_machine_has(2, 0);
        sched_run_well(&cfg, follow_first);
}

SIM_SCENARIO(resize_follow, "the monitor follows the machine, until the program sets a number",
             follow_main, .max_steps = 2 * SCHED_MAX_STEPS)
