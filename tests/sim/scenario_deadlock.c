/* tests/sim/scenario_deadlock.c - PROTOCOL deadlock: no report while a goroutine can be woken, a
 * report when none can.
 *
 * Goroutines sleep most of the time. They are woken by timers, at the end of regions, and by
 * foreign threads. These come and go without notice, create other foreign threads, arm timers and
 * end. So the monitor checks at every stage of a wakeup. In the second half no such thread is left
 * in the end.
 *
 * test: seeds=quarter
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/run/run.h"
#include "sched/sched.h"
#include "sim/sched_world.h"

enum {
        N_ROUNDS = 4,
        N_SLEEPERS = 3,
        N_THREADS = 24,
        STEP_NS = 3000000,
        RESTED_NS = 40000000,           /* the monitor has checked, after some rests of 10 ms */
};

#define FAR_NS INT64_C(100000000000)    /* no run lasts that long */
#define DEADLOCK "all goroutines are asleep - deadlock!"

static struct worker threads[N_THREADS];
static uint32_t      n_threads;         /* plain: simulated threads run one at a time */
static uint32_t      n_joined;
static int64_t       main_id;

static const weft_config impatient = { .idle_ms = 1 };

static void some_while(void)
{
        int64_t ns = sim_random(3) ? sim_random(1u << (4 + sim_random(18))) : 0;

        if (ns)
                sim_work(ns);
}

/* ---- Foreign threads ------------------------------------------------------------------------- */

static void relay(void *arg);

static void send_another(void *arg)
{
        worker_start(&threads[n_threads++], "relay", relay, arg);
}

static void wake_main(void *arg)
{
        (void)arg;
        int rc = weft_unpark(main_id);

        SIM_CHECK(rc == 0, "unpark returned %d", rc);
}

/* In the end it wakes goroutine 1 once, or makes another thread do that. */
static void run_relay(int depth)
{
        some_while();
        switch (sim_random(depth < 2 ? 5 : 4)) {
        case 0:
                wake_main(NULL);
                break;
        case 1:
                if (weft_go(wake_main, NULL) < 0)
                        wake_main(NULL);
                break;
        case 2:
        case 3:
                if (!weft_timer_new(sim_random(4 * STEP_NS), wake_main, NULL))
                        wake_main(NULL);
                break;
        default:
                send_another((void *)(intptr_t)(depth + 1));
        }
        if (sim_random(4) == 0)
                some_while();
}

static void relay(void *arg)
{
        foreign_begin();
        run_relay((int)(intptr_t)arg);
}

/* The simulated machine has few thread numbers. */
static void join_threads(void)
{
        while (n_joined < n_threads)
                worker_join(&threads[n_joined++]);
}

/* ---- Goroutines ------------------------------------------------------------------------------ */

static void sleeper(void *arg)
{
        (void)arg;
        if (sim_random(2))
                some_while();
        (void)weft_park();
        SIM_CHECK(false, "no thread wakes it");
}

/* A timer that was stopped stays in its heap: the timekeeper sleeps until it for nothing. */
static void arm_and_stop(void)
{
        weft_timer *t = weft_timer_new(STEP_NS + (sim_random(2) ? FAR_NS : sim_random(STEP_NS)),
                                       wake_main, NULL);

        if (t)
                SIM_CHECK(weft_timer_stop(t) == 1, "it has gone off early");
        weft_timer_free(t);
}

static void stay_in_region(void *arg)
{
        (void)arg;
        weft_block_begin();
        sim_work(60000 + sim_random(400000));
        weft_block_end();
}

/* More Ms than Ps; some of the Ms end later on. */
static void crowd(void)
{
        for (uint32_t i = 0; i < 4; i++)
                (void)!weft_go(stay_in_region, NULL);
        stay_in_region(NULL);
}

static void one_wait(void)
{
        int rc;

        switch (sim_random(8)) {
        case 0:
                (void)weft_sleep(sim_random(STEP_NS));  /* or no memory for the timer */
                return;
        case 1:
                crowd();
                return;
        case 2:
                some_while();
                return;
        case 3:
                arm_and_stop();
                break;
        case 4:
                if (weft_go(wake_main, NULL) < 0)
                        return;
                rc = weft_park();
                SIM_CHECK(rc == 0, "park returned %d", rc);
                return;
        }
        send_another(NULL);
        rc = weft_park();
        SIM_CHECK(rc == 0, "park returned %d", rc);
        if (sim_random(2))
                join_threads();
}

static void live(void)
{
        n_threads = n_joined = 0;
        main_id = weft_id();
        for (uint32_t i = 0; i < N_SLEEPERS; i++)
                (void)!weft_go(sleeper, NULL);
        for (uint32_t i = 0; i < N_ROUNDS; i++)
                one_wait();
}

/* ---- No report ------------------------------------------------------------------------------- */

static void first(void *arg)
{
        (void)arg;
        live();
        join_threads();
}

static void none_main(void)
{
        sched_run_well(sim_random(2) ? &impatient : NULL, first);
}

SIM_SCENARIO(deadlock_none, "all goroutines sleep, and foreign threads that come and go wake them",
             none_main, .max_steps = SCHED_MAX_STEPS)

static void scarce_main(void)
{
        weft_config cfg = impatient;

        cfg.procs = 1 + (int)sim_random(3);
        sched_work_may_wait = true;
        (void)sched_run(&cfg, first);           /* or it could not start */
}

SIM_SCENARIO(deadlock_scarce, "the same where threads and descriptors are scarce",
             scarce_main, .calls_fail = true, .max_steps = SCHED_MAX_STEPS)

/* ---- Between two checks ---------------------------------------------------------------------- */

static void wake_after(void *arg)
{
        foreign_begin();
        sim_work(1 + sim_random((uint32_t)(uintptr_t)arg));
        if (sim_random(2) || !weft_timer_new(2 * STEP_NS, wake_main, NULL))
                wake_main(NULL);
}

static void wait_for_thread(uint32_t ns)
{
        worker_start(&threads[n_threads++], "waker", wake_after, (void *)(uintptr_t)ns);
        SIM_CHECK(weft_park() == 0, "park failed");
}

/* One thread wakes goroutine 1 and ends, or leaves the wakeup to a timer. That timer may be later
 * than the time to which the timekeeper sleeps in vain. The wakeup creates the next thread. */
static void relay_first(void *arg)
{
        (void)arg;
        n_threads = n_joined = 0;
        main_id = weft_id();
        for (uint32_t i = 0; i < N_THREADS; i++) {
                if (sim_random(4) == 0)
                        arm_and_stop();
                wait_for_thread(1u << (4 + sim_random(14)));
        }
        join_threads();
}

static void relay_main(void)
{
        weft_config cfg = { .procs = 1 + (int)sim_random(2) };

        sched_run_well(&cfg, relay_first);
}

SIM_SCENARIO(deadlock_relay, "one thread after the other wakes goroutine 1 and ends", relay_main,
             .max_steps = SCHED_MAX_STEPS)

/* Waits until Ms are not needed any more, and are about to end. */
static void wait_until_they_end(void)
{
        crowd();
        crowd();
        sim_work(400000 + sim_random(500000));
}

/* Ms end while there is one foreign thread. */
static void shrink_first(void *arg)
{
        (void)arg;
        n_threads = n_joined = 0;
        main_id = weft_id();
        for (uint32_t i = 0; i < 2; i++) {
                wait_until_they_end();
                wait_for_thread(2 * STEP_NS);
        }
        join_threads();
}

static void shrink_main(void)
{
        weft_config cfg = { .procs = 1, .idle_ms = 1 };

        sched_run_well(&cfg, shrink_first);
}

SIM_SCENARIO(deadlock_shrink, "threads of weft end while the monitor counts", shrink_main,
             .max_steps = SCHED_MAX_STEPS)

/* ---- Wake sources ---------------------------------------------------------------------------- */

static bool           wake_source_may;
static int64_t        wake_source_id;
static uint32_t       n_asked;

static bool may_wake(void)
{
        n_asked++;
        return wake_source_may;
}

static struct wake_source source = { .may_wake = may_wake };

/* Plays the kernel: counted as a thread of weft, so that only the wake source shows it. */
static void kernel(void *arg)
{
        (void)arg;
        foreign_begin();
        sim_work(RESTED_NS + sim_random(STEP_NS));
        SIM_CHECK(weft_unpark(wake_source_id) == 0, "there is no goroutine to wake");
        w_lock(&w_sched.lock);
        w_sched.n_helpers--;
        wake_source_may = false;
        w_unlock(&w_sched.lock);
}

static void wake_source_first(void *arg)
{
        struct worker worker;

        (void)arg;
        wake_source_id = weft_id();
        wake_source_may = true;
        n_asked = 0;
        w_deadlock_except(&source);
        w_lock(&w_sched.lock);
        w_sched.n_helpers++;
        w_unlock(&w_sched.lock);
        worker_start(&worker, "kernel", kernel, NULL);
        SIM_CHECK(weft_park() == 0, "park failed");
        worker_join(&worker);
        SIM_CHECK(n_asked > 0, "the wake source was not asked");
}

static void wake_source_main(void)
{
        sched_run_well(NULL, wake_source_first);
}

SIM_SCENARIO(deadlock_wake_source, "a wake source may wake them, and does", wake_source_main,
             .max_steps = SCHED_MAX_STEPS)

/* ---- Report ---------------------------------------------------------------------------------- */

/* Its P may be taken when it enters, and then no P is used any more. */
static void late_sleeper(void *arg)
{
        sim_work(sim_random(2) ? 30000000 : 1 + sim_random(STEP_NS));
        sleeper(arg);
}

static void quiet_thread(void *arg)
{
        (void)arg;
        foreign_begin();
        sim_work(1 + sim_random(2 * STEP_NS));
}

static void found_first(void *arg)
{
        (void)arg;
        live();
        for (uint32_t i = sim_random(3); i > 0; i--)
                (void)sched_go(late_sleeper, NULL);
        if (sim_random(2))
                arm_and_stop();
        if (sim_random(3) == 0)
                worker_start(&threads[n_threads++], "quiet", quiet_thread, NULL);
        if (sim_random(4) == 0)
                weft_exit();
        if (sim_random(2))
                sim_work(1 + sim_random(4 * STEP_NS));
        (void)weft_park();
        SIM_CHECK(false, "no thread wakes it");
}

/* The run before has ended in the middle. */
static void found_main(void)
{
        w_store_rlx(&w_run_phase, RUN_OFF);                       /* own word: there is no run */
        sched_run_well(sim_random(2) ? &impatient : NULL, found_first);
}

SIM_SCENARIO(deadlock_found, "all goroutines sleep, and in the end no thread is left to wake them",
             found_main, .max_steps = SCHED_MAX_STEPS, .dies_of = DEADLOCK)

/* The last M that does not sleep is an M that ends. */
static void gone_first(void *arg)
{
        (void)arg;
        wait_until_they_end();
        (void)weft_park();
        SIM_CHECK(false, "no thread wakes it");
}

static void gone_main(void)
{
        weft_config cfg = { .procs = 1, .idle_ms = 1 };

        w_store_rlx(&w_run_phase, RUN_OFF);                       /* own word: there is no run */
        sched_run_well(&cfg, gone_first);
}

SIM_SCENARIO(deadlock_gone, "all threads sleep, except threads of weft that end", gone_main,
             .max_steps = SCHED_MAX_STEPS, .dies_of = DEADLOCK)
