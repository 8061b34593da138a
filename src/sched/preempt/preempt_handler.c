/* sched/preempt/preempt_handler.c - a thread that computes without a P is held, in a signal
 * handler.
 *
 * Called by   os/linux/preempt.c, in the handler, on the thread's signal stack.
 * Protocols   cites preempt (sched/preempt/preempt.c), freeze (sched/run/freeze.c), take
 *             (sched/preempt/take.c), where (sched/preempt/enter.c).
 *
 * The timer that sends the signal runs down with the CPU time of its thread and rings once; whoever
 * is not held at that place gets another try. Nothing here takes a lock or allocates.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/window.h"
#include "sched/run/freeze.h"
#include "sched/preempt/preempt.h"
#include "sched/run/abandon.h"
#include "sched/monitor/sysmon.h"

enum {
        PREEMPTED_MAX = 64,
        PATIENCE_NS = 50000000,         /* without a P for anyone who is held */
        EXCUSES_MAX = 10,               /* such whiles in a row that had a reason */
        QUANTUM_NS = 10000000,          /* of CPU time, for one who went on without a P */
        RETRY_NS = 1000000,             /* likewise, for one who must not be held where it was */
};

/* ---- Whether --------------------------------------------------------------------------------- */

static enum m_retake retake_of(const struct m *mp)
{
        return w_load_acq(&mp->retake) & ~(uint32_t)W_RETAKE_FENCED;  /* [TK2] */
}

/* Whether or not it has been back since: many calls need no P. */
static bool is_without_p(const struct m *mp)
{
        enum m_retake retake = retake_of(mp);

        return retake == W_RETAKE_TAKEN || retake == W_RETAKE_LOST;
}

static bool is_wanted(const struct m *mp)
{
        if (w_m_is_abandoned(mp) || w_load_rlx(&w_sched.preempt_off))   /* guarded by HG1 */
                return false;
        return is_without_p(mp) || w_load_rlx(&mp->preempt_wanted);  /* hint */
}

/* In plain user code: a region has said that its goroutine may run without a P. */
static bool is_out(const struct m *mp)
{
        uint32_t where = w_load_rlx(&mp->where);                    /* own word */

        return w_where_is_user(where) && !(where & (W_IN_REGION | W_IN_NOPREEMPT)) && mp->curg;
}

/* ---- Being held ------------------------------------------------------------------------------ */

static bool move(struct m *mp, enum m_grant from, enum m_grant to)
{
        uint32_t seen = from;

        return w_cas_acqrel(&mp->grant, &seen, to);               /* [HG3] */
}

static void enqueue(struct m *mp)
{
        do {
                if (w_load_acq(&mp->grant) == W_GRANT_NONE) {     /* [HG3] */
                        w_store_rlx(&mp->grant, W_GRANT_QUEUED);    /* guarded: in nobody's hands */
                        w_preempt_push(mp);
                }
                W_WINDOW("hog-listed");
        } while (!move(mp, W_GRANT_QUEUED, W_GRANT_WAITING));
}

/* What the queue of those who are held was like a while ago. */
struct patience {
        uint32_t n_grants, n_starved;
        int      n_excuses;
};

/* Did somebody get a P? Or is it the machine: then one more that runs makes it worse. */
static bool queue_moves(struct patience *had)
{
        uint32_t n_grants = w_load_rlx(&w_sched.n_grants);        /* counter */
        uint32_t n_starved = w_load_rlx(&w_sched.n_starved);      /* counter */
        bool     granted = n_grants != had->n_grants, excused = n_starved != had->n_starved;

        had->n_grants = n_grants;
        had->n_starved = n_starved;
        had->n_excuses = granted ? 0 : had->n_excuses + 1;
        return granted || (excused && had->n_excuses <= EXCUSES_MAX);
}

/* One sleep. False: mp goes on without a P. */
static bool go_on_waiting(struct m *mp, struct patience *had)
{
        uint32_t grant = w_load_acq(&mp->grant);                  /* [HG3] */

        if (grant == W_GRANT_CLAIMED) {
                (void)w_os_futex_wait(&mp->grant, grant, W_FOREVER);
                return true;
        }
        if (w_os_futex_wait(&mp->grant, W_GRANT_WAITING, w_os_now() + PATIENCE_NS) == 0)
                return true;
        return queue_moves(had) || !move(mp, W_GRANT_WAITING, W_GRANT_QUEUED);
}

/* True: it has a P again. */
static bool wait_for_turn(struct m *mp)
{
        struct patience had = { 0 };

        (void)queue_moves(&had);
        w_fence_full();                                           /* [HG1] */
        bool idle = w_load_rlx(&w_sched.n_idle_p) != 0;           /* guarded by HG1 */
        bool needless = !is_wanted(mp) || (idle && !is_without_p(mp));

        if (needless && move(mp, W_GRANT_WAITING, W_GRANT_QUEUED))
                return false;
        if (idle)
                w_sysmon_request();
        while (w_load_acq(&mp->grant) != W_GRANT_GRANTED)           /* [HG3] */
                if (!go_on_waiting(mp, &had))
                        return false;
        w_store_rlx(&mp->grant, W_GRANT_NONE);                    /* own word: not listed */
        return true;
}

/* What it does from now on is not what it did before, as far as the monitor is concerned. */
static void begin_new_stay(struct m *mp)
{
        w_store_rel(&mp->where, w_load_rlx(&mp->where) + W_WHERE_GRANTED);           /* [MK1] */
}

static void stay_preempted(struct m *mp, const struct w_os_regs *regs)
{
        struct g *gp = mp->curg;

        w_g_move(gp, G_RUNNING, G_PREEMPTED);
        w_freeze_pause(mp, regs);
        if (mp->turn_of == gp)          /* not after each newcomer: others are held, too */
                w_store_rlx(&w_sched.turn_over_at, (uint64_t)w_os_now());       /* hint */
        w_add_rlx(&w_sched.without_p.preemptions, 1);             /* counter */
        enqueue(mp);
        bool has_p = wait_for_turn(mp);

        mp->turn_of = has_p ? gp : NULL;
        w_freeze_resume(mp);
        w_g_move(gp, G_PREEMPTED, G_RUNNING);
        if (has_p)
                begin_new_stay(mp);
        else
                w_os_cpu_timer_arm(&mp->timer, QUANTUM_NS);
}

/* It may be about to leave weft again, without a P. Who ends a region gets one first. */
static void come_again(struct m *mp)
{
        bool inside = !w_where_is_user(w_load_rlx(&mp->where));  /* own word */

        if (inside && is_without_p(mp))
                w_os_cpu_timer_arm(&mp->timer, QUANTUM_NS);
}

/* What a handler has interrupted may hold a lock, wherever the handler itself stands; and who is
 * held in it for ever never does what the signal came for. */
static bool may_be_preempted(const struct w_os_regs *regs)
{
        return !regs->in_handler && w_os_is_safepoint(regs->pc);
}

static void strike(struct m *mp, const struct w_os_regs *regs)
{
        if (!is_out(mp)) {
                come_again(mp);
                return;
        }
        bool left_behind = w_m_is_abandoned(mp);

        if (!left_behind && !is_wanted(mp))
                return;
        if (!may_be_preempted(regs)) {
                w_os_cpu_timer_arm(&mp->timer, RETRY_NS);
                return;
        }
        if (left_behind) {
                w_add_rel(&mp->handler_seq, 1);                        /* [LF1] */
                w_abandon_sleep(mp);
        }
        if (w_add_rlx(&w_sched.n_preempted, 1) < PREEMPTED_MAX)             /* counter */
                stay_preempted(mp, regs);
        else
                w_os_cpu_timer_arm(&mp->timer, QUANTUM_NS);
        w_sub_rlx(&w_sched.n_preempted, 1);                            /* counter */
}

/* It stands first, if it has to, PROTOCOL freeze: then it may be held. */
void w_preempt_on_signal(const struct w_os_regs *regs, enum w_os_preempt_cause why)
{
        struct m *mp = w_m();

        if (!mp)
                return;
        w_add_rlx(&mp->handler_seq, 1);                                /* guarded by TK1 */
        w_fence_full();                                           /* [TK1] */
        w_freeze_answer(mp, regs);
        if (why == W_PREEMPT_BY_TIMER)
                strike(mp, regs);
        w_add_rel(&mp->handler_seq, 1);                                /* [LF1] */
}
