/* tests/lib/runq_pop.h - the owner of a P takes a goroutine: `next`, else the ring.
 *
 * A header only: the tests, the simulator and the explorer compile it with their own settings.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTS_LIB_RUNQ_POP_H
#define TESTS_LIB_RUNQ_POP_H

#include "sched/queue/runq.h"

static inline struct g *runq_pop(struct runq *q)
{
        struct g *gp = w_runq_pop_next(q);

        return gp ? gp : w_runq_pop_ring(q);
}

#endif
