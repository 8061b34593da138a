/* tests/sim/scenario_tick.c - a channel goes away while a tick is being sent to it; two threads
 * send ticks at the same time.
 *
 * The record of a dropped channel is used for the next channel: a tick that comes too late would
 * arrive in that channel.
 *
 * test: seeds=quarter
 *
 * SPDX-License-Identifier: MIT
 */
#include "sim/sched_world.h"

#include <errno.h>      /* -EPIPE */

enum { N_ROUNDS = 5 };

static void short_while(void)
{
        if (sim_random(3))
                sim_work(sim_random(1u << (1 + sim_random(10))));
}

static void use(weft_chan *c, int64_t from, int64_t period)
{
        int64_t last = 0;

        for (uint32_t n = sim_random(4); n > 0; n--) {
                int64_t due = 0;
                int     rc = weft_chan_recv(c, &due);

                SIM_CHECK(rc == 0, "a tick came as %d", rc);
                SIM_CHECK(due >= from + period && due <= weft_now(), "a tick of the wrong time");
                SIM_CHECK(due > last, "a tick after a later one");
                last = due;
        }
        short_while();
        if (sim_random(2))
                SIM_CHECK(weft_chan_close(c) == 0, "close");
        if (sim_random(2))
                SIM_CHECK(weft_sleep(sim_random(1000)) == 0, "sleep");
        weft_chan_unref(c);
}

static void stay_empty(void)
{
        weft_chan *c = weft_chan_new(sizeof(int64_t), 1);

        SIM_CHECK(c, "no channel");
        for (uint32_t n = 1 + sim_random(4); n > 0; n--) {
                short_while();
                SIM_CHECK(weft_chan_len(c) == 0, "a tick came after its channel had gone");
        }
        weft_chan_unref(c);
}

static void ticker(void *arg)
{
        (void)arg;
        for (int i = 0; i < N_ROUNDS; i++) {
                int64_t    from = weft_now();
                int64_t    period = 1 + sim_random(1u << (1 + sim_random(12)));
                weft_chan *c = weft_tick(period);

                SIM_CHECK(c, "no tick");
                use(c, from, period);
                stay_empty();
        }
}

static void first(void *arg)
{
        int64_t ids[2];

        (void)arg;
        for (int i = 0; i < 2; i++)
                ids[i] = sched_go(ticker, NULL);
        ticker(NULL);
        for (int i = 0; i < 2; i++)
                sched_join(ids[i]);
}

static void tick_main(void)
{
        sched_run_well(NULL, first);
}

SIM_SCENARIO(timers_tick, "ticks are closed and dropped while they are sent", tick_main,
             .max_steps = SCHED_MAX_STEPS)
