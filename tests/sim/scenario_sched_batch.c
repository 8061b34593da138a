/* tests/sim/scenario_sched_batch.c - many are woken at once: a thread for each idle P, none waits.
 *
 * Goroutines wait for the end of another, or on a channel that somebody closes: a goroutine, or a
 * thread that weft does not know. All are woken by one act, at moments that lie as close as the
 * seed puts them to others' running out of work, and some then compute for longer than work may
 * wait (I10, checked at each step). One more computes right after the act, so that what lies in its
 * queue has to be taken by others.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sim/sched_world.h"

#include <errno.h>      /* EPIPE */

enum { LONG_NS = 13000000, N_WAITERS_MAX = 6, N_CHURN = 3 };

static weft_chan   *gate;
static int64_t      target;
static w_atomic_u32 n_woken;

static void short_while(void)
{
        if (sim_random(3))
                sim_work(sim_random(1u << (1 + sim_random(12))));
}

static void long_or_short_while(void)
{
        if (sim_random(2))
                sim_work(LONG_NS);
        else
                short_while();
}

static void joiner(void *arg)
{
        (void)arg;
        sched_join(target);
        w_add_rlx(&n_woken, 1);
        long_or_short_while();
}

static void receiver(void *arg)
{
        (void)arg;
        SIM_CHECK(weft_chan_recv(gate, NULL) == -EPIPE, "an open gate let somebody go");
        w_add_rlx(&n_woken, 1);
        long_or_short_while();
}

/* Comes and goes, so that Ms look for work, find some and give their Ps up. */
static void churn(void *arg)
{
        (void)arg;
        for (int i = 0; i < N_CHURN; i++) {
                short_while();
                weft_yield();
        }
}

static void close_gate(void)
{
        int rc = weft_chan_close(gate);

        SIM_CHECK(rc == 0, "close returned %d", rc);
}

/* The act: the end of this goroutine, or a close and then a long computation. */
static void actor(void *arg)
{
        (void)arg;
        short_while();
        if (sim_random(2))
                weft_yield();
        if (gate) {
                close_gate();
                long_or_short_while();
        }
}

static void foreign_actor(void *arg)
{
        (void)arg;
        foreign_begin();
        short_while();
        close_gate();
}

static void wait_for_all(const int64_t *ids, uint32_t n)
{
        for (uint32_t i = 0; i < n; i++)
                sched_join(ids[i]);
        SIM_CHECK(w_load_rlx(&n_woken) == n, "%u of %u were woken", w_load_rlx(&n_woken), n);
        SIM_CHECK(weft_check() == 0, "the check refused");      /* stops every P there is */
}

static void first(void *arg)
{
        int64_t  ids[N_WAITERS_MAX];
        uint32_t n = 2 + sim_random(N_WAITERS_MAX - 1);

        (void)arg;
        w_store_rlx(&n_woken, 0);
        gate = sim_random(2) ? weft_chan_new(0, 0) : NULL;
        target = sched_go(actor, NULL);
        for (uint32_t i = 0; i < n; i++)
                ids[i] = sched_go(gate ? receiver : joiner, NULL);
        (void)sched_go(churn, NULL);
        wait_for_all(ids, n);
        if (gate)
                weft_chan_unref(gate);
}

static void batch_main(void)
{
        sched_run_well(NULL, first);
}

SIM_SCENARIO(sched_batch, "many are woken by one act; each gets a P that is idle", batch_main,
             .max_steps = SCHED_MAX_STEPS)

static void foreign_first(void *arg)
{
        int64_t       ids[N_WAITERS_MAX];
        uint32_t      n = 2 + sim_random(N_WAITERS_MAX - 1);
        struct worker thread;

        (void)arg;
        w_store_rlx(&n_woken, 0);
        gate = weft_chan_new(0, 0);
        for (uint32_t i = 0; i < n; i++)
                ids[i] = sched_go(receiver, NULL);
        worker_start(&thread, "foreign", foreign_actor, NULL);
        (void)sched_go(churn, NULL);
        wait_for_all(ids, n);
        worker_join(&thread);
        weft_chan_unref(gate);
}

static void foreign_main(void)
{
        sched_run_well(NULL, foreign_first);
}

SIM_SCENARIO(sched_batch_foreign, "a thread that weft does not know wakes many at once",
             foreign_main, .max_steps = SCHED_MAX_STEPS)
