/* tests/sim/scenario_lazytimer.c - PROTOCOL lazytimer: each setting fires once, or was taken back
 * in time.
 *
 * Timers with functions are set, postponed, brought forward, stopped and freed by goroutines on
 * other Ps than the timers' and by a foreign thread. At the end the numbers must agree: what was
 * set is what fired and what was taken back.
 *
 * test: seeds=quarter
 *
 * SPDX-License-Identifier: MIT
 */
#include "sim/sched_world.h"

enum { N_TIMERS = 3, N_ACTS = 8, SHORT_NS = 1000000 };

struct clock {
        weft_timer  *timer;
        w_atomic_u32 n_set, n_back, n_fired;
        w_atomic_u64 not_before;        /* the next setting to fire; 0: not known */
};

static struct clock clocks[N_TIMERS];
static w_atomic_u32 n_alive;

static void short_while(void)
{
        if (sim_random(3))
                sim_work(sim_random(1u << (1 + sim_random(14))));
}

/* Mostly soon; now and then so late that it must be brought forward, or stopped. */
static int64_t some_ns(void)
{
        if (sim_random(8) == 0)
                return -1;
        if (sim_random(6) == 0)
                return WEFT_SEC(3600);
        return sim_random(1u << (1 + sim_random(19)));
}

static void fire(void *arg)
{
        struct clock *c = arg;

        SIM_CHECK(weft_now() >= (int64_t)w_load_rlx(&c->not_before), "fires early");
        w_add_rlx(&c->n_fired, 1);
}

static uint32_t n_open(struct clock *c)
{
        return w_load_rlx(&c->n_set) - w_load_rlx(&c->n_back) - w_load_rlx(&c->n_fired);
}

/* ---- All at once ----------------------------------------------------------------------------- */

static void act(struct clock *c)
{
        int rc;

        if (sim_random(3)) {
                rc = weft_timer_reset(c->timer, some_ns());
                w_add_rlx(&c->n_set, 1);
        } else {
                rc = weft_timer_stop(c->timer);
        }
        SIM_CHECK(rc == 0 || rc == 1, "returned %d", rc);
        w_add_rlx(&c->n_back, (uint32_t)rc);
}

static void meddler(void *arg)
{
        (void)arg;
        for (int i = 0; i < N_ACTS; i++) {
                act(&clocks[sim_random(N_TIMERS)]);
                short_while();
                if (sim_random(4) == 0)
                        SIM_CHECK(weft_sleep(sim_random(SHORT_NS)) == 0, "sleep");
        }
        w_sub_rlx(&n_alive, 1);
}

static void foreign_meddler(void *arg)
{
        foreign_begin();
        meddler(arg);
}

static void make(struct clock *c)
{
        *c = (struct clock){ 0 };
        w_store_rlx(&c->n_set, 1);
        c->timer = weft_timer_new(some_ns(), fire, c);
        SIM_CHECK(c->timer, "no timer");
}

/* Brings everything forward, waits until what was set and not taken back has fired, and a while
 * longer. */
static void settle(void)
{
        for (int i = 0; i < N_TIMERS; i++) {
                w_store_rlx(&clocks[i].not_before, 0);
                int rc = weft_timer_reset(clocks[i].timer, sim_random(SHORT_NS));

                w_add_rlx(&clocks[i].n_set, 1);
                w_add_rlx(&clocks[i].n_back, (uint32_t)rc);
        }
        SIM_CHECK(weft_sleep(2 * SHORT_NS) == 0, "sleep");
        for (int i = 0; i < N_TIMERS; i++)
                SIM_CHECK(n_open(&clocks[i]) == 0, "%u set, %u taken back, %u fired",
                          w_load_rlx(&clocks[i].n_set), w_load_rlx(&clocks[i].n_back),
                          w_load_rlx(&clocks[i].n_fired));
}

static void crowd_first(void *arg)
{
        struct worker thread;
        int64_t       ids[2];

        (void)arg;
        w_store_rlx(&n_alive, 3);
        for (int i = 0; i < N_TIMERS; i++)
                make(&clocks[i]);
        worker_start(&thread, "foreign", foreign_meddler, NULL);
        for (int i = 0; i < 2; i++)
                ids[i] = sched_go(meddler, NULL);
        for (int i = 0; i < 2; i++)
                sched_join(ids[i]);
        while (w_load_rlx(&n_alive) > 0)
                SIM_CHECK(weft_sleep(SHORT_NS) == 0, "sleep");
        worker_join(&thread);
        settle();
        for (int i = 0; i < N_TIMERS; i++)
                weft_timer_free(clocks[i].timer);
}

static void crowd_main(void)
{
        sched_run_well(NULL, crowd_first);
}

SIM_SCENARIO(timers_crowd, "many set, stop and move the same timers; each setting fires once",
             crowd_main, .max_steps = SCHED_MAX_STEPS)

/* ---- One master, and records that are made and freed all the time ---------------------------- */

/* With nothing outstanding it is known what may fire next, and not before when. */
static void set_known(struct clock *c)
{
        int64_t ns = some_ns();
        bool    known = n_open(c) == 0;

        if (!known && weft_timer_stop(c->timer) == 1) {
                w_add_rlx(&c->n_back, 1);
                known = n_open(c) == 0;
        }
        w_store_rlx(&c->not_before, known ? (uint64_t)(weft_now() + ns) : 0);
        w_add_rlx(&c->n_set, 1);
        w_add_rlx(&c->n_back, (uint32_t)weft_timer_reset(c->timer, ns));
}

static void master(void *arg)
{
        struct clock *c = arg;

        make(c);
        for (int i = 0; i < N_ACTS; i++) {
                short_while();
                if (sim_random(4) == 0)
                        SIM_CHECK(weft_sleep(sim_random(SHORT_NS)) == 0, "sleep");
                set_known(c);
                if (sim_random(4))
                        continue;
                short_while();
                if (weft_timer_stop(c->timer) == 1)
                        w_add_rlx(&c->n_back, 1);
                weft_timer_free(c->timer);
                w_store_rlx(&c->not_before, 0);
                w_add_rlx(&c->n_set, 1);
                c->timer = weft_timer_new(some_ns(), fire, c);
        }
}

static void reuse_first(void *arg)
{
        int64_t ids[N_TIMERS];

        (void)arg;
        for (int i = 0; i < N_TIMERS; i++)
                ids[i] = sched_go(master, &clocks[i]);
        for (int i = 0; i < N_TIMERS; i++)
                sched_join(ids[i]);
        settle();
        for (int i = 0; i < N_TIMERS; i++)
                weft_timer_free(clocks[i].timer);
}

static void reuse_main(void)
{
        sched_run_well(NULL, reuse_first);
}

SIM_SCENARIO(timers_reuse, "timers are stopped, freed and made anew while their heaps know them",
             reuse_main, .max_steps = SCHED_MAX_STEPS)

/* ---- A record is freed and reused elsewhere at the moment when its heap lets it go ----------- */

enum { N_HANDED = 12, FAR_NS = 400000000 };

static W_ATOMIC(weft_timer *) handed;

static void fire_any(void *arg)
{
        (void)arg;
}

static weft_timer *new_far(void)
{
        weft_timer *t = weft_timer_new(FAR_NS, fire_any, NULL);

        SIM_CHECK(t, "no timer");
        return t;
}

/* Its own heap is not empty, so that a reused record gets another slot there. */
static void taker(void *arg)
{
        weft_timer *early[2] = { new_far(), new_far() };

        (void)arg;
        for (int i = 0; i < N_HANDED; i++) {
                weft_timer *t;

                while (!(t = w_xchg_acq(&handed, NULL)))        /* scenario's own */
                        weft_yield();
                if (sim_random(2))
                        sim_work(sim_random(1u << (1 + sim_random(8))));
                weft_timer_free(t);
                t = new_far();
                if (sim_random(2))
                        sim_work(sim_random(100));
                weft_timer_free(t);
        }
        for (int i = 0; i < 2; i++)
                SIM_CHECK(weft_timer_stop(early[i]) == 1, "a timer was lost");
}

static void giver(void *arg)
{
        weft_timer *early[2] = { new_far(), new_far() };

        (void)arg;
        for (int i = 0; i < N_HANDED; i++) {
                w_store_rel(&handed, weft_timer_new(sim_random(200), fire_any, NULL));
                while (w_load_rlx(&handed))
                        weft_yield();
                if (sim_random(2))
                        weft_yield();
        }
        for (int i = 0; i < 2; i++)
                SIM_CHECK(weft_timer_stop(early[i]) == 1, "a timer was lost");
}

static void handed_first(void *arg)
{
        (void)arg;
        w_store_rlx(&handed, NULL);
        int64_t id = sched_go(taker, NULL);

        giver(NULL);
        sched_join(id);
        SIM_CHECK(weft_check() == 0, "check");
}

static void handed_main(void)
{
        weft_config cfg = { .procs = 2 };

        sched_run_well(&cfg, handed_first);
}

SIM_SCENARIO(timers_handed, "timers are freed on one P, and reused, as they fire on another",
             handed_main, .max_steps = SCHED_MAX_STEPS)
