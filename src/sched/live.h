/* sched/live.h - how many goroutines are alive.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_LIVE_H
#define W_SCHED_LIVE_H

#include "sched/sched.h"

W_INLINE void w_live_spawned(struct p *pp)
{
        if (W_LIKELY(pp != NULL))
                w_p_count(&pp->stats.spawned, 1);
        else
                w_add_rlx(&w_sched.without_p.spawned, 1);         /* counter */
}

W_INLINE void w_live_ended(struct p *pp)
{
        uint64_t n = w_load_rlx(&pp->stats.ended);                /* own word */

        w_store_rel(&pp->stats.ended, n + 1);                     /* [LV2] */
}

void    w_live_main_exited(void);
int64_t w_live_count(void);
/* For an M that released its P: ends the run if goroutine 1 left it and no goroutine is alive. */
void    w_live_idle(void);

#endif
