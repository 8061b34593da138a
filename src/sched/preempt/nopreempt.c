/* sched/preempt/nopreempt.c - code that must not lose its P: weft_nopreempt_begin and _end.
 *
 * Protocols   cites where (sched/preempt/enter.c), take (sched/preempt/take.c).
 *
 * Between the two calls m.where says IN_NOPREEMPT, and neither the monitor nor the signal touches
 * the M. Only a stopper of the world takes its P. The bit belongs to the M. A goroutine that waits
 * or yields in between clears the bit before it leaves the M, and sets it on the M where it
 * continues. A goroutine that calls weft_nopreempt_begin without a P waits for a P first.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/preempt/nopreempt.h"

#include "base/assert.h"
#include "sched/preempt/take.h"
#include "sched/switch.h"
#include "weft.h"

static void set_nopreempt(struct g *gp)
{
        struct m *mp = w_m();

        gp->nopreempt = true;
        w_store_rlx(&mp->nopreempt_id, (uint64_t)gp->id);              /* hint: for a report */
        w_store_rlx(&mp->nopreempt_no, w_load_rlx(&mp->nopreempt_no) + 1);  /* hint: the same */
        w_store_rlx(&mp->where, w_load_rlx(&mp->where) | W_IN_NOPREEMPT);            /* own word */
}

/* In weft_blocking gp->nopreempt stays true, so that waits are refused: see w_commit_blocking. */
static void clear_nopreempt(struct g *gp)
{
        struct m *mp = w_m();

        gp->nopreempt = mp->on_g0;
        w_store_rlx(&mp->where, w_load_rlx(&mp->where) & ~(uint32_t)W_IN_NOPREEMPT); /* own word */
}

void w_nopreempt_park(enum wait_reason reason, bool (*unlock)(struct g *gp, void *arg), void *arg)
{
        struct g *gp = w_g();

        if (w_g_in_region(gp))          /* weft_blocking: no other stack */
                w_g_refuse_wait(gp, w_wait_reason_name(reason));
        clear_nopreempt(gp);
        w_park(reason, unlock, arg);
        set_nopreempt(gp);
}

void w_nopreempt_yield(void)
{
        struct g *gp = w_g();

        clear_nopreempt(gp);
        w_yield();
        set_nopreempt(gp);
}

void w_nopreempt_requeue_self(void)
{
        struct g *gp = w_g();

        clear_nopreempt(gp);
        w_switch_requeue_self();
        set_nopreempt(gp);
}

W_EXPORT void weft_nopreempt_begin(void)
{
        struct m *mp = w_m();

        if (!mp || !mp->curg)
                return;         /* a foreign thread is never preempted */
        uint32_t  before = w_enter_on(mp);
        struct g *gp = mp->curg;

        if (w_g_cold(gp)->n_nopreempt++ == 0) {
                w_need_p();     /* the M may have lost its P */
                set_nopreempt(gp);
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
                clear_nopreempt(mp->curg);
        w_leave(before);
}
