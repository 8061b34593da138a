/* sched/inspect/look.c - where the threads are that stand while the world does. Contract:
 * sched/run/freeze.h.
 *
 * Called by   dump.
 * Protocols   cites freeze (sched/run/freeze.c).
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/run/freeze.h"

#include "sched/inspect/dump_log.h"

/* Who waits in the kernel may go on, and its thread end with its stack: not as long as it has
 * lost_p, which it gives up under the lock. */
static W_NO_SANITIZE void take_if_there(struct look *look)
{
        w_lock(&w_sched.lock);
        if (look->m->lost_p && look->m->curg == look->g)
                w_calls_take(&look->calls, look->m, look->g, &look->regs);
        w_unlock(&w_sched.lock);
}

void w_look_take(struct look *look)
{
        look->calls.n_frames = 0;
        if (look->how == W_LOOK_STANDS)
                w_calls_take(&look->calls, look->m, look->g, &look->regs);
        else if (look->how == W_LOOK_WAITS)
                take_if_there(look);
}

static void tell_call(void *arg, const void *pc, bool maybe)
{
        w_roll_step(arg, maybe ? W_STEP_MAYBE : W_STEP_CALL, (uintptr_t)pc);
}

bool w_look_tell(struct roll *r, const struct look *look)
{
        w_calls_each(&look->calls, tell_call, r);
        return look->calls.n_frames != 0;
}
