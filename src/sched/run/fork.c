/* sched/run/fork.c - what a program does behind weft's back: fork, and ending a thread that is an
 * M.
 *
 * Called by   run (the first time), thread (an M begins and ends), every entry in a forked child.
 * Protocols   cites where (sched/preempt/enter.c), foreign (sched/run/foreign.c).
 *
 * A child of fork has one thread, and everything that the others were about to do to the run will
 * never be done. It may exec, or end. Anything that needs the run is refused loudly: an M by its
 * flag, which every entry looks at anyway, other threads by the phase. While no run is on, fork is
 * none of weft's business, and the child may have a run of its own, provided that no other thread
 * was in a call of weft: what it held then, a lock of the channels' memory say, stays held. vfork
 * and posix_spawn are not noticed and need not be.
 *
 * A goroutine that calls pthread_exit ends the thread under itself, with its P. So does somebody
 * who cancels the thread that called weft_run; those that weft starts cannot be cancelled. Nothing
 * can be put right then. A thread that its run has left behind may end: nobody waits for it.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/run/fork.h"

#include "base/fatal.h"
#include "sched/run/abandon.h"
#include "sched/run/run.h"
#include "sched/sched.h"

/* ---- Fork ------------------------------------------------------------------------------------ */

static bool watched;    /* guarded by the phase: only who starts a run comes here */

/* On the child's only thread, before fork returns. What a dump would show is not the child's. */
static void in_child(void)
{
        struct m *mp = w_m();

        if (w_load_rlx(&w_run_phase) == RUN_OFF)                  /* own word: it is alone here */
                return;
        w_store_rlx(&w_run_phase, RUN_FORKED);                    /* own word */
        w_fatal_set_dump(NULL);
        if (mp)
                w_store_rlx(&mp->retake, w_sched.retake_base | W_RETAKE_FORKED);      /* own word */
}

int w_fork_watch(void)
{
        int rc = watched ? 0 : w_os_fork_watch(in_child);

        watched = rc == 0;
        return rc;
}

bool w_is_forked(void)
{
        return w_load_rlx(&w_run_phase) == RUN_FORKED;            /* own word: see in_child */
}

W_NORETURN void w_fork_refuse(void)
{
        w_fatal("weft call in a child of fork: it may only exec or _exit");
}
