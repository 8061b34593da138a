/* sched/preempt/enter.c - entering weft with something to be seen to.
 *
 * Called by   w_enter, at the beginning of every public function.
 * Protocols   owns where; cites take (sched/preempt/take.c).
 *
 * PROTOCOL where
 *
 * Goal      at any moment others can tell whether an M is in weft's code or in the user's, and
 *           whether it has been back since they last looked.
 * Parties   the M; its handler (sched/preempt/preempt_handler.c); whoever looks at it.
 * Words     mark: INSIDE or not, in a region or not, NOPREEMPT or not (sched/preempt/nopreempt.c),
 *           and a number.  flag: what an entry must not overlook.
 * M         entry: mark := INSIDE, then look at the flag.  leaving, if it was outside before: mark
 *           := not INSIDE, the next number [MK1]. A callback into user code and back nests.  A
 *           goroutine may leave on another M than it entered; whether it was outside before belongs
 *           to the call, so that travels in its frame.
 * Handler   held, and let go: it is outside, and a new stay begins: number + GRANTED [MK1]
 * Why an entry may undo that   the handler may have struck between the two steps of an entry, which
 *           then stores the mark that it had loaded before, with INSIDE: whoever looks sees that it
 *           is back. It leaves with the number next to the old one; if GRANTED were one as well
 *           that would be the number of the stay that was undone, and two stays would seem one.
 * Edges     [MK1] what was done inside   leave: mark store-release -> others: mark load-acquire
 * Abandoned a thread that did not come back before its run ended: PROTOCOL abandon
 * (sched/run/abandon.c).
 * Forked    a child of fork finds it too, and dies: sched/run/fork.c.
 * Tests     flow/sched/run/test_run.c, flow/sched/preempt/test_take_p.c, crash/test_behind.c.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/m.h"

#include "base/assert.h"
#include "base/window.h"
#include "sched/run/fork.h"
#include "sched/monitor/blocked_report.h"
#include "sched/run/abandon.h"
#include "sched/preempt/take.h"

static void came_back_without_p(struct m *mp, const void *frame)
{
        mp->p = NULL;
        if (mp->blocked_since)
                w_blocked_report_return(mp, frame);
}

/* From user code that may be left without a P, and the monitor has waited for long. */
static bool is_to_give(const struct m *mp, uint32_t before)
{
        return mp->p && mp->curg && w_where_is_user(before) &&
               !(before & (W_IN_REGION | W_IN_NOPREEMPT)) &&
               w_load_rlx(&mp->p->attention) & W_ATTENTION_GIVE;  /* hint */
}

/* The steps of an M that enters, in PROTOCOL take. */
void w_enter_slow(struct m *mp, uint32_t before)
{
        uint32_t retake = w_load_acq(&mp->retake);                    /* [TK2] */
        uint32_t fenced = retake & W_RETAKE_FENCED;

        if (fenced) {
                w_fence_full();                                   /* [TK1] */
                retake = w_load_acq(&mp->retake);                     /* [TK2] */
        }
        W_WINDOW("enter-flagged");
        if (retake == (W_RETAKE_REQUESTED | fenced) &&
            w_cas_acqrel(&mp->retake, &retake, W_RETAKE_REFUSED | fenced)) {          /* [TK2] */
                if (W_UNLIKELY(is_to_give(mp, before)))
                        w_give_up_p(mp);
                return;
        }
        if (retake == (W_RETAKE_TAKEN | fenced) &&
            w_cas_acqrel(&mp->retake, &retake, W_RETAKE_LOST | fenced))               /* [TK2] */
                came_back_without_p(mp, __builtin_frame_address(0));
        if (retake == (W_RETAKE_ABANDONED | fenced))
                w_abandon_sleep(mp);
        if (retake == (W_RETAKE_FORKED | fenced))
                w_fork_refuse();
}

#if defined(W_TSAN)
void w_leave_on(struct m *mp)
{
        w_leave_inline(mp);
}
#endif
