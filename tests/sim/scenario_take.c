/* tests/sim/scenario_take.c - PROTOCOL take: a P has one owner, and an M that lost its P goes on.
 *
 * A taker asks for Ps at any moment and hands off the Ps that it gets, much more often than the
 * monitor would. Meanwhile goroutines enter and leave weft by every kind of call: calls that need
 * no P, calls that wait, calls that need a P to go on. If two Ms ever work with one P, goroutines
 * get lost or run twice, and the checks of sched_world.h see it; work must not wait while a P is
 * idle (I10).
 *
 * test: seeds=quarter
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/preempt/take.h"
#include "sched/sched.h"
#include "sim/sched_world.h"

#include <errno.h>      /* EPIPE */

enum { N_TAKES = 12, N_WORKERS = 4, N_ROUNDS = 4, LONG_NS = 13000000 };

static weft_chan   *chan;
static w_atomic_u32 n_done, n_taken;
static int64_t      parked;

static void short_while(void)
{
        if (sim_random(3))
                sim_work(sim_random(1u << (1 + sim_random(10))));
}

/* ---- The taker ------------------------------------------------------------------------------- */

static uint32_t ask_some(bool asked[])
{
        uint32_t n = 0;

        w_lock(&w_sched.lock);
        for (uint32_t i = 0; i < w_n_procs(); i++) {
                asked[i] = sim_random(2) && w_take_ask_locked(w_sched.all_p[i]);
                n += asked[i];
        }
        w_unlock(&w_sched.lock);
        return n;
}

static void finish_one(uint32_t i)
{
        struct p *pp = w_sched.all_p[i];

        w_lock(&w_sched.lock);
        if (!w_take_finish_locked(pp, W_ANYWHERE)) {
                w_unlock(&w_sched.lock);
                return;
        }
        w_add_rlx(&n_taken, 1);
        w_hand_off_unlock(pp);
}

static void take_once(void)
{
        bool asked[8];

        w_take_begin();
        if (ask_some(asked)) {
                short_while();
                w_take_barrier();
                for (uint32_t i = 0; i < w_n_procs(); i++)
                        if (asked[i])
                                finish_one(i);
        }
        w_take_end();
}

static void taker(void *arg)
{
        (void)arg;
        foreign_begin();
        for (int i = 0; i < N_TAKES; i++) {
                short_while();
                take_once();
        }
}

/* ---- The other parties ----------------------------------------------------------------------- */

static void brief(void *arg)
{
        (void)arg;
        short_while();
        w_add_acqrel(&n_done, 1);
}

static void spawn_and_join(void)
{
        int64_t id = sched_go(brief, NULL);

        short_while();
        sched_join(id);
}

static void spawn_child_first(void)
{
        static const weft_attr first = { .flags = WEFT_CHILD_FIRST };
        int64_t                id = weft_go_with(&first, brief, NULL);

        SIM_CHECK(id > 0, "weft_go_with returned %ld", (long)id);
        short_while();
        sched_join(id);
}

static void pass_a_value(void)
{
        int in = 1, out = 0;

        SIM_CHECK(weft_chan_send(chan, &in) == 0, "send failed");
        short_while();
        SIM_CHECK(weft_chan_recv(chan, &out) == 0 && out == 1, "received %d", out);
}

static void any_call(void)
{
        switch (sim_random(8)) {
        case 0:
                weft_yield();
                break;
        case 1:
                spawn_and_join();
                break;
        case 2:
                spawn_child_first();
                break;
        case 3:
                pass_a_value();
                break;
        case 4:
                SIM_CHECK(weft_sleep((int64_t)sim_random(5000)) == 0, "sleep failed");
                break;
        case 5:
                (void)weft_checkpoint();
                break;
        case 6:
                SIM_CHECK(weft_check() == 0, "the check refused");
                break;
        default:
                (void)weft_unpark(parked);
                break;
        }
}

static void worker(void *arg)
{
        (void)arg;
        for (int i = 0; i < N_ROUNDS; i++) {
                short_while();
                any_call();
        }
        if (sim_random(4) == 0)
                sim_work(LONG_NS);
}

static void parker(void *arg)
{
        (void)arg;
        SIM_CHECK(weft_park() == 0, "park failed");
        short_while();
}

static void first(void *arg)
{
        struct worker thread;
        int64_t       ids[N_WORKERS];

        (void)arg;
        w_store_rlx(&n_done, 0);
        w_store_rlx(&n_taken, 0);
        chan = weft_chan_new(sizeof(int), N_WORKERS);
        parked = sched_go(parker, NULL);
        worker_start(&thread, "taker", taker, NULL);
        for (int i = 0; i < N_WORKERS; i++)
                ids[i] = sched_go(worker, NULL);
        for (int i = 0; i < N_WORKERS; i++)
                sched_join(ids[i]);
        (void)weft_unpark(parked);
        sched_join(parked);
        worker_join(&thread);
        SIM_CHECK(weft_check() == 0, "the check refused");
        weft_chan_unref(chan);
}

static void take_main(void)
{
        weft_config cfg = { .procs = 1 + (int)sim_random(4) };

        sched_run_well(&cfg, first);
}

SIM_SCENARIO(take_any, "Ps are taken from Ms in user code; an M that lost its P goes on", take_main,
             .max_steps = SCHED_MAX_STEPS)

/* ---- Without membarrier ---------------------------------------------------------------------- */

static void fenced_first(void *arg)
{
        SIM_CHECK(w_sched.retake_base == W_RETAKE_FENCED, "there is a membarrier");
        first(arg);
}

static void fenced_main(void)
{
        weft_config cfg = { .procs = 1 + (int)sim_random(4) };

        sched_run_well(&cfg, fenced_first);
}

/* The first call of a run that may fail is the request for membarrier. */
SIM_SCENARIO(take_fenced, "the same where every entry must pass a fence", fenced_main,
             .max_steps = SCHED_MAX_STEPS, .fail_at = 1)

/* ---- How long it takes ----------------------------------------------------------------------- */

enum {
        COMPUTING_MAX = 4,
        COMPUTES_NS = 300000000,
        STOP_AT_MOST_NS = 5000000,
        GO_ON_AT_MOST_NS = 60000000,
};

static void compute_on(void *arg)
{
        (void)arg;
        sim_work(COMPUTES_NS);
}

static void compute_in_region(void *arg)
{
        weft_block_begin();
        compute_on(arg);
        weft_block_end();
}

static void compute_in_call(void *arg)
{
        (void)weft_blocking(compute_on, arg);
}

/* In a new epoch at each sample of the monitor. */
static void compute_in_short_regions(void *arg)
{
        enum { LONG = 1000000 };

        (void)arg;
        for (int i = 0; i < COMPUTES_NS / LONG; i++) {
                weft_block_begin();
                sim_work(LONG);
                weft_block_end();
        }
}

static uint32_t start_computing(int64_t ids[])
{
        static void (*const kinds[])(void *) = { compute_on, compute_in_region, compute_in_call,
                                                 compute_in_short_regions };
        uint32_t n = 1 + sim_random(COMPUTING_MAX);

        for (uint32_t i = 0; i < n; i++)
                ids[i] = sched_go(kinds[sim_random(4)], NULL);
        return n;
}

static void stop_first(void *arg)
{
        int64_t  ids[COMPUTING_MAX];
        uint32_t n = start_computing(ids);

        (void)arg;
        for (int i = 0; i < 3; i++) {
                weft_yield();
                int64_t before = weft_now();

                SIM_CHECK(weft_check() == 0, "the check refused");
                SIM_CHECK(weft_now() - before < STOP_AT_MOST_NS, "a stop took %ld ns",
                          (long)(weft_now() - before));
        }
        for (uint32_t i = 0; i < n; i++)
                sched_join(ids[i]);
}

static void stop_main(void)
{
        weft_config cfg = { .procs = 1 + (int)sim_random(4) };

        sched_run_well(&cfg, stop_first);
}

SIM_SCENARIO(take_stop, "the world stops although a goroutine computes", stop_main,
             .max_steps = 8 * SCHED_MAX_STEPS)

/* Every goroutine that yields has its turn, although more goroutines compute than there are Ps: the
 * monitor takes care of it. That may take several rounds of 10 ms. */
static void monitor_first(void *arg)
{
        int64_t  ids[COMPUTING_MAX];
        uint32_t n;

        (void)arg;
        if (sim_random(2))
                SIM_CHECK(weft_sleep(20000000) == 0, "sleep");  /* and so does the monitor */
        n = start_computing(ids);
        for (int i = 0; i < 3; i++) {
                int64_t before = weft_now();

                weft_yield();
                sched_join(sched_go(brief, NULL));
                SIM_CHECK(weft_now() - before < (n + 1) * (int64_t)GO_ON_AT_MOST_NS,
                          "others had to wait for %ld ns", (long)(weft_now() - before));
        }
        for (uint32_t i = 0; i < n; i++)
                sched_join(ids[i]);
}

static void monitor_main(void)
{
        weft_config cfg = { .procs = 1 + (int)sim_random(2) };

        sched_run_well(&cfg, monitor_first);
}

SIM_SCENARIO(take_monitor, "goroutines continue beside others that block and compute", monitor_main,
             .max_steps = 8 * SCHED_MAX_STEPS)

/* ---- Lost twice ------------------------------------------------------------------------------ */

static w_atomic_u32 stage;

static void reach(uint32_t to)
{
        w_store_rel(&stage, to);
}

static void await_stage(uint32_t wanted)
{
        while (w_load_acq(&stage) != wanted)
                sim_work(10);
}

/* Takes the P of the only goroutine, which computes. The P is the taker's then. */
static struct p *take_its(struct m *mp)
{
        struct p *its = mp->p;

        w_take_begin();
        w_lock(&w_sched.lock);
        SIM_CHECK(w_take_ask_locked(its), "it cannot be asked");
        w_unlock(&w_sched.lock);
        w_take_barrier();
        w_lock(&w_sched.lock);
        SIM_CHECK(w_take_finish_locked(its, W_ANYWHERE), "it does not lose its P");
        w_unlock(&w_sched.lock);
        w_take_end();
        return its;
}

/* Like a stopper with an M that enters meanwhile and gets a P that was on its way to it. */
static void take_twice(void *mp)
{
        foreign_begin();
        await_stage(1);
        struct p *before = take_its(mp);

        reach(2);
        await_stage(3);
        struct p *last = take_its(mp);

        w_lock(&w_sched.lock);
        SIM_CHECK(before != last && !w_give_back_locked(before), "has a P back that it had before");
        SIM_CHECK(w_give_back_locked(last), "does not have its P back");
        w_hand_off_unlock(before);
        reach(4);
}

static void lose_twice(void *arg)
{
        struct worker thread;

        (void)arg;
        worker_start(&thread, "taker", take_twice, w_m());
        reach(1);
        await_stage(2);
        weft_yield();
        reach(3);
        await_stage(4);
        worker_join(&thread);
        weft_yield();
        SIM_CHECK(weft_check() == 0, "check");
}

/* Not watched: for a while the scenario, not the scheduler, owns Ps. */
static void twice_main(void)
{
        weft_config cfg = { .procs = 2, .stack_size = 16 << 10 };

        w_store_rlx(&stage, 0);
        SIM_CHECK(weft_run_with(&cfg, lose_twice, NULL) == 0, "run");
}

SIM_SCENARIO(take_twice, "an M that has lost two Ps gets back the P that it lost last", twice_main,
             .max_steps = SCHED_MAX_STEPS)
