/* sched/run/abandon.c - a run ends, and some of its threads do not come back.
 *
 * Called by   run (the end), m (an entry of such a thread).
 * Protocols   owns abandon; cites where (sched/preempt/enter.c), take (sched/preempt/take.c), hogs
 *             (sched/preempt/preempt.c), world (sched/run/world.c).
 *
 * They sit in the program's own code or in the kernel, and nobody can end them. They are left
 * there: weft_run returns, the memory of the run goes, and another run may begin. What must stay is
 * what such a thread may touch without weft: its stack; and what it touches when it enters weft
 * again, or is struck by a signal: its record. It does not come back from that entry. Where
 * threads that compute are held, preempt=all, it is held for ever as soon as it computes outside
 * libc and outside of signal handlers.
 *
 * PROTOCOL abandon
 *
 * Goal      once the ender goes on no thread of the old run reads or writes anything of weft's but
 *           its own record.
 * Parties   ender; M.
 * Words     m.flag, m.mark; m.struck, odd: it is in its handler (sched/preempt/preempt_handler.c).
 * Ender     1 flag := ABANDONED, of every M that has not ended   2 [TK1] barrier   3 until every
 *           one of them has ended or is outside and not struck: looks again every millisecond
 *           4 arms the timers of those that are left, so that they are struck when they compute
 * M enters  mark := INSIDE, flag [TK1]: ABANDONED: mark := not INSIDE, sleeps for ever
 *           leaves: mark := not INSIDE. Whatever it comes back with leads to its end or here
 * Handler   struck + 1, fence [TK1], flag. ABANDONED: struck + 1, sleeps for ever if it may be
 *           held there. It is done: struck + 1
 * Edges     [LF1] what it did in the handler   struck add-release -> ender: load-acquire
 *           What it did inside is handed over with the mark, PROTOCOL where.
 * Why nobody slips in   who has entered before the barrier is seen inside by 3, and waited for; who
 *           enters after it sees the flag. A thread that was started and has not begun yet is
 *           inside, by its record.
 * Why the ender does not wait for ever   code of weft's ends: who is inside comes to g0 and ends,
 *           or goes out. Who waits inside for others that may have been left behind looks whether
 *           it has been itself: PROTOCOL world (sched/run/world.c).
 * Tests     flow/sched/run/test_abandon.c, sim scenarios left_*, mutants left-*.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/run/abandon.h"

#include "base/window.h"
#include "sched/preempt/preempt.h"
#include "sched/preempt/take.h"
#include "sched/monitor/activity.h"

enum { LOOK_EVERY_NS = 1000000 };

static w_atomic_u32 any_left;           /* a  hint: of any run so far */

/* ---- The thread ------------------------------------------------------------------------------ */

bool w_m_is_abandoned(const struct m *mp)
{
        uint32_t retake = w_load_acq(&mp->retake);                    /* [TK2] */

        return (retake & ~(uint32_t)W_RETAKE_FENCED) == W_RETAKE_ABANDONED;
}

void w_abandon_sleep(struct m *mp)
{
        W_WINDOW("left-before-sleep");
        w_store_rel(&mp->where, w_load_rlx(&mp->where) & ~(uint32_t)W_IN_RUNTIME); /* [MK1] */
        for (;;)
                w_os_sleep_until(W_FOREVER);
}

/* ---- The end of the run ---------------------------------------------------------------------- */

/* True: all have ended in time. */
static bool await_end(void)
{
        int64_t limit = w_os_now() + (int64_t)w_sched.config.shutdown_ms * 1000000;

        w_lock(&w_sched.lock);
        bool done = w_sched.n_ended == w_sched.n_started;

        w_sched.end_sleeps = !done;
        w_unlock(&w_sched.lock);
        if (done || w_note_sleep_until(&w_sched.all_ended, limit))
                return true;
        w_lock(&w_sched.lock);
        done = w_sched.n_ended == w_sched.n_started;
        w_sched.end_sleeps = false;
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

/* Not before all are away: who still comes back ends, and deletes its timer. */
static void hold_all(void)
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

/* -1: somebody is not away yet. */
static int count_left(void)
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

uint32_t w_abandon_await(void)
{
        int n;

        if (await_end())
                return 0;
        abandon_all();
        w_take_barrier();
        while ((n = count_left()) < 0)
                w_os_sleep_until(w_os_now() + LOOK_EVERY_NS);
        if (n > 0) {
                w_store_rlx(&any_left, 1);                        /* hint */
                hold_all();
        }
        return (uint32_t)n;
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
                gp->stack = NULL;       /* its locals and its fiber are its own */
        }
}
