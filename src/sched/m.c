/* sched/m.c - entering weft with something to be seen to.
 *
 * Called by   w_enter, at the beginning of every public function.
 * Protocols   owns mark; cites take (sched/take.c).
 *
 * PROTOCOL mark
 *
 * Goal      at any moment others can tell whether an M is in weft's code or in the user's, and
 *           whether it has been back since they last looked.
 * Parties   the M; whoever looks at it.
 * Words     mark: INSIDE or not, in a region or not, and a number.  flag: what an entry must not
 *           overlook.
 * M         entry: mark := INSIDE, then look at the flag.  leaving, if it was outside before: mark
 *           := not INSIDE, the next number [MK1]. A callback into user code and back nests.  A
 *           goroutine may leave on another M than it entered; whether it was outside before belongs
 *           to the call, so that travels in its frame.
 * Edges     [MK1] what was done inside   leave: mark store-release -> others: mark load-acquire
 * Abandoned a thread that did not come back before its run ended finds the flag at its next entry
 *           and sleeps for ever: what it would touch may belong to another run.
 * Tests     flow/test_run.c, flow/test_take.c.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/m.h"

#include "base/assert.h"
#include "base/window.h"
#include "sched/blocked.h"

static W_NORETURN void sleep_for_ever(void)
{
        for (;;)
                w_os_sleep_until(W_FOREVER);
}

static void came_back_without_p(struct m *mp, const void *frame)
{
        mp->p = NULL;
        if (mp->blocked_since)
                w_blocked_report(mp, frame);
}

/* The steps of an M that enters, in PROTOCOL take. */
void w_enter_flagged(struct m *mp)
{
        uint32_t flag = w_load_acq(&mp->flag);                    /* [TK2] */
        uint32_t fenced = flag & W_FLAG_FENCED;

        if (fenced) {
                w_fence_full();                                   /* [TK1] */
                flag = w_load_acq(&mp->flag);                     /* [TK2] */
        }
        W_WINDOW("enter-flagged");
        if (flag == (W_FLAG_REQUEST | fenced) &&
            w_cas_acqrel(&mp->flag, &flag, W_FLAG_REFUSED | fenced))            /* [TK2] */
                return;
        if (flag == (W_FLAG_TAKEN | fenced) &&
            w_cas_acqrel(&mp->flag, &flag, W_FLAG_LOST | fenced))               /* [TK2] */
                came_back_without_p(mp, __builtin_frame_address(0));
        if (flag == (W_FLAG_ABANDONED | fenced))
                sleep_for_ever();
}

#if defined(W_TSAN)
void w_leave_on(struct m *mp, uint32_t before)
{
        w_leave_inline(mp, before);
}
#endif
