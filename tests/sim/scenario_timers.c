/* tests/sim/scenario_timers.c - PROTOCOL timers and PROTOCOL timekeeper: never early, never
 * forgotten.
 *
 * Sleepers and plain timers. A timer that is due counts as work (I10, checked at each step).
 * Wherever another M must fire it, goroutines compute for longer than work may wait.
 *
 * test: seeds=quarter
 *
 * SPDX-License-Identifier: MIT
 */
#include "sim/sched_world.h"
#include "sched/timer/timers.h"

enum { LONG_NS = 13000000, SHORT_NS = 2000000 };

static w_atomic_u32 n_alive;
static int64_t      first_id;

static void short_while(void)
{
        if (sim_random(3))
                sim_work(sim_random(1u << (1 + sim_random(12))));
}

static void done(void)
{
        if (w_sub_acqrel(&n_alive, 1) == 1)             /* scenario's own */
                weft_unpark(first_id);
}

static void submit(void (*fn)(void *), void *arg)
{
        w_add_rlx(&n_alive, 1);
        (void)sched_go(fn, arg);
}

static void begin(void)
{
        first_id = weft_id();
        w_store_rlx(&n_alive, 1);
}

static void await_all(void)
{
        if (w_sub_acqrel(&n_alive, 1) > 1)              /* scenario's own */
                weft_park();
        SIM_CHECK(w_load_rlx(&n_alive) == 0, "woken too early");
}

/* A sleep of about the length of a few steps, or of other sleeps, or much longer. */
static int64_t some_ns(void)
{
        switch (sim_random(4)) {
        case 0:
                return sim_random(1u << (1 + sim_random(12)));
        case 1:
                return SHORT_NS;
        default:
                return sim_random(SHORT_NS);
        }
}

static void sleep_checked(int64_t ns)
{
        int64_t at = weft_now() + ns;
        int     rc = weft_sleep(ns);

        SIM_CHECK(rc == 0, "weft_sleep returned %d", rc);
        SIM_CHECK(weft_now() >= at, "woken %ld ns early", (long)(at - weft_now()));
}

/* ---- Sleepers -------------------------------------------------------------------------------- */

static void sleeper(void *arg)
{
        (void)arg;
        for (uint32_t n = 1 + sim_random(3); n > 0; n--) {
                sleep_checked(some_ns());
                short_while();
                if (sim_random(4) == 0)
                        sim_work(LONG_NS);
        }
        done();
}

static void sleep_all(void)
{
        for (uint32_t n = 1 + sim_random(4); n > 0; n--) {
                submit(sleeper, NULL);
                short_while();
        }
        if (sim_random(2))
                sleep_checked(some_ns());
        await_all();
}

static void sleep_first(void *arg)
{
        (void)arg;
        begin();
        sleep_all();
}

static void sleep_main(void)
{
        sched_run_well(NULL, sleep_first);
}

SIM_SCENARIO(timers_sleep, "goroutines sleep and compute; each wakes in time", sleep_main,
             .max_steps = SCHED_MAX_STEPS)

static void sleep_one_main(void)
{
        weft_config cfg = { .procs = 1 };

        sched_run_well(&cfg, sleep_first);
}

SIM_SCENARIO(timers_one_p, "the same with one P, which has to be left and taken again",
             sleep_one_main, .max_steps = SCHED_MAX_STEPS)

/* Threads that have nothing to do end sooner than the sleepers wake. */
static void sleep_idle_main(void)
{
        weft_config cfg = { .idle_ms = 1 };

        sched_run_well(&cfg, sleep_first);
}

SIM_SCENARIO(timers_idle_end, "threads end for want of work while goroutines sleep",
             sleep_idle_main, .max_steps = SCHED_MAX_STEPS)

/* ---- The timekeeper sleeps for longer than a new timer --------------------------------------- */

static void fire_soon(void *arg)
{
        (void)arg;
        done();
}

static void long_sleeper(void *arg)
{
        (void)arg;
        sleep_checked(2 * LONG_NS + some_ns());
        done();
}

/* The other P is idle, or becomes idle just now; this goroutine computes and does not search. */
static void arm_and_compute(void *arg)
{
        (void)arg;
        short_while();
        w_add_rlx(&n_alive, 1);
        weft_timer *t = weft_timer_new(some_ns() / 8, fire_soon, NULL);

        SIM_CHECK(t, "no timer");
        sim_work(LONG_NS + SHORT_NS);
        weft_timer_free(t);
        done();
}

static void timekeeper_first(void *arg)
{
        (void)arg;
        begin();
        if (sim_random(4))
                submit(long_sleeper, NULL);
        submit(arm_and_compute, NULL);
        short_while();
        if (sim_random(2))
                sleep_checked(some_ns());
        await_all();
}

static void timekeeper_main(void)
{
        weft_config cfg = { .procs = 2 };

        sched_run_well(&cfg, timekeeper_first);
}

SIM_SCENARIO(timekeeper_arm, "a goroutine arms a timer and computes, while other Ms go to sleep",
             timekeeper_main, .max_steps = SCHED_MAX_STEPS)

/* ---- Several are due at one moment, just when others run out of work ------------------------- */

static int64_t batch_at;

static void batch_sleeper(void *arg)
{
        (void)arg;
        int64_t ns = batch_at - weft_now();

        if (ns > 0)
                sleep_checked(ns);
        sim_work(LONG_NS);
        done();
}

static void compute_until_then(void)
{
        int64_t ns = batch_at - weft_now() + sim_random(1u << (1 + sim_random(10)));

        if (ns > 0)
                sim_work(ns);
}

static void batch_computer(void *arg)
{
        (void)arg;
        compute_until_then();
        done();
}

static void batch_first(void *arg)
{
        (void)arg;
        begin();
        batch_at = weft_now() + SHORT_NS / 2;
        for (int i = 0; i < 2; i++)
                submit(batch_sleeper, NULL);
        while (sim_random(8))
                weft_yield();
        submit(batch_computer, NULL);
        compute_until_then();
        await_all();
}

static void batch_main(void)
{
        weft_config cfg = { .procs = 2 };

        sched_run_well(&cfg, batch_first);
}

SIM_SCENARIO(timers_batch, "several wake on one P, just when another has run out of work",
             batch_main, .max_steps = SCHED_MAX_STEPS)

/* ---- Sleepers while the world stops and starts ----------------------------------------------- */

static void checker(void *arg)
{
        (void)arg;
        for (uint32_t n = 1 + sim_random(3); n > 0; n--) {
                short_while();
                int rc = weft_check();

                SIM_CHECK(rc == 0, "weft_check returned %d", rc);
                if (sim_random(2))
                        sleep_checked(some_ns());
        }
        if (sim_random(2))
                sim_work(LONG_NS);
        done();
}

static void stop_first(void *arg)
{
        (void)arg;
        begin();
        submit(checker, NULL);
        sleep_all();
}

static void stop_main(void)
{
        sched_run_well(NULL, stop_first);
}

SIM_SCENARIO(timers_stop, "the world is stopped and started while goroutines sleep", stop_main,
             .max_steps = SCHED_MAX_STEPS)

/* ---- Disarming ------------------------------------------------------------------------------- */

enum { N_TIMERS = 6, ALIVE = 0x600d };

/* The record of a call that may return as soon as its timer is disarmed. */
struct frame {
        struct timer timer;
        uint32_t     magic;
        int64_t      at;
        uint32_t     n_claimed;
};

static struct frame  frames[N_TIMERS];
static w_atomic_u32  n_armed;
static struct timers elsewhere;         /* only its address is used */

static struct g *claim_frame(struct timer *t)
{
        struct frame *f = W_CONTAINER_OF(t, struct frame, timer);

        SIM_CHECK(f->magic == ALIVE, "a timer fires after it was disarmed");
        SIM_CHECK(w_os_now() >= f->at, "a timer fires early");
        SIM_CHECK(f->n_claimed++ == 0, "a timer fires twice");
        return NULL;
}

/* As in a public call: in the runtime. */
static void arm(struct frame *f)
{
        *f = (struct frame){ .timer.claim = claim_frame, .magic = ALIVE,
                             .at = w_os_now() + some_ns() / 16 };
        W_ENTER();
        SIM_CHECK(w_timer_reserve() == 0 && w_timer_arm(&f->timer, f->at), "no memory");
        W_LEAVE();
}

static bool disarm(struct frame *f)
{
        W_ENTER();
        bool was = w_timer_disarm(&f->timer);

        W_LEAVE();
        return was;
}

static void armer(void *arg)
{
        (void)arg;
        for (int i = 0; i < N_TIMERS; i++) {
                arm(&frames[i]);
                w_add_rel(&n_armed, 1);                 /* scenario's own */
                short_while();
        }
        done();
}

static void disarmer(void *arg)
{
        (void)arg;
        for (uint32_t i = 0; i < N_TIMERS; i++) {
                while (w_load_acq(&n_armed) <= i)       /* scenario's own */
                        weft_yield();
                short_while();
                bool was = disarm(&frames[i]);

                SIM_CHECK(was == (frames[i].n_claimed == 0), "disarmed: %d, fired: %u", was,
                          frames[i].n_claimed);
                frames[i].magic = 0;
                w_store_rlx(&frames[i].timer.home, &elsewhere);
        }
        done();
}

static void disarm_first(void *arg)
{
        (void)arg;
        begin();
        w_store_rlx(&n_armed, 0);
        submit(armer, NULL);
        submit(disarmer, NULL);
        submit(sleeper, NULL);
        await_all();
        for (int i = 0; i < N_TIMERS; i++)
                SIM_CHECK(w_load_rlx(&frames[i].timer.home) == &elsewhere,
                          "a record was touched after it was disarmed");
}

static void disarm_main(void)
{
        sched_run_well(NULL, disarm_first);
}

SIM_SCENARIO(timers_disarm, "timers are disarmed as they become due, and their records reused",
             disarm_main, .max_steps = SCHED_MAX_STEPS)
