/* sched/preempt/nopreempt.c - code that must not lose its P: weft_nopreempt_begin and _end.
 *
 * Called by   user code; switch and regain, where such a goroutine gives its P up itself.
 * Protocols   cites where (sched/preempt/enter.c), take (sched/preempt/take.c).
 *
 * Between the two the M's mark says so, and neither the monitor nor the signal touches it; only who
 * stops the world takes the P. The mark is the M's, so a goroutine that waits or yields in between
 * takes it along: off before it leaves, on again wherever it comes back. Who begins without a P
 * waits for one first.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/preempt/nopreempt.h"

#include "base/assert.h"
#include "sched/preempt/take.h"

#include "weft.h"

static void put_on(struct g *gp)
{
        struct m *mp = w_m();

        gp->nopreempt = true;
        w_store_rlx(&mp->nopreempt_id, (uint64_t)gp->id);              /* hint: for a report */
        w_store_rlx(&mp->nopreempt_no, w_load_rlx(&mp->nopreempt_no) + 1);  /* hint: likewise */
        w_store_rlx(&mp->where, w_load_rlx(&mp->where) | W_IN_NOPREEMPT);            /* own word */
}

/* Who is in weft_blocking keeps it: by that its waits are refused, see w_commit_blocking. */
static void take_off(struct g *gp)
{
        struct m *mp = w_m();

        gp->nopreempt = mp->on_g0;
        w_store_rlx(&mp->where, w_load_rlx(&mp->where) & ~(uint32_t)W_IN_NOPREEMPT); /* own word */
}

void w_nopreempt_park(enum wait_reason reason, bool (*unlock)(struct g *gp, void *arg), void *arg)
{
        struct g *gp = w_g();

        if (w_g_in_region(gp))          /* weft_blocking: there is no other stack to refuse it on */
                w_g_refuse_wait(gp, w_wait_reason_name(reason));
        take_off(gp);
        w_park(reason, unlock, arg);
        put_on(gp);
}

void w_nopreempt_yield(void)
{
        struct g *gp = w_g();

        take_off(gp);
        w_yield();
        put_on(gp);
}

void w_nopreempt_requeue_self(void)
{
        struct g *gp = w_g();

        take_off(gp);
        w_requeue_self();
        put_on(gp);
}

W_EXPORT void weft_nopreempt_begin(void)
{
        struct m *mp = w_m();

        if (!mp || !mp->curg)
                return;         /* nobody preempts a thread of the program */
        uint32_t  before = w_enter_on(mp);
        struct g *gp = mp->curg;

        if (w_g_cold(gp)->n_nopreempt++ == 0) {
                w_need_p();     /* who has lost it has none to keep */
                put_on(gp);
        }
        w_leave(before);
}

W_EXPORT void weft_nopreempt_end(void)
{
        struct m *mp = w_m();

        if (!mp || !mp->curg)
                return;
        uint32_t       before = w_enter_on(mp);
        struct g_cold *cold = w_g_cold(mp->curg);

        W_CHECK(cold->n_nopreempt > 0, "goroutine %ld calls weft_nopreempt_end without a begin",
                (long)mp->curg->id);
        if (--cold->n_nopreempt == 0)
                take_off(mp->curg);
        w_leave(before);
}
