/* tests/sim/scenario_poll_edge_word.c - PROTOCOL poll-edge, one direction alone: no scheduler and
 * no waiter, and so thousands of moments at which two of its steps can meet.
 *
 * SPDX-License-Identifier: MIT
 */
#include "net/desc.h"
#include "net/poll.h"
#include "sim/scenario.h"

enum { N_ROUNDS = 12 };

static struct desc desc;

static void tell(uint32_t events)
{
        struct queue woken = { 0 };

        w_lock(&desc.lock);
        w_edge_deliver_locked(&desc, events, &woken);
        w_unlock(&desc.lock);
        SIM_CHECK(woken.n == 0, "%u are woken, without a waiter", woken.n);
}

static void make_desc(void)
{
        w_lock(&desc.lock);
        w_edge_begin_locked(&desc, W_EDGE_MADE | W_EDGE_TCP);
        w_unlock(&desc.lock);
}

static void tell_end(void *arg)
{
        (void)arg;
        sim_work(sim_random(1u << sim_random(7)));
        tell(W_POLL_IN | W_POLL_HUP);
}

/* The bytes were reported before their end. The reader gets less than it asks for, and may not see
 * the end; then the end must be the next event that it sees. */
static void end_round(void)
{
        struct worker deliverer;

        make_desc();
        tell(W_POLL_IN);
        worker_start(&deliverer, "deliverer", tell_end, NULL);
        sim_work(sim_random(1u << sim_random(7)));
        SIM_CHECK(w_edge_first(&desc, W_POLL_IN, true) == W_POLL_TRY_WOKEN, "bytes are forgotten");
        w_edge_drained(&desc, W_POLL_IN);
        worker_join(&deliverer);
        SIM_CHECK(w_edge_first(&desc, W_POLL_IN, true) == W_POLL_TRY_WOKEN, "an end is forgotten");
}

static void ends_main(void)
{
        w_lock_init(&desc.lock, W_LOCK_poll);
        for (uint32_t i = 0; i < W_N_DIRS; i++)
                w_list_init(&desc.dirs[i].waits);
        for (int i = 0; i < N_ROUNDS; i++)
                end_round();
}

SIM_SCENARIO(poll_edge_last_bytes, "bytes are read while their end is reported", ends_main,
             SIM_USUAL)
