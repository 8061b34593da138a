/* tests/sim/scenario_timekeeper.c - PROTOCOL timekeeper: timers are armed just when other Ms read
 * them.
 *
 * timekeeper_notified: the timekeeper's time comes, or it is taken for other work, at the very
 * moment at which a later timer is armed. The armer relies on the timekeeper, which may have read
 * the timers already.
 * timekeeper_not_notified: an M arms a timer on g0, or on the stack of the next
 * goroutine, and continues with a goroutine that computes for long; all other Ms may have gone to
 * sleep without a time. A timer that is due and waits for 10 ms with a P idle is an error (I10,
 * checked at each step).
 *
 * test: seeds=quarter
 *
 * SPDX-License-Identifier: MIT
 */
#include "sim/sched_world.h"

#include "weft.h"

enum { LONG_NS = 13000000, ROUNDS = 4 };

static struct {
        int64_t      waiter;            /* the timekeeper wakes for its deadline */
        int64_t      at;                /* that deadline */
        weft_chan   *c;                 /* ends its wait before */
        w_atomic_u32 n_fired;
} notified;

/* ---- Notified -------------------------------------------------------------------------------- */

/* Waits until a deadline, which mostly does not come: then the timekeeper wakes for nothing, and
 * begins again at once. */
static void wait_until_then(void)
{
        weft_scope s;
        uint64_t   value;

        if (sim_random(4) == 0) {
                (void)weft_sleep(notified.at - weft_now());
                return;
        }
        SIM_CHECK(weft_scope_open(&s, notified.at - weft_now()) == 0, "no scope");
        (void)weft_chan_recv(notified.c, &value);
        (void)weft_scope_close(&s);
}

static void deadline_waiter(void *arg)
{
        (void)arg;
        for (int i = 0; i < ROUNDS; i++) {
                weft_park();
                wait_until_then();
        }
}

static void fire(void *arg)
{
        (void)arg;
        w_add_rlx(&notified.n_fired, 1);
}

/* At `at`, give or take what a few steps take. */
static void meet(int64_t at)
{
        int64_t ns = at - weft_now() + sim_random(1u << (3 + sim_random(6))) - 50;

        if (ns > 0)
                sim_work(ns);
}

/* The new timer is due a little after the deadline of the timekeeper. */
static void one_round(uint32_t round)
{
        int64_t value = 1;

        notified.at = weft_now() + 20000 + sim_random(4000);
        (void)weft_unpark(notified.waiter);
        sim_work(5000 + sim_random(5000));
        (void)weft_chan_try_send(notified.c, &value);
        meet(notified.at);
        weft_timer *t = weft_timer_new(100 + sim_random(3000), fire, NULL);

        SIM_CHECK(t, "no timer");
        while (w_load_rlx(&notified.n_fired) <= round)
                sim_work(LONG_NS / 4);
        weft_timer_free(t);
}

static void armer(void *arg)
{
        (void)arg;
        for (uint32_t i = 0; i < ROUNDS; i++)
                one_round(i);
}

static void foreign_armer(void *arg)
{
        foreign_begin();
        armer(arg);
}

static void notified_first(void *arg)
{
        struct worker thread;
        bool          foreign = sim_random(2);

        (void)arg;
        w_store_rlx(&notified.n_fired, 0);
        notified.c = weft_chan_new(sizeof(int64_t), 1);
        SIM_CHECK(notified.c, "no channel");
        notified.waiter = weft_go(deadline_waiter, NULL);
        if (foreign)
                worker_start(&thread, "foreign", foreign_armer, NULL);
        else
                sched_join(sched_go(armer, NULL));
        sched_join(notified.waiter);
        if (foreign)
                worker_join(&thread);
        weft_chan_unref(notified.c);
}

static void notified_main(void)
{
        weft_config cfg = { .procs = 2 };

        sched_run_well(&cfg, notified_first);
}

SIM_SCENARIO(timekeeper_notified, "a timer is armed when the timekeeper's time comes",
             notified_main, .max_steps = SCHED_MAX_STEPS)

/* ---- Not notified ---------------------------------------------------------------------------- */

enum { N_NAPS = 3 };

static int64_t computer_id;

static void compute(void *arg)
{
        (void)arg;
        sim_work(LONG_NS);
}

/* Sleeps when a goroutine has just become ready here, which then runs next; or when its P has run
 * for so long that g0 picks the next goroutine. */
static void napper(void *arg)
{
        (void)arg;
        for (int i = 0; i < N_NAPS; i++) {
                int64_t id = sim_random(2) ? weft_go(compute, NULL) : 0;

                for (uint32_t n = sim_random(8) ? 0 : sim_random(61); n > 0; n--)
                        weft_yield();
                (void)weft_sleep(1 + sim_random(1u << (4 + sim_random(10))));
                if (id)
                        sched_join(id);
        }
}

/* Is made ready by a foreign thread, at any moment. */
static void computer(void *arg)
{
        (void)arg;
        for (int i = 0; i < N_NAPS; i++) {
                weft_park();
                if (sim_random(2))
                        sim_work(LONG_NS);
        }
}

static void wake_computer(void *arg)
{
        (void)arg;
        foreign_begin();
        for (int rc = 0; rc == 0; rc = weft_unpark(computer_id))
                sim_work(sim_random(2) ? LONG_NS : sim_random(8000));
}

static void not_notified_first(void *arg)
{
        struct worker thread;

        (void)arg;
        computer_id = weft_go(computer, NULL);
        worker_start(&thread, "foreign", wake_computer, NULL);
        int64_t first = weft_go(napper, NULL), second = weft_go(napper, NULL);

        sched_join(first);
        sched_join(second);
        sched_join(computer_id);
        worker_join(&thread);
}

static void not_notified_main(void)
{
        sched_run_well(NULL, not_notified_first);
}

SIM_SCENARIO(timekeeper_not_notified,
             "an M arms a timer and runs a goroutine that computes for long", not_notified_main,
             .max_steps = SCHED_MAX_STEPS)
