/* sched/run/abandon.c - the end of a run in which some threads do not come back in time.
 *
 * Protocols   owns abandon; cites where (sched/preempt/enter.c), take (sched/preempt/take.c),
 *             preempt (sched/preempt/preempt.c), world (sched/run/world.c).
 *
 * Such a thread is in user code or in the kernel, and no other thread can end it. The run abandons
 * the thread: weft_run returns, the memory of the run is freed, and another run may begin. The
 * thread may still use its stack. When it enters weft again, or its signal handler runs, it uses
 * the record of its M. The stack and the record therefore stay. The thread does not return from
 * that entry. With preempt=all it is stopped for ever as soon as it computes in code other than
 * libc and signal handlers.
 *
 * PROTOCOL abandon
 *
 * Goal      Once the ender continues, a thread of the old run reads and writes no memory of weft
 *           except the record of its M.
 * Parties   ender; M; its handler (sched/preempt/preempt_handler.c).
 * Words     m.retake        ABANDONED: the run has abandoned this M
 *           m.where         in the runtime or in user code
 *           m.handler_seq   odd: the M is in its handler
 * Ender     1. retake := ABANDONED for every M that has not ended.
 *           2. Barrier [TK1].
 *           3. Check every millisecond, until every such M has ended, or is in user code and not in
 *              its handler.
 *           4. Arm the timers of the abandoned Ms, so that their handlers run when they compute.
 * M enters  1. where := in the runtime.
 *           2. retake is ABANDONED [TK1]: where := in user code, then sleep for ever.
 * M leaves  where := in user code. Whatever the M does next leads to its end or to an entry.
 * Handler   1. handler_seq + 1.
 *           2. Fence [TK1].
 *           3. retake is ABANDONED: handler_seq + 1, then sleep for ever if the M is at a
 *              safepoint.
 *           4. Else, at the end: handler_seq + 1.
 * Edges     [LF1] the work in the handler   handler_seq add-release -> ender: load-acquire
 *           The work in the runtime is handed over with m.where, PROTOCOL where.
 * Why no M enters unseen   An M that entered before the barrier is in the runtime at step 3, and
 *           the ender waits for it. An M that enters after the barrier sees ABANDONED. A thread
 *           that was started and has not begun yet is in the runtime, by its record.
 * Why the ender does not wait for ever   Code of the runtime ends: an M in the runtime comes to g0
 *           and ends, or leaves. An M that waits in the runtime for Ms that may have been abandoned
 *           checks whether it has been abandoned itself: PROTOCOL world (sched/run/world.c).
 * Tests     flow/sched/run/test_abandon.c, sim scenarios abandon_*, mutants abandon-*.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/run/abandon.h"

#include "base/window.h"
#include "sched/monitor/activity.h"
#include "sched/preempt/preempt.h"
#include "sched/preempt/take.h"
#include "sched/sched.h"
#include "weft.h"

enum { CHECK_EVERY_NS = 1000000 };

static w_atomic_u32 any_left;           /* a  hint: of any run so far */
static w_atomic_u32 n_left;             /* a  counter: of the last run */

/* ---- The thread ------------------------------------------------------------------------------ */

bool w_m_is_abandoned(const struct m *mp)
{
        uint32_t retake = w_load_acq(&mp->retake);                    /* [TK2] */

        return (retake & ~(uint32_t)W_RETAKE_FENCED) == W_RETAKE_ABANDONED;
}

void w_abandon_sleep(struct m *mp)
{
        W_WINDOW("abandon-before-sleep");
        w_store_rel(&mp->where, w_load_rlx(&mp->where) & ~(uint32_t)W_IN_RUNTIME); /* [MK1] */
        for (;;)
                w_os_sleep_until(W_FOREVER);
}

/* ---- The end of the run ---------------------------------------------------------------------- */

/* True: all threads have ended in time. */
static bool await_end(void)
{
        int64_t limit = w_os_now() + (int64_t)w_sched.config.shutdown_ms * 1000000;

        w_lock(&w_sched.lock);
        bool done = w_sched.threads.n_ended == w_sched.threads.n_started;

        w_sched.threads.end_sleeps = !done;
        w_unlock(&w_sched.lock);
        if (done || w_note_sleep_until(&w_sched.threads.all_ended, limit))
                return true;
        w_lock(&w_sched.lock);
        done = w_sched.threads.n_ended == w_sched.threads.n_started;
        w_sched.threads.end_sleeps = false;
        w_unlock(&w_sched.lock);
        return done;
}

static void abandon_all(void)
{
        w_lock(&w_sched.lock);
        W_LIST_EACH(n, &w_sched.all_m) {
                struct m *mp = W_CONTAINER_OF(n, struct m, all_link);

                if (mp->is_main)
                        continue;
                (void)w_xchg_acqrel(&mp->retake,                  /* [TK2] */
                                    w_sched.retake_base | W_RETAKE_ABANDONED);
                w_activity_end(mp);
        }
        w_unlock(&w_sched.lock);
}

/* Called only when all Ms are away: an M that still came back would end, and delete its timer. */
static void arm_all(void)
{
        w_lock(&w_sched.lock);
        W_LIST_EACH(n, &w_sched.all_m) {
                struct m *mp = W_CONTAINER_OF(n, struct m, all_link);

                if (!mp->is_main)
                        w_preempt_arm_locked(mp, true);
        }
        w_unlock(&w_sched.lock);
}

static bool is_away(const struct m *mp)
{
        return w_where_is_user(w_load_acq(&mp->where)) &&        /* [MK1] */
               !w_is_in_handler(w_load_acq(&mp->handler_seq));             /* [LF1] */
}

/* -1: an M is not away yet. */
static int count_away(void)
{
        int n = 0;

        w_lock(&w_sched.lock);
        W_LIST_EACH(node, &w_sched.all_m) {
                struct m *mp = W_CONTAINER_OF(node, struct m, all_link);

                if (!mp->is_main)
                        n = n >= 0 && is_away(mp) ? n + 1 : -1;
        }
        w_unlock(&w_sched.lock);
        return n;
}

/* Returns how many threads were abandoned. */
static uint32_t abandon(void)
{
        int n;

        abandon_all();
        w_take_barrier();
        while ((n = count_away()) < 0)
                w_os_sleep_until(w_os_now() + CHECK_EVERY_NS);
        if (n > 0) {
                w_store_rlx(&any_left, 1);                        /* hint */
                arm_all();
        }
        return (uint32_t)n;
}

uint32_t w_abandon_await(void)
{
        uint32_t n = await_end() ? 0 : abandon();

        w_store_rlx(&n_left, n);                                  /* counter */
        return n;
}

W_EXPORT int weft_threads_left(void)
{
        return (int)w_load_rlx(&n_left);                          /* counter */
}

bool w_abandon_any(void)
{
        return w_load_rlx(&any_left);                             /* hint */
}

void w_abandon_keep_stacks(void)
{
        W_LIST_EACH(n, &w_sched.all_m) {
                struct g *gp = W_CONTAINER_OF(n, struct m, all_link)->curg;

                if (!gp || !gp->stack)
                        continue;
                w_stack_leave(&w_sched.stacks, gp->stack);
                gp->stack = NULL;       /* its locals and its fiber stay with the thread */
        }
}
