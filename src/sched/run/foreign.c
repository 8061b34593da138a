/* sched/run/foreign.c - calls of foreign threads, which keep the run alive while they last.
 *
 * A foreign thread needs no M and no P. It works under the locks of the objects. Goroutines that it
 * wakes go to the global queue. When it waits, it sleeps on a note in its own frame (wait/wait.c).
 * All that it needs is that the run is not taken down during its call.
 *
 * PROTOCOL foreign
 *
 * Goal      A foreign thread that calls weft finds the run whole until its call is over.
 * Parties   foreign thread (not an M); ender (m0 at the end of weft_run, the caller of weft_stop).
 *           The ender waits for Ms in any case.
 * Words     phase             of the run (sched/run/run.h)
 *           n_foreign_calls   calls that foreign threads are in. The word is static, so a late wake
 *                             of it is harmless
 * Foreign thread enters
 *           1. n_foreign_calls + 1.
 *           2. Full fence [RN2].
 *           3. phase is ON [RN3]: the thread is in the run.
 *           4. phase is not ON: exit as below, and refuse the call.
 * Foreign thread exits
 *           1. n_foreign_calls - 1 [RN4]; not the last call: done.
 *           2. Full fence [RN2].
 *           3. phase is not ON: wake the ender.
 * Ender     1. phase := ENDING.
 *           2. Full fence [RN2].
 *           3. Sleep until n_foreign_calls is 0 [RN4].
 * Edges     [RN2] n_foreign_calls <-> phase   foreign thread's fence <-> ender's fence
 *           [RN3] all that set_up made   start: phase store-release -> foreign thread: phase
 *                 load-acquire
 *           [RN4] all that the call did   foreign thread: n_foreign_calls sub-release -> ender:
 *                 n_foreign_calls load-acquire
 * Why the run stays whole   The later of the two fences sees the word of the other side. Either the
 *           foreign thread sees ENDING and exits, or the ender sees the call and waits for it.
 * Why the ender wakes   It found n_foreign_calls not 0 after its fence. The decrement to 0 comes
 *           later, and the foreign thread that made it passes a fence and then sees ENDING.
 * Rejected  An M for each foreign thread. A word per thread that has attached itself, with a
 *           membarrier by the ender, in the place of the shared counter. Both:
 *           docs/decisions/012-a-foreign-thread-needs-no-m.md.
 * Tests     flow/sched/run/test_run.c, flow/sched/run/test_foreign.c,
 *           flow/sched/run/test_foreign_threads.c, flow/sched/run/test_background.c, sim
 *           scenarios foreign_*, mutants foreign-*.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/run/foreign.h"

#include "base/window.h"
#include "sched/run/fork.h"

static w_atomic_u32 n_foreign_calls;    /* a  [RN2][RN4] */

/* The first load of the phase is a hint. Without it, threads that call again and again and are
 * refused would delay the end of the run. */
bool w_foreign_enter_slow(void)
{
        if (w_load_rlx(&w_run_phase) != RUN_ON) {                 /* hint: RN2 decides */
                if (w_is_forked())
                        w_fork_refuse();
                return false;
        }
        w_add_rlx(&n_foreign_calls, 1);                           /* guarded by RN2 */
        w_fence_full();                                           /* [RN2] */
        W_WINDOW("foreign-before-check");
        if (w_load_acq(&w_run_phase) == RUN_ON)                   /* [RN3] */
                return true;
        w_foreign_exit_slow();
        return false;
}

void w_foreign_exit_slow(void)
{
        if (w_sub_rel(&n_foreign_calls, 1) != 1)                  /* [RN4] */
                return;
        w_fence_full();                                           /* [RN2] */
        if (W_UNLIKELY(w_load_rlx(&w_run_phase) != RUN_ON))       /* guarded by RN2 */
                w_os_futex_wake(&n_foreign_calls, 1);
}

void w_foreign_await(void)
{
        w_fence_full();                                           /* [RN2] */
        for (uint32_t n; (n = w_load_acq(&n_foreign_calls)) != 0;)        /* [RN4] */
                (void)w_os_futex_wait(&n_foreign_calls, n, W_FOREVER);
}
