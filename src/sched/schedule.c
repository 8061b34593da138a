/* sched/schedule.c - step 3: the loop of an M: find a goroutine, run it, again.
 *
 * Called by   the M's start (thread.c, run.c), on g0.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/sched.h"

/* Comes here without a P if that was taken, PROTOCOL take (sched/take.c). */
void w_schedule(struct m *mp)
{
        while (mp->p || w_thread_sleep(mp)) {
                struct g *gp = w_find(mp);

                if (!gp)
                        return;
                w_execute(mp, gp);
                if (W_UNLIKELY(w_sched.config.migrate) && mp->p && !w_thread_swap(mp))
                        return;
        }
}
