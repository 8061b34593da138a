/* tests/sim/scenario_world.c - all protocols at once, and a run that ends during them.
 *
 * Goroutines wait, compute, block, are in regions, call weft_nopreempt_begin, are locked to their
 * threads and end locked; some stop the world or change the number of Ps. Foreign threads take Ps,
 * do the same, and call weft. Signals arrive. Runs end during all this, with goroutine 1 or in the
 * background; some abandon threads, and another run follows. If the scenario waits for a run, every
 * count is exact.
 *
 * test: seeds=quarter
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/run/foreign.h"
#include "sched/run/run.h"
#include "sim/activities.h"

#include <errno.h>      /* -Exxx */
#include <signal.h>     /* sets and numbers */

enum { MS = 1000000, N_RUNS = 2, N_WORKERS = 4, N_ROUNDS = 4, N_FOREIGN = 2, PROCS_MAX = 4 };

/* One run. Plain words: simulated threads run one at a time. An abandoned thread still has
 * its own. */
struct world {
        weft_chan *chan;
        weft_mutex mutex;
        uint32_t   n_started, n_ended;
        uint32_t   n_in_mutex;
        int64_t    ids[N_WORKERS];
        bool       over;
};

/* A goroutine that may lock its thread. */
struct worker_g {
        struct world       *w;
        struct locked_state locked;
};

static struct world  worlds[N_RUNS], *now_on;
static bool          scarce;            /* calls may fail */
static bool          everything_over;

static void short_while(void)
{
        if (sim_random(3))
                sim_work(sim_random(1u << (1 + sim_random(12))));
}

static void some_while(void *arg)
{
        (void)arg;
        short_while();
        if (sim_random(12) == 0)
                sim_work((int64_t)(1 + sim_random(25)) * MS);
        else if (sim_random(16) == 0)
                w_os_sleep_until(w_os_now() + (int64_t)(1 + sim_random(25)) * MS);
}

static const struct passing passing = { some_while };

static bool is_refusal(int64_t rc)
{
        return rc == -ESHUTDOWN || (scarce && (rc == -ENOMEM || rc == -EAGAIN));
}

/* ---- The workers ----------------------------------------------------------------------------- */

static void brief(void *arg)
{
        struct world *w = arg;

        short_while();
        if (sim_random(2))
                weft_yield();
        w->n_ended++;
}

static int64_t start_one(struct world *w, void (*fn)(void *))
{
        weft_attr attr = { .flags = sim_random(3) ? 0 : WEFT_CHILD_FIRST };

        w->n_started++;
        int64_t id = weft_go_with(&attr, fn, w);

        SIM_CHECK(id > 0 || is_refusal(id), "weft_go_with returned %ld", (long)id);
        if (id < 0)
                w->n_started--;
        return id;
}

static void join(int64_t id)
{
        int rc = weft_join(id);

        SIM_CHECK(rc == 0 || rc == -ESHUTDOWN, "join of %ld returned %d", (long)id, rc);
}

/* ---- What they do ---------------------------------------------------------------------------- */

/* Needs no P, and waits for nothing. */
static void calls_within(struct world *w)
{
        int v = 1;

        if (weft_chan_try_send(w->chan, &v) == 0)
                while (weft_chan_try_recv(w->chan, &v) == -EAGAIN)
                        some_while(NULL);
        (void)weft_checkpoint();
        (void)start_one(w, brief);
        (void)weft_unpark(w->ids[sim_random(N_WORKERS)]);
}

static void in_region(struct worker_g *it)
{
        bool keeps = sim_random(8) == 0;

        weft_block_begin();
        if (sim_random(3) == 0)
                lock_it(&it->locked);
        if (keeps)
                weft_nopreempt_begin();
        some_while(NULL);
        if (sim_random(2))
                calls_within(it->w);
        if (sim_random(3) == 0)
                unlock_it(&it->locked);
        weft_block_end();
        if (keeps) {
                short_while();
                weft_nopreempt_end();
        }
}

static void in_call(void *arg)
{
        some_while(arg);
        calls_within(arg);
}

static void keep(struct worker_g *it)
{
        weft_nopreempt_begin();
        some_while(NULL);
        switch (sim_random(5)) {
        case 0: weft_yield(); break;
        case 1: (void)weft_sleep((int64_t)sim_random(5000)); break;
        case 2: in_region(it); break;
        case 3: lock_it(&it->locked); break;
        default: (void)weft_check(); break;
        }
        short_while();
        weft_nopreempt_end();
}

static void under_mutex(struct world *w)
{
        weft_mutex_lock(&w->mutex);
        SIM_CHECK(w->n_in_mutex++ == 0, "two in the mutex");
        some_while(NULL);
        w->n_in_mutex--;
        weft_mutex_unlock(&w->mutex);
}

static void pass_a_value(struct world *w)
{
        int v = 1;

        SIM_CHECK(weft_chan_send(w->chan, &v) == 0, "send");
        some_while(NULL);
        SIM_CHECK(weft_chan_recv(w->chan, &v) == 0 && v == 1, "received %d", v);
}

static bool is_ending(const struct world *w)
{
        return w->over || w_load_rlx(&w_run_phase) != RUN_ON;
}

/* For other listeners too: each waits for its own signal. */
static void hear(struct world *w)
{
        sigset_t set;
        int      sig = 0;

        sigemptyset(&set);
        sigaddset(&set, SIGUSR1);
        weft_chan *c = weft_signal(&set);

        if (!c)
                return;
        bool caught = sim_raise(SIGUSR1);

        SIM_CHECK(caught || is_ending(w), "the signal is not caught");
        int rc = weft_chan_recv(c, &sig);

        SIM_CHECK((rc == 0 && sig == SIGUSR1) || is_ending(w), "%d: signal %d", rc, sig);
        weft_chan_unref(c);
}

static void wake_another(struct world *w)
{
        (void)weft_unpark(w->ids[sim_random(N_WORKERS)]);
        (void)weft_unpark(weft_id());
        SIM_CHECK(weft_park() == 0, "park");
}

static void resize(void)
{
        int n = 1 + (int)sim_random(PROCS_MAX), rc = weft_procs(n);

        SIM_CHECK((rc >= 1 && rc <= PROCS_MAX) || is_refusal(rc), "weft_procs(%d) returned %d", n,
                  rc);
}

static void check(void)
{
        int rc = weft_check();

        SIM_CHECK(rc == 0 || rc == -ESHUTDOWN, "weft_check returned %d", rc);
}

static void wait_for_child(struct world *w)
{
        int64_t id = start_one(w, brief);

        if (id > 0 && sim_random(2))
                join(id);
}

static void do_something(struct worker_g *it)
{
        struct world *w = it->w;

        switch (sim_random(16)) {
        case 0: case 1: in_region(it); break;
        case 2: SIM_CHECK(weft_blocking(in_call, w) == 0, "blocking"); break;
        case 3: keep(it); break;
        case 4: (void)in_scope(&passing); break;
        case 5: by_timer(&passing); break;
        case 6: under_mutex(w); break;
        case 7: pass_a_value(w); break;
        case 8: hear(w); break;
        case 9: wake_another(w); break;
        case 10: resize(); break;
        case 11: check(); break;
        case 12: wait_for_child(w); break;
        case 13: (void)weft_sleep((int64_t)sim_random(2 * MS)); break;
        case 14: (void)sim_raise(SIGQUIT); break;
        default: weft_yield(); break;
        }
}

static void work(void *arg)
{
        struct worker_g it = { arg, { 0, NULL } };
        bool            locks = sim_random(2);

        for (int i = 0; i < N_ROUNDS; i++) {
                if (locks && sim_random(2))
                        lock_it(&it.locked);
                some_while(NULL);
                check_thread(&it.locked);
                do_something(&it);
                check_thread(&it.locked);
                if (sim_random(2))
                        unlock_it(&it.locked);
        }
        it.w->n_ended++;
        if (sim_random(4) == 0)
                weft_exit();
}

/* ---- Foreign threads ------------------------------------------------------------------------- */

static void take_some(void)
{
        if (!w_foreign_enter())
                return;
        sched_take_some();
        w_foreign_exit();
}

static void nothing(void *arg)
{
        (void)arg;
}

static void call_in(void)
{
        int64_t id;

        switch (sim_random(12)) {
        case 0: check(); break;
        case 1: resize(); break;
        case 2: (void)weft_sleep((int64_t)sim_random(3000)); break;
        case 3:
                id = weft_go(nothing, NULL);
                SIM_CHECK(id > 0 || is_refusal(id), "weft_go returned %ld", (long)id);
                if (id > 0)
                        (void)weft_join(id);
                break;
        case 4: (void)weft_unpark(1 + sim_random(8)); break;
        default: take_some(); break;
        }
}

static void foreign(void *arg)
{
        (void)arg;
        foreign_begin();
        for (int i = 0; i < 30 && !everything_over; i++) {
                short_while();
                if (sim_random(8) == 0)
                        sim_work((int64_t)sim_random(8) * MS);
                call_in();
        }
}

/* ---- Runs ------------------------------------------------------------------------------------ */

/* Only weft_stop ends the run meanwhile. */
static void await_all(struct world *w)
{
        int rc = 0;

        for (int i = 0; i < N_WORKERS; i++)
                if (w->ids[i] > 0)
                        join(w->ids[i]);
        for (int64_t ns = 500; w->n_ended < w->n_started && rc != -ESHUTDOWN; ns *= 2)
                rc = weft_sleep(ns);
        SIM_CHECK(w->n_ended == w->n_started || rc == -ESHUTDOWN, "%u started, %u ended",
                  w->n_started, w->n_ended);
        check();
}

static void start_workers(struct world *w)
{
        w->chan = weft_chan_new(sizeof(int), 2 * N_WORKERS);
        for (int i = 0; w->chan && i < N_WORKERS; i++)
                w->ids[i] = start_one(w, work);
}

static void first(void *arg)
{
        struct world *w = now_on;
        bool          locked = sim_random(4) == 0;

        if (locked)
                weft_thread_lock();
        start_workers(w);
        some_while(arg);
        switch (sim_random(8)) {
        case 0: weft_exit();
        case 1: case 2: return;
        default: await_all(w);
        }
        if (locked && sim_random(2))
                weft_thread_unlock();
}

static int in_background(const weft_config *cfg)
{
        int rc = sched_start(cfg);

        if (rc < 0)
                return rc;
        int64_t id = weft_go(first, NULL);

        SIM_CHECK(id > 0 || is_refusal(id), "weft_go returned %ld", (long)id);
        if (id > 0 && sim_random(2))
                (void)weft_join(id);
        else
                short_while();
        return sched_stop();
}

static void run_once(struct world *w)
{
        static const int preempt[] = { WEFT_PREEMPT_ALL, WEFT_PREEMPT_ALL, WEFT_PREEMPT_BLOCKED,
                                       WEFT_PREEMPT_OFF };
        weft_config cfg = { .procs = 1 + (int)sim_random(PROCS_MAX),
                            .preempt = preempt[sim_random(W_ARRAY_LEN(preempt))],
                            .idle_ms = sim_random(2) ? 1 + (int)sim_random(4) : 0,
                            .shutdown_ms = sim_random(2) ? 1 + (int)sim_random(8) : 0 };

        *w = (struct world){ .mutex = WEFT_MUTEX_INIT };
        now_on = w;
        sched_work_may_wait = scarce;
        sched_migrates = sim_random(8) == 0;
        int rc = sim_random(3) ? sched_run(&cfg, first) : in_background(&cfg);

        SIM_CHECK(rc >= 0 || is_refusal(rc) || (scarce && rc == -EBUSY), "the run returned %d", rc);
        w->over = true;
        sched_migrates = false;
}

static void all_main(void)
{
        struct worker threads[N_FOREIGN];

        everything_over = false;
        for (int i = 0; i < N_FOREIGN; i++)
                worker_start(&threads[i], "foreign", foreign, NULL);
        for (int i = 0; i < N_RUNS; i++)
                run_once(&worlds[i]);
        everything_over = true;
        for (int i = 0; i < N_FOREIGN; i++)
                worker_join(&threads[i]);
        scarce = false;
}

static void scarce_main(void)
{
        scarce = true;
        all_main();
}

SIM_SCENARIO(world_all, "everything goes on at once, and runs end meanwhile", all_main,
             .may_leave = true, .max_steps = 10 * SCHED_MAX_STEPS)
SIM_SCENARIO(world_scarce, "the same where threads and memory are refused now and then",
             scarce_main, .may_leave = true, .calls_fail = true,
             .max_steps = 10 * SCHED_MAX_STEPS)
