/* sched/schedule.c - step 3: the loop of an M: find a goroutine, run it, again.
 *
 * Called by   the M's start (thread.c, run.c), on g0.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/sched.h"

void w_schedule(struct m *mp)
{
        for (struct g *gp; (gp = w_find(mp));) {
                w_execute(mp, gp);
                if (W_UNLIKELY(w_sched.config.migrate) && !w_thread_swap(mp))
                        return;
        }
}
