/* sched/ready.c - step 6: a goroutine that waited may run again.
 *
 * Called by   whoever won the right to wake it, on any thread, with or without a P.
 * Protocols   cites park (sched/switch.c), idle (sched/idle.c).
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/sched.h"

void w_ready(struct g *gp)
{
        struct p *pp = w_p();

        if (pp) {
                w_g_move(gp, G_WAITING, G_RUNNABLE);
                w_ready_time(pp, gp);
                w_queue_next(pp, gp);
        } else {
                w_globq_publish(gp, G_WAITING);
        }
        w_wake_one();
}
