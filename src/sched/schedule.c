/* sched/schedule.c - step 3: the loop of an M: find a goroutine, run it, again.
 *
 * Called by   the M's start (thread.c, run.c), on g0.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/thread/lockthread.h"
#include "sched/sched.h"

/* Comes here without a P if that was taken, PROTOCOL take (sched/preempt/take.c). m0 leaves its own
 * to others, PROTOCOL threads (sched/thread/thread.c), and so does one to which a goroutine is
 * locked, PROTOCOL lockthread (sched/thread/lockthread.c). */
void w_schedule(struct m *mp)
{
        while (mp->p || w_thread_sleep(mp)) {
                if (W_UNLIKELY(w_m_is_special(mp)) && !w_m_release_dedicated(mp))
                        return;
                struct g *gp = W_LIKELY(!mp->next_g) ? w_find(mp) : w_lockthread_next(mp);

                if (!gp)
                        return;
                if (W_UNLIKELY(gp->locked) && w_lockthread_give(mp, gp))
                        continue;
                w_execute(mp, gp);
                if (W_UNLIKELY(w_sched.config.migrate) && mp->p && !w_m_is_special(mp) &&
                    !w_thread_swap(mp))
                        return;
        }
}
