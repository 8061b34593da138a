/* sched/run/fork.c - a program that calls fork.
 *
 * Protocols   cites where (sched/preempt/enter.c), foreign (sched/run/foreign.c).
 *
 * A child of fork has one thread. What the other threads were about to do to the run is never done.
 * The child may exec, or end. A call that needs the run ends the process with a message. An M is
 * recognized by m.retake, which every entry reads anyway; other threads are recognized by the
 * phase.
 *
 * While no run is on, fork does not concern weft, and the child may start a run. But no other
 * thread may be in a weft call at the fork: a lock that such a thread held, for example the lock of
 * the channels' memory, would stay locked. vfork and posix_spawn are not noticed and need not be.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/run/fork.h"

#include "base/fatal.h"
#include "sched/run/run.h"
#include "sched/sched.h"

/* ---- Fork ------------------------------------------------------------------------------------ */

static bool watched;    /* guarded by the phase: only the thread that starts a run uses it */

/* Runs on the child's only thread, before fork returns. Removes the dump of goroutines: they are
 * goroutines of the parent. */
static void in_child(void)
{
        struct m *mp = w_m();

        if (w_load_rlx(&w_run_phase) == RUN_OFF)                  /* own word: the only thread */
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
