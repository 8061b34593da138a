/* tests/sim/scenario_lockthread.c - PROTOCOL lockthread: a locked goroutine runs on its thread,
 * which runs nothing else.
 *
 * Goroutines lock and unlock their threads at any moment and do everything that goroutines do:
 * wait, yield, sleep, spawn, stop the world, enter regions; Ps are taken from them; some end
 * locked, and half of the runs end meanwhile. Each goroutine checks after each wait that it is on
 * the thread where it must be.
 *
 * test: seeds=quarter
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/sched.h"
#include "sim/activities.h"

#include <errno.h>      /* EAGAIN and others */

enum { N_WORKERS = 4, N_ROUNDS = 4, N_TAKES = 8 };

static weft_chan   *chan;
static weft_mutex   mutex;
static w_atomic_u32 stop_taking;
static int64_t      ids[N_WORKERS];

static void short_while(void *arg)
{
        (void)arg;
        if (sim_random(3))
                sim_work(sim_random(1u << (1 + sim_random(10))));
        else if (sim_random(20) == 0)
                sim_work(12000000);
}

/* ---- The taker ------------------------------------------------------------------------------- */

static void taker(void *arg)
{
        foreign_begin();
        for (int i = 0; i < N_TAKES && !w_load_acq(&stop_taking); i++) {
                short_while(arg);
                sched_take_some();
        }
}

/* ---- What they do ---------------------------------------------------------------------------- */

static void brief(void *arg)
{
        struct locked_state not = { 0, NULL };

        check_thread(&not);
        short_while(arg);
        weft_yield();
        check_thread(&not);
}

static void in_region(struct locked_state *it)
{
        weft_block_begin();
        if (sim_random(2))
                lock_it(it);
        short_while(NULL);
        weft_yield();
        if (sim_random(2))
                unlock_it(it);
        weft_block_end();
}

static void under_mutex(void)
{
        weft_mutex_lock(&mutex);
        short_while(NULL);
        weft_mutex_unlock(&mutex);
}

static void pass_a_value(void)
{
        int v = 1;

        if (!chan)
                return;         /* no memory */
        SIM_CHECK(weft_chan_send(chan, &v) == 0, "send");
        SIM_CHECK(weft_chan_recv(chan, &v) == 0 && v == 1, "received %d", v);
}

static void wait_for_child(void)
{
        weft_attr attr = { .flags = sim_random(2) ? WEFT_CHILD_FIRST : 0 };
        int64_t   id = weft_go_with(&attr, brief, NULL);

        SIM_CHECK(id > 0 || id == -ENOMEM || id == -ESHUTDOWN, "weft_go_with returned %ld",
                  (long)id);
        if (id > 0 && sim_random(2))
                sched_join(id);
}

static void wake_another(void)
{
        (void)weft_unpark(ids[sim_random(N_WORKERS)]);
        (void)weft_unpark(weft_id());
        SIM_CHECK(weft_park() == 0, "park");
}

static void anything(struct locked_state *it)
{
        switch (sim_random(10)) {
        case 0: in_region(it); break;
        case 1: SIM_CHECK(weft_blocking(short_while, NULL) == 0, "blocking"); break;
        case 2: under_mutex(); break;
        case 3: pass_a_value(); break;
        case 4: (void)weft_check(); break;
        case 5: SIM_CHECK(weft_sleep((int64_t)sim_random(5000)) == 0, "sleep"); break;
        case 6: wait_for_child(); break;
        case 7: wake_another(); break;
        default: weft_yield(); break;
        }
}

static void worker(void *arg)
{
        struct locked_state it = { 0, NULL };

        for (int i = 0; i < N_ROUNDS; i++) {
                if (sim_random(2))
                        lock_it(&it);
                short_while(arg);
                check_thread(&it);
                anything(&it);
                check_thread(&it);
                if (sim_random(2))
                        unlock_it(&it);
        }
        if (sim_random(4) == 0)
                weft_exit();
}

static void start(void)
{
        weft_mutex free = WEFT_MUTEX_INIT;

        mutex = free;
        for (int i = 0; i < N_WORKERS; i++)
                ids[i] = 0;
        chan = weft_chan_new(sizeof(int), 2 * N_WORKERS);
        for (int i = 0; i < N_WORKERS; i++)
                ids[i] = sched_go(worker, NULL);
}

/* Half of the runs end without waiting; in some goroutine 1 is locked, or ends locked. */
static void first(void *arg)
{
        struct m *mp = w_m();
        bool      locked = sim_random(2);

        if (locked)
                weft_thread_lock();
        start();
        short_while(arg);
        if (sim_random(8) == 0)
                weft_exit();
        if (sim_random(2))
                return;
        for (int i = 0; i < N_WORKERS; i++) {
                sched_join(ids[i]);
                SIM_CHECK(!locked || w_m() == mp, "goroutine 1 has left m0");
        }
        if (locked && sim_random(2))
                weft_thread_unlock();
        SIM_CHECK(weft_check() == 0, "check");
}

static void lockthread_main(void)
{
        weft_config cfg = { .procs = 1 + (int)sim_random(4) };

        sched_run_well(&cfg, first);
}

SIM_SCENARIO(lockthread_any, "goroutines are locked to their threads, and end locked",
             lockthread_main, .max_steps = 2 * SCHED_MAX_STEPS)

/* ---- And lose their Ps ----------------------------------------------------------------------- */

static void first_with_taker(void *arg)
{
        struct worker thread;
        bool          locked = sim_random(2);

        if (locked)
                weft_thread_lock();
        worker_start(&thread, "taker", taker, NULL);
        start();
        for (int i = 0; i < N_WORKERS; i++)
                sched_join(ids[i]);
        SIM_CHECK(weft_check() == 0, "check");
        w_store_rel(&stop_taking, 1);
        short_while(arg);
        worker_join(&thread);
}

static void taken_main(void)
{
        weft_config cfg = { .procs = 1 + (int)sim_random(4) };

        w_store_rlx(&stop_taking, 0);
        sched_run_well(&cfg, first_with_taker);
}

SIM_SCENARIO(lockthread_taken, "the same while Ps are taken", taken_main,
             .max_steps = 2 * SCHED_MAX_STEPS)

/* ---- Where threads are scarce ---------------------------------------------------------------- */

static void scarce_main(void)
{
        weft_config cfg = { .procs = 1 + (int)sim_random(2) };

        sched_work_may_wait = true;
        int rc = sched_run(&cfg, first);

        SIM_CHECK(rc == 0 || rc == -EAGAIN || rc == -ENOMEM || rc == -EBUSY,
                  "sched_run returned %d", rc);
}

SIM_SCENARIO(lockthread_scarce, "the same where threads are refused now and then", scarce_main,
             .calls_fail = true, .max_steps = 2 * SCHED_MAX_STEPS)

/* ---- Another thread must create a thread ----------------------------------------------------- */

enum { COMPUTE_NS = 60000000, RUN_WITHIN_NS = 5000000 };

static w_atomic_u32 has_run;

/* Takes a P. Its M continues to compute without it, and no other M needs it. */
static void take_one_of(uint32_t i)
{
        sched_take(1u << i);
}

static void compute(void *arg)
{
        (void)arg;
        sim_work(COMPUTE_NS);
}

static void note_run(void *arg)
{
        (void)arg;
        w_store_rel(&has_run, 1);
}

/* The monitor pauses for long by now, and no M sleeps that could run the goroutine: the monitor
 * must be woken. */
static void spawner(void *arg)
{
        (void)arg;
        foreign_begin();
        sim_work(COMPUTE_NS / 3 + sim_random(COMPUTE_NS / 3));
        take_one_of(sim_random(2));
        int64_t began = weft_now();

        SIM_CHECK(weft_go(note_run, NULL) > 0, "weft_go");
        while (!w_load_acq(&has_run))
                w_os_sleep_until(w_os_now() + 100000);
        SIM_CHECK(weft_now() - began < RUN_WITHIN_NS, "a thread came after %ld ns",
                  (long)(weft_now() - began));
}

static void ask_first(void *arg)
{
        struct worker thread;

        (void)arg;
        worker_start(&thread, "spawner", spawner, NULL);
        sched_go(compute, NULL);
        weft_yield();
        compute(arg);
        worker_join(&thread);
}

static void ask_main(void)
{
        weft_config cfg = { .procs = 2 };

        w_store_rlx(&has_run, 0);
        sched_run_well(&cfg, ask_first);
}

SIM_SCENARIO(thread_request_tainted, "the monitor creates a thread for a tainted thread", ask_main,
             .max_steps = SCHED_MAX_STEPS)

/* ---- The request is dropped ------------------------------------------------------------------ */

enum { N_TURNS = 6 };

/* Its child waits in the queue of its P, and it does not yield. */
static void keep_a_child(void *arg)
{
        (void)arg;
        sched_go(brief, NULL);
        sim_work(COMPUTE_NS);
}

/* The child runs first and yields to it: for a moment neither is in a queue. */
static void keep_one_that_yields(void *arg)
{
        weft_attr attr = { .flags = WEFT_CHILD_FIRST };

        (void)arg;
        SIM_CHECK(weft_go_with(&attr, brief, NULL) > 0, "weft_go_with");
        sim_work(COMPUTE_NS);
}

/* The thread that takes the other P needs a spinner for the child, and must not create a thread. */
static void ask_often(void *arg)
{
        (void)arg;
        foreign_begin();
        for (int i = 0; i < N_TAKES; i++) {
                sim_work(sim_random(1000));
                take_one_of(sim_random(2));
        }
}

static void have_turns(void *arg)
{
        (void)arg;
        for (int i = 0; i < N_TURNS; i++) {
                bool region = sim_random(2);

                if (region)
                        weft_block_begin();
                sim_work(sim_random(1000));
                if (region)
                        weft_block_end();
                weft_yield();
        }
}

/* Goroutine 1 has its P back before the monitor acts, and releases it soon: I10. With three Ps and
 * more some Ms have nothing to do, and are not allowed to spin. */
static void have_turns_beside(void (*fn)(void *))
{
        struct worker thread;

        worker_start(&thread, "requester", ask_often, NULL);
        int64_t id = sched_go(fn, NULL);

        for (uint32_t i = 2; i < w_n_procs(); i++)
                sched_go(have_turns, NULL);
        have_turns(NULL);
        sched_join(id);
        worker_join(&thread);
}

static void dropped_first(void *arg)
{
        (void)arg;
        have_turns_beside(keep_a_child);
}

static void dropped_main(void)
{
        weft_config cfg = { .procs = 2 + (int)sim_random(3) };

        sched_run_well(&cfg, dropped_first);
}

SIM_SCENARIO(thread_request_dropped,
             "a request for a thread is dropped, and what it was for is found", dropped_main,
             .max_steps = SCHED_MAX_STEPS)

static void yielded_first(void *arg)
{
        (void)arg;
        have_turns_beside(keep_one_that_yields);
}

static void yielded_main(void)
{
        weft_config cfg = { .procs = 2 + (int)sim_random(3) };

        sched_run_well(&cfg, yielded_first);
}

SIM_SCENARIO(lockthread_yielded, "a goroutine that has yielded is found while a P is handed off",
             yielded_main, .max_steps = SCHED_MAX_STEPS)
