/* sched/preempt/regain.c - an M whose P was taken, and the goroutine that it runs, go on.
 *
 * Called by   calls that cannot go on without a P: yield, exit, sleep, the end of a region.
 * Protocols   cites take (sched/preempt/take.c), park (sched/switch.c), idle (sched/idle.c).
 *
 * Most calls need no P: whom they wake goes to the global queue, what they allocate comes from the
 * central lists, and a goroutine that waits can leave a thread without a P as well as one with.
 * Only who is to go on as one of those that run needs one.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/assert.h"
#include "sched/commit.h"
#include "sched/preempt/nopreempt.h"
#include "sched/preempt/take.h"

void w_m_clear_lost_p_locked(struct m *mp)
{
        W_ASSERT(w_lock_held(W_LOCK_sched));
        w_sched.n_lost -= mp->lost_p != NULL;
        w_sched.n_dedicated += mp->lost_p && mp->dedicated;
        mp->lost_p = NULL;
        mp->block.since = 0;
}

bool w_p_regain(struct m *mp)
{
        if (w_load_rlx(&w_sched.n_idle_p) == 0)                   /* hint: it can queue instead */
                return false;
        w_lock(&w_sched.lock);
        struct p *pp = w_load_rlx(&w_sched.stopping) ? NULL : w_idle_p_get_locked();  /* guarded */

        if (pp)
                w_m_clear_lost_p_locked(mp);
        w_unlock(&w_sched.lock);
        if (!pp)
                return false;
        w_p_acquire(mp, pp);
        return true;
}

void w_need_p_slow(void)
{
        struct m *mp = w_m();

        if (!mp->curg || w_g_in_region(mp->curg) || w_p_regain(mp))
                return;
        if (mp->curg->nopreempt)
                w_nopreempt_requeue_self();
        else
                w_requeue_self();
}

void w_give_turn_slow(void)
{
        struct g *gp = w_g();

        if (!gp || w_g_in_region(gp) || gp->nopreempt)
                return;
        w_p_count(&w_p()->stats.preemptions, w_p_turn_is_wanted(w_p()));
        w_yield();
}
