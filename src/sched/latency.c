/* sched/latency.c - how long goroutines wait between ready and running.
 *
 * Called by   spawn and ready (begin, one in W_READY_EVERY), switch and exit (end).
 *
 * A goroutine carries the time at which it became ready in 32 bits, in units of W_READY_UNIT: they
 * wrap after 4.5 minutes, which a wait for a P does not reach.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/sched.h"

static uint32_t now_in_units(void)
{
        return (uint32_t)(w_os_now() / W_READY_UNIT);
}

void w_latency_begin(struct g *gp)
{
        uint32_t now = now_in_units();

        gp->ready_at = now ? now : 1;           /* 0 means: not timed */
}

/* The bucket of a latency in ns: its highest bit. */
static uint32_t bucket_of(uint64_t ns)
{
        return ns == 0 ? 0 : 63 - (uint32_t)__builtin_clzll(ns);
}

void w_latency_end(struct p *pp, struct g *gp)
{
        uint32_t units = now_in_units() - gp->ready_at;
        uint32_t bucket = bucket_of((uint64_t)units * W_READY_UNIT);

        gp->ready_at = 0;
        w_p_count(&pp->stats.ready_to_run[bucket], 1);
}
