/* sched/preempt/enter.c - the slow path of an entry into weft: m.retake is not NONE.
 *
 * Protocols   owns where; cites take (sched/preempt/take.c).
 *
 * PROTOCOL where
 *
 * Goal      At any moment other threads can tell whether an M is in the runtime or in user code,
 *           and whether it has entered since they last read the word.
 * Parties   M; its handler (sched/preempt/preempt_handler.c); observer, any thread that reads the
 *           word.
 * Words     m.where    IN_RUNTIME     the M is in the runtime; otherwise it is in user code
 *                      IN_REGION      in a blocking region
 *                      IN_NOPREEMPT   between weft_nopreempt_begin and _end
 *                      epoch          a number above these bits
 *           m.retake   what an entry must not overlook
 * M enters  1. where := where with IN_RUNTIME.
 *           2. Load retake.
 * M leaves  If it was in user code before: where := where without IN_RUNTIME, next epoch [MK1].
 * Nesting   A callback into user code and back nests. A goroutine may leave on another M than the M
 *           on which it entered. Whether the goroutine was in user code before belongs to the call,
 *           so the frame of the call keeps this.
 * Handler   When a preempted M goes on in user code: epoch + GRANTED [MK1]. A new stay begins.
 * Why an entry may undo that   The signal may come between the load and the store of step 1. Then
 *           the entry stores the old epoch, with IN_RUNTIME: observers see that the M has entered.
 *           The M leaves with the epoch next to the old one. If GRANTED were one epoch as well,
 *           that would be the epoch of the stay that was undone, and two stays would look like one.
 * Edges     [MK1] the work in the runtime   M leaves: where store-release -> observer: load-acquire
 * Abandoned PROTOCOL abandon (sched/run/abandon.c) handles a thread that did not enter before its
 *           run ended.
 * Forked    An M in a child of fork finds FORKED in retake, and ends the process: sched/run/fork.c.
 * Tests     flow/sched/run/test_run.c, flow/sched/preempt/test_take_p.c,
 *           crash/test_fork_and_exit.c.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/assert.h"
#include "base/window.h"
#include "sched/m.h"
#include "sched/monitor/blocked_report.h"
#include "sched/preempt/take.h"
#include "sched/run/abandon.h"
#include "sched/run/fork.h"

static void entered_without_p(struct m *mp, const void *frame)
{
        mp->p = NULL;
        if (mp->blocked_since)
                w_blocked_report_return(mp, frame);
}

/* True: the M comes from code that may run without a P, and has not yielded in time. */
static bool must_give_p(const struct m *mp, uint32_t before)
{
        return mp->p && mp->curg && w_where_is_user(before) &&
               !(before & (W_IN_REGION | W_IN_NOPREEMPT)) &&
               w_load_rlx(&mp->p->attention) & W_ATTENTION_GIVE;  /* hint */
}

/* The steps `M enters` of PROTOCOL take. */
void w_enter_slow(struct m *mp, uint32_t before)
{
        uint32_t retake = w_load_acq(&mp->retake);                    /* [TK2] */
        uint32_t fenced = retake & W_RETAKE_FENCED;

        if (fenced) {
                w_fence_full();                                   /* [TK1] */
                retake = w_load_acq(&mp->retake);                     /* [TK2] */
        }
        W_WINDOW("enter-slow");
        if (retake == (W_RETAKE_REQUESTED | fenced) &&
            w_cas_acqrel(&mp->retake, &retake, W_RETAKE_REFUSED | fenced)) {          /* [TK2] */
                if (W_UNLIKELY(must_give_p(mp, before)))
                        w_give_up_p(mp);
                return;
        }
        if (retake == (W_RETAKE_TAKEN | fenced) &&
            w_cas_acqrel(&mp->retake, &retake, W_RETAKE_LOST | fenced))               /* [TK2] */
                entered_without_p(mp, __builtin_frame_address(0));
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
