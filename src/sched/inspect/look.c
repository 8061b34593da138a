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
static W_NO_SANITIZE void take_if_there(struct frozen_m *look)
{
        w_lock(&w_sched.lock);
        if (look->m->lost_p && look->m->curg == look->g)
                w_backtrace_take(&look->calls, look->m, look->g, &look->regs);
        w_unlock(&w_sched.lock);
}

void w_frozen_m_take(struct frozen_m *look)
{
        look->calls.n_frames = 0;
        if (look->how == W_SEEN_FROZEN)
                w_backtrace_take(&look->calls, look->m, look->g, &look->regs);
        else if (look->how == W_SEEN_IN_SYSCALL)
                take_if_there(look);
}

static void tell_call(void *arg, const void *pc, bool maybe)
{
        w_dump_log_add(arg, maybe ? W_DUMP_MAYBE : W_DUMP_CALL, (uintptr_t)pc);
}

bool w_frozen_m_write(struct dump_log *r, const struct frozen_m *look)
{
        w_backtrace_each(&look->calls, tell_call, r);
        return look->calls.n_frames != 0;
}
