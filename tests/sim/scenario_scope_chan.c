/* tests/sim/scenario_scope_chan.c - PROTOCOL scope-tree and PROTOCOL chan: delivered or cancelled.
 *
 * Senders, receivers and selects on one channel, all in one scope, until a cancellation or the
 * deadline ends their waits. What was sent, by the results of the calls, is what was received or is
 * left in the buffer.
 *
 * test: seeds=quarter
 *
 * SPDX-License-Identifier: MIT
 */
#include "sim/sched_world.h"

#include <errno.h>      /* ECANCELED and others */

enum { N_PAIRS = 2, N_ROUNDS = 2, MAX_VALUES = 6 };

/* Plain counts: simulated threads run one at a time. */
static struct {
        weft_scope scope;
        weft_chan *c, *silent;
        uint32_t   sum_sent, sum_received, n_ended;
} world;

static int end_with(int rc)
{
        SIM_CHECK(rc == -ECANCELED || rc == -ETIMEDOUT, "a call returned %d", rc);
        SIM_CHECK(weft_cancelled() == rc, "ended by %d, later by %d", rc, weft_cancelled());
        world.n_ended++;
        return 0;
}

/* Every value is another power, so that a sum names those in it. */
static uint32_t next_value;

static int send_on(void *arg)
{
        int rc = 0;

        (void)arg;
        for (int i = 0; i < MAX_VALUES && rc == 0; i++) {
                uint32_t value = UINT32_C(1) << next_value++ % 32;

                rc = weft_chan_send(world.c, &value);
                if (rc == 0)
                        world.sum_sent += value;
        }
        return end_with(rc < 0 ? rc : weft_park());
}

static int recv_on(void *arg)
{
        int rc = 0;

        (void)arg;
        while (rc == 0) {
                uint32_t value = 0;

                rc = weft_chan_recv(world.c, &value);
                SIM_CHECK((rc == 0) == (value != 0), "received %u with %d", value, rc);
                world.sum_received += value;
        }
        return end_with(rc);
}

static int select_on(void *arg)
{
        int rc = 0;

        (void)arg;
        while (rc >= 0) {
                uint32_t  value = 0;
                weft_case cases[] = { WEFT_RECV(world.silent, NULL), WEFT_RECV(world.c, &value) };

                rc = weft_select(cases, 2);
                SIM_CHECK(rc < 0 || (rc == 1 && cases[1].result == 0), "case %d", rc);
                SIM_CHECK((rc < 0) == (value == 0), "received %u with %d", value, rc);
                world.sum_received += value;
        }
        return end_with(rc);
}

static void start(int (*fn)(void *))
{
        int64_t id = weft_scope_go(&world.scope, fn, NULL);

        SIM_CHECK(id > 0 || id == -ETIMEDOUT, "weft_scope_go returned %ld", (long)id);
        if (id < 0)
                world.n_ended++;
}

static void round_once(void)
{
        bool     timed = sim_random(3) == 0;
        uint32_t left;

        world.c = weft_chan_new(sizeof(uint32_t), sim_random(3));
        world.silent = weft_chan_new(0, 0);
        SIM_CHECK(world.c && world.silent, "no channels");
        world.sum_sent = world.sum_received = world.n_ended = next_value = 0;
        SIM_CHECK(weft_scope_open(&world.scope, timed ? 2000 + sim_random(20000) : WEFT_FOREVER) ==
                  0, "no scope");
        for (int i = 0; i < N_PAIRS; i++) {
                start(send_on);
                start(sim_random(2) ? recv_on : select_on);
        }
        sim_work(sim_random(8000));
        if (sim_random(2))
                weft_yield();
        if (!timed)
                weft_scope_cancel(&world.scope);
        SIM_CHECK(weft_scope_close(&world.scope) == 0, "a child failed");
        while (weft_chan_try_recv(world.c, &left) == 0)
                world.sum_received += left;
        SIM_CHECK(world.n_ended == 2 * N_PAIRS, "%u ended", world.n_ended);
        SIM_CHECK(world.sum_received == world.sum_sent, "sent %x, received %x", world.sum_sent,
                  world.sum_received);
        weft_chan_unref(world.c);
        weft_chan_unref(world.silent);
}

static void first(void *arg)
{
        (void)arg;
        for (int i = 0; i < N_ROUNDS; i++)
                round_once();
        SIM_CHECK(weft_count() == 1, "%ld goroutines are left", (long)weft_count());
}

static void chan_main(void)
{
        sched_run_well(NULL, first);
}

SIM_SCENARIO(scope_chan, "senders, receivers and selects in a scope: delivered or cancelled",
             chan_main, .max_steps = SCHED_MAX_STEPS)
