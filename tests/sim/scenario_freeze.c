/* tests/sim/scenario_freeze.c - PROTOCOL freeze: all threads freeze, and continue.
 *
 * Goroutines compute, block, enter and leave regions, call weft_nopreempt_begin, lock their
 * threads; Ps are taken, threads are preempted. Meanwhile goroutines and foreign threads freeze the
 * world, and check that no frozen thread makes a step. Runs end during this.
 *
 * test: seeds=quarter
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/run/foreign.h"
#include "sched/run/freeze.h"
#include "sched/run/world.h"
#include "sched/switch.h"
#include "sim/activities.h"

enum { MS = 1000000, N_WORKERS = 4, N_ROUNDS = 4, N_STOPS = 3, SOON_NS = 2 * MS };

/* Of each worker: counted up between any two steps of its own code. Plain words: simulated threads
 * run one at a time. */
static uint32_t     n_moves[N_WORKERS], n_ended, n_stood;
static struct g    *whose[N_WORKERS];
static w_atomic_u32 stop_taking;
static weft_chan   *chan;
static bool         all_must_be_seen;

/* ---- The Ms that are frozen ------------------------------------------------------------------ */

static void move_on(int i, int64_t ns)
{
        n_moves[i]++;
        sim_work(ns);
        n_moves[i]++;
}

static void block(int i)
{
        n_moves[i]++;
        w_os_sleep_until(w_os_now() + (int64_t)sim_random(15) * MS);
        n_moves[i]++;
}

static int64_t some_ns(void)
{
        return sim_random(3) ? 1 + sim_random(1u << (1 + sim_random(12)))
                             : 1 + (int64_t)sim_random(15 * MS);
}

static void on_g0(void *arg)
{
        move_on((int)(intptr_t)arg, some_ns());
}

static void go_out(int i)
{
        int v = 1;

        switch (sim_random(8)) {
        case 0: weft_yield(); break;
        case 1: block(i); break;
        case 2:
                weft_block_begin();
                sim_random(2) ? block(i) : move_on(i, some_ns());
                weft_block_end();
                break;
        case 3: SIM_CHECK(weft_blocking(on_g0, (void *)(intptr_t)i) == 0, "blocking"); break;
        case 4: (void)weft_chan_try_send(chan, &v), (void)weft_chan_try_recv(chan, &v); break;
        case 5:
                weft_nopreempt_begin();
                move_on(i, some_ns());
                weft_nopreempt_end();
                break;
        case 6:
                weft_thread_lock();
                move_on(i, some_ns());
                weft_thread_unlock();
                break;
        default: SIM_CHECK(weft_sleep((int64_t)sim_random(5000)) == 0, "sleep"); break;
        }
}

static void worker(void *arg)
{
        int i = (int)(intptr_t)arg;

        whose[i] = w_g();
        for (int round = 0; round < N_ROUNDS; round++) {
                move_on(i, some_ns());
                go_out(i);
        }
        whose[i] = NULL;
        n_ended++;
        if (sim_random(4) == 0) {
                weft_thread_lock();     /* the thread ends, too */
                weft_exit();
        }
}

/* ---- The stoppers ---------------------------------------------------------------------------- */

static int index_of(const struct g *gp)
{
        for (int i = 0; i < N_WORKERS; i++)
                if (gp && whose[i] == gp)
                        return i;
        return -1;
}

static bool is_where_it_was(const struct frozen_m *seen)
{
        return w_load_acq(&seen->m->where) & W_IN_RUNTIME || seen->m->curg == seen->g;
}

static void watch(const struct freeze *f)
{
        uint32_t before[N_WORKERS];

        for (int i = 0; i < N_WORKERS; i++)
                before[i] = n_moves[i];
        sim_work(some_ns());
        for (uint32_t k = 0; k < f->n; k++) {
                const struct frozen_m *seen = &f->ms[k];
                int                    i = index_of(seen->g);

                SIM_CHECK(seen->how != W_SEEN_NOT_YET, "M%u is not settled", seen->m->thread.id);
                SIM_CHECK(!all_must_be_seen || seen->how != W_SEEN_RUNNING, "M%u was not seen",
                          seen->m->thread.id);
                SIM_CHECK(seen->regs.sp != sim_handler_stack, "M%u is shown in its handler",
                          seen->m->thread.id);
                if (seen->how != W_SEEN_FROZEN)
                        continue;
                n_stood++;
                SIM_CHECK(seen->g && is_where_it_was(seen), "M%u runs another goroutine",
                          seen->m->thread.id);
                SIM_CHECK(w_where_is_user(w_load_acq(&seen->m->where)), "M%u froze in the runtime",
                          seen->m->thread.id);
                SIM_CHECK(i < 0 || n_moves[i] == before[i], "M%u is frozen, and moves",
                          seen->m->thread.id);
        }
}

static void freeze_once(void *arg)
{
        struct freeze f;

        (void)arg;
        int64_t began_at = sim_now();

        w_freeze_begin(&f);
        SIM_CHECK(!all_must_be_seen || sim_now() - began_at < SOON_NS, "it took %ld ns",
                  (long)(sim_now() - began_at));
        watch(&f);
        w_freeze_end(&f);
        w_freeze_free(&f);
}

static void stop_once(void)
{
        if (!w_foreign_enter())
                return;
        uint32_t mark = w_enter();

        if (sim_random(4) == 0) {
                weft_dump(2);
        } else if (w_world_stop()) {
                w_on_g0(freeze_once, NULL);
                w_world_start();
        }
        w_leave(mark);
        w_foreign_exit();
}

static void stopper(void *arg)
{
        (void)arg;
        for (int i = 0; i < N_STOPS; i++) {
                sim_work(some_ns());
                stop_once();
        }
        n_ended++;
}

static void foreign(void *arg)
{
        (void)arg;
        foreign_begin();
        for (int i = 0; i < 3 * N_STOPS && !w_load_acq(&stop_taking); i++) {
                sim_work(some_ns());
                if (sim_random(2)) {
                        stop_once();
                } else if (w_foreign_enter()) {
                        sched_take_some();
                        w_foreign_exit();
                }
        }
}

/* ---- The run --------------------------------------------------------------------------------- */

static void first(void *arg)
{
        int64_t       ids[N_WORKERS + 1];
        struct worker thread;

        (void)arg;
        n_ended = 0;
        w_store_rlx(&stop_taking, 0);
        chan = weft_chan_new(sizeof(int), 4);
        worker_start(&thread, "foreign", foreign, NULL);
        for (int i = 0; i < N_WORKERS; i++)
                ids[i] = sched_go(worker, (void *)(intptr_t)i);
        ids[N_WORKERS] = sched_go(stopper, NULL);
        bool waits = sim_random(4);

        for (int i = 0; waits && i <= N_WORKERS; i++)
                sched_join(ids[i]);
        w_store_rel(&stop_taking, 1);
        worker_join(&thread);
        SIM_CHECK(!waits || n_ended == N_WORKERS + 1, "%u have ended", n_ended);
        SIM_CHECK(!waits || weft_check() == 0, "check");
}

static void run(int preempt)
{
        weft_config cfg = { .procs = 1 + (int)sim_random(4), .preempt = preempt };

        for (int i = 0; i < N_WORKERS; i++)
                whose[i] = NULL;
        sched_work_may_wait = !all_must_be_seen;
        int rc = sched_run(&cfg, first);

        SIM_CHECK(rc == 0 || (!all_must_be_seen && rc > 0), "sched_run returned %d", rc);
}

static void all_main(void)
{
        all_must_be_seen = true;
        run(WEFT_PREEMPT_ALL);
}

SIM_SCENARIO(freeze_all, "all threads freeze while Ps are taken and Ms are preempted", all_main,
             .max_steps = 4 * SCHED_MAX_STEPS)

/* Threads get no CPU for longer than the stopper waits, and answer when the stopper has given
 * up. */
static void starved_main(void)
{
        all_must_be_seen = false;
        sim_cpus_are_scarce(1500 * (int64_t)MS);
        run(WEFT_PREEMPT_ALL);
}

SIM_SCENARIO(freeze_starved, "the stopper does not wait for Ms that do not answer in time",
             starved_main, .may_leave = true, .max_steps = 4 * SCHED_MAX_STEPS)

static void off_main(void)
{
        all_must_be_seen = false;
        n_stood = 0;
        run(sim_random(2) ? WEFT_PREEMPT_OFF : WEFT_PREEMPT_BLOCKED);
        SIM_CHECK(n_stood == 0, "an M is frozen without preemption");
}

SIM_SCENARIO(freeze_off, "without preemption no M freezes, and no stopper waits", off_main,
             .max_steps = 4 * SCHED_MAX_STEPS)
