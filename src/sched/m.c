/* sched/m.c - entering weft with something to be seen to.
 *
 * Called by   w_enter, at the beginning of every public function.
 *
 * PROTOCOL mark
 *
 * Goal      at any moment others can tell whether an M is in weft's code or in the user's.
 * Parties   the M; whoever looks at it with the world stopped.
 * Words     mark: 1 inside, 0 outside.  flag: what an entry must not overlook.
 * M         entry: mark := 1, then look at the flag.  leaving: mark := what it was before [MK1]: a
 *           callback into user code and back nests.  A goroutine may leave on another M than it
 *           entered; what it was before belongs to the call, so it travels in its frame.
 * Edges     [MK1] what was done inside   leave: mark store-release -> check: mark load-acquire
 * Abandoned a thread that did not come back before its run ended finds the flag at its next entry
 *           and sleeps for ever: what it would touch may belong to another run.
 * Tests     flow/test_run.c.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/m.h"

#include "base/assert.h"

void w_enter_flagged(struct m *mp)
{
        W_CHECK(w_load_rlx(&mp->flag) == W_FLAG_ABANDONED, "bad flag of an M");       /* hint */
        for (;;)
                w_os_sleep_until(W_FOREVER);
}
