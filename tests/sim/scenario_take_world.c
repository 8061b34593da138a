/* tests/sim/scenario_take_world.c - PROTOCOL take together with everything else.
 *
 * A taker asks for Ps at any moment, as in scenario_take.c, while goroutines go to user code in
 * every possible way: regions, the thread's own stack, destructors of locals, functions called
 * once, children in scopes, timers. They are cancelled, exit and stop the world, and often the run
 * ends while some of them are in user code. If no thread is available for a P that was taken, its
 * creation is tried again, also when every other thread sleeps.
 *
 * test: seeds=quarter
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/sched.h"
#include "sim/activities.h"

#include <errno.h>      /* ECANCELED and others */

enum { N_TAKES = 10, N_WORKERS = 4, N_ROUNDS = 3, LONG_NS = 12000000 };

static weft_chan   *chan;
static weft_key     key;
static weft_once    once;
static weft_mutex   mutex;
static w_atomic_u32 stop_taking;
static uint32_t     in_mutex;           /* plain: simulated threads run one at a time */

static void some_while(void *arg)
{
        (void)arg;
        if (sim_random(3))
                sim_work(sim_random(1u << (1 + sim_random(12))));
        else if (sim_random(20) == 0)
                sim_work(LONG_NS);
}

static const struct passing passing = { some_while };

/* ---- The taker ------------------------------------------------------------------------------- */

static void taker(void *arg)
{
        (void)arg;
        foreign_begin();
        for (int i = 0; i < N_TAKES && !w_load_acq(&stop_taking); i++) {
                sim_work(sim_random(1u << (1 + sim_random(12))));
                sched_take_some();
        }
}

/* ---- Ways out -------------------------------------------------------------------------------- */

static void calls_within(void *arg)
{
        int v = 1;

        some_while(arg);
        (void)weft_chan_try_send(chan, &v);
        some_while(arg);
        (void)weft_chan_try_recv(chan, &v);
        weft_yield();
        (void)weft_checkpoint();
        (void)!weft_go(some_while, NULL);
        (void)weft_unpark(weft_id());
}

static void in_region(void)
{
        weft_block_begin();
        calls_within(NULL);
        if (sim_random(2))
                SIM_CHECK(weft_blocking(calls_within, NULL) == 0, "blocking");
        weft_block_end();
}

static void in_call(void *arg)
{
        calls_within(arg);
        weft_block_begin();
        some_while(arg);
        weft_block_end();
}

static void under_mutex(void)
{
        weft_mutex_lock(&mutex);
        SIM_CHECK(in_mutex++ == 0, "two in the mutex");
        some_while(NULL);
        in_mutex--;
        weft_mutex_unlock(&mutex);
}

static void pass_a_value(void)
{
        int v = 1;

        SIM_CHECK(weft_chan_send(chan, &v) == 0, "send");
        some_while(NULL);
        SIM_CHECK(weft_chan_recv(chan, &v) == 0 && v == 1, "received %d", v);
}

static void go_out(void)
{
        switch (sim_random(10)) {
        case 0: in_region(); break;
        case 1: SIM_CHECK(weft_blocking(in_call, NULL) == 0, "blocking"); break;
        case 2: SIM_CHECK(in_scope(&passing) == 0, "open"); break;
        case 3: by_timer(&passing); break;
        case 4: under_mutex(); break;
        case 5: pass_a_value(); break;
        case 6: weft_once_do(&once, some_while, NULL); break;
        case 7: (void)weft_check(); break;
        case 8: SIM_CHECK(weft_local_set(key, &key) == 0, "set"); break;
        default: SIM_CHECK(weft_sleep((int64_t)sim_random(5000)) == 0, "sleep"); break;
        }
}

static void worker(void *arg)
{
        for (int i = 0; i < N_ROUNDS; i++) {
                some_while(arg);
                go_out();
        }
        if (sim_random(3) == 0)
                weft_exit();
}

static void start_workers(int64_t ids[])
{
        weft_once  fresh = WEFT_ONCE_INIT;
        weft_mutex free = WEFT_MUTEX_INIT;

        once = fresh;
        mutex = free;
        in_mutex = 0;
        chan = weft_chan_new(sizeof(int), 2 * N_WORKERS);
        for (int i = 0; i < N_WORKERS; i++)
                ids[i] = sched_go(worker, NULL);
}

/* Half of the runs end without waiting; then the channel ends with the run. */
static void first(void *arg)
{
        int64_t ids[N_WORKERS];

        start_workers(ids);
        some_while(arg);
        if (sim_random(2))
                return;
        for (int i = 0; i < N_WORKERS; i++)
                sched_join(ids[i]);
        SIM_CHECK(weft_check() == 0, "check");
}

static void first_with_taker(void *arg)
{
        struct worker thread;

        worker_start(&thread, "taker", taker, NULL);
        first(arg);
        w_store_rel(&stop_taking, 1);
        worker_join(&thread);
}

static void world_main(void)
{
        weft_config cfg = { .procs = 1 + (int)sim_random(4) };

        w_store_rlx(&stop_taking, 0);
        SIM_CHECK(weft_key_new(&key, some_while) == 0, "no key");
        sched_run_well(&cfg, sim_random(4) ? first_with_taker : first);
        weft_key_free(key);
}

SIM_SCENARIO(take_world, "Ps are taken while everything else goes on and ends", world_main,
             .max_steps = 2 * SCHED_MAX_STEPS)

/* ---- No thread is available ------------------------------------------------------------------ */

enum { N_STUCK = 3, STUCK_NS = 5000000, OFTEN_ENOUGH_NS = 100000000 };

static w_atomic_u32 go_on;

static void stuck(void *arg)
{
        (void)arg;
        weft_block_begin();
        while (!w_load_acq(&go_on) && w_sched.sysmon.retry_pause < OFTEN_ENOUGH_NS)
                w_os_sleep_until(w_os_now() + STUCK_NS);
        w_store_rel(&go_on, 1);         /* all: with a thread the pause is short again */
        weft_block_end();
}

static void release(void *arg)
{
        (void)arg;
        w_store_rel(&go_on, 1);
}

/* All threads are stuck until one more goroutine has run: only the monitor can try to create a
 * thread. That may fail for long; then it is enough that the monitor goes on trying. */
static void scarce_first(void *arg)
{
        for (int i = 0; i < N_STUCK; i++)
                (void)!weft_go(stuck, arg);
        if (weft_go(release, arg) < 0)
                release(arg);
        weft_yield();
        stuck(arg);
}

static void scarce_main(void)
{
        weft_config cfg = { .procs = 1 };

        w_store_rlx(&go_on, 0);
        sched_work_may_wait = true;
        int rc = sched_run(&cfg, scarce_first);

        SIM_CHECK(rc == 0 || rc == -EAGAIN || rc == -ENOMEM || rc == -EBUSY,
                  "sched_run returned %d", rc);
}

SIM_SCENARIO(take_scarce, "a pending thread is created although all are blocked", scarce_main,
             .calls_fail = true, .max_steps = SCHED_MAX_STEPS)
