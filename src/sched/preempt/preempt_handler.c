/* sched/preempt/preempt_handler.c - stops a thread that computes without a P, in a signal handler.
 *
 * Protocols   cites preempt (sched/preempt/preempt.c), freeze (sched/run/freeze.c), take
 *             (sched/preempt/take.c), where (sched/preempt/enter.c).
 *
 * Runs on the thread's signal stack (os/linux/preempt.c). The timer that sends the signal counts
 * the CPU time of its thread and expires once. If the thread must not be stopped where it is, the
 * handler arms the timer again. Nothing here takes a lock or allocates.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/window.h"
#include "sched/monitor/sysmon.h"
#include "sched/preempt/preempt.h"
#include "sched/run/abandon.h"
#include "sched/run/freeze.h"
#include "sched/sched.h"

enum {
        PREEMPTED_MAX = 64,
        PATIENCE_NS = 50000000,         /* a wait in which no preempted M is granted a P */
        EXCUSES_MAX = 10,               /* such waits in a row, for lack of a CPU */
        QUANTUM_NS = 10000000,          /* CPU time of an M that went on without a P */
        RETRY_NS = 1000000,             /* CPU time of an M that was at no safepoint */
};

/* ---- Conditions ------------------------------------------------------------------------------ */

static enum m_retake retake_of(const struct m *mp)
{
        return w_load_acq(&mp->retake) & ~(uint32_t)W_RETAKE_FENCED;  /* [TK2] */
}

/* True also if the M has entered since (LOST): many calls need no P. */
static bool is_without_p(const struct m *mp)
{
        enum m_retake retake = retake_of(mp);

        return retake == W_RETAKE_TAKEN || retake == W_RETAKE_LOST;
}

static bool must_stop(const struct m *mp)
{
        if (w_m_is_abandoned(mp) || w_load_rlx(&w_sched.preempt.off))   /* guarded by HG1 */
                return false;
        return is_without_p(mp) || w_load_rlx(&mp->preempt_wanted);  /* hint */
}

/* A goroutine in a region may run without a P. */
static bool is_in_plain_user_code(const struct m *mp)
{
        uint32_t where = w_load_rlx(&mp->where);                    /* own word */

        return w_where_is_user(where) && !(where & (W_IN_REGION | W_IN_NOPREEMPT)) && mp->curg;
}

/* ---- Preempted ------------------------------------------------------------------------------- */

static void enqueue(struct m *mp)
{
        do {
                if (w_load_acq(&mp->grant) == W_GRANT_NONE) {     /* [HG3] */
                        w_store_rlx(&mp->grant, W_GRANT_QUEUED);    /* guarded: not in the queue */
                        w_preempt_push(mp);
                }
                W_WINDOW("preempt-queued");
        } while (!w_grant_move(mp, W_GRANT_QUEUED, W_GRANT_WAITING));
}

/* The counters of the queue when the wait began. */
struct patience {
        uint32_t n_grants, n_starved;
        int      n_excuses;
};

/* True: an M was granted a P since, or the Ms with a P get no CPU. In the second case one more
 * running thread would make the lack of CPUs worse. */
static bool queue_moves(struct patience *had)
{
        uint32_t n_grants = w_load_rlx(&w_sched.preempt.n_grants);        /* counter */
        uint32_t n_starved = w_load_rlx(&w_sched.preempt.n_starved);      /* counter */
        bool     granted = n_grants != had->n_grants, excused = n_starved != had->n_starved;

        had->n_grants = n_grants;
        had->n_starved = n_starved;
        had->n_excuses = granted ? 0 : had->n_excuses + 1;
        return granted || (excused && had->n_excuses <= EXCUSES_MAX);
}

/* Sleeps once. False: mp goes on without a P. */
static bool wait_once(struct m *mp, struct patience *had)
{
        uint32_t grant = w_load_acq(&mp->grant);                  /* [HG3] */

        if (grant == W_GRANT_CLAIMED) {
                (void)w_os_futex_wait(&mp->grant, grant, W_FOREVER);
                return true;
        }
        if (w_os_futex_wait(&mp->grant, W_GRANT_WAITING, w_os_now() + PATIENCE_NS) == 0)
                return true;
        return queue_moves(had) || !w_grant_move(mp, W_GRANT_WAITING, W_GRANT_QUEUED);
}

/* True: mp was granted a P, or released by the end of the run. */
static bool wait_for_turn(struct m *mp)
{
        struct patience had = { 0 };

        (void)queue_moves(&had);
        w_fence_full();                                           /* [HG1] */
        bool idle = w_load_rlx(&w_sched.n_idle_p) != 0;           /* guarded by HG1 */
        bool needless = !must_stop(mp) || (idle && !is_without_p(mp));

        if (needless && w_grant_move(mp, W_GRANT_WAITING, W_GRANT_QUEUED))
                return false;
        if (idle)
                w_sysmon_request();
        while (w_load_acq(&mp->grant) != W_GRANT_GRANTED)           /* [HG3] */
                if (!wait_once(mp, &had))
                        return false;
        w_store_rlx(&mp->grant, W_GRANT_NONE);                    /* own word: not in the queue */
        return true;
}

/* For the monitor the time in user code begins again. */
static void begin_new_epoch(struct m *mp)
{
        w_store_rel(&mp->where, w_load_rlx(&mp->where) + W_WHERE_GRANTED);           /* [MK1] */
}

static void stay_preempted(struct m *mp, const struct w_os_regs *regs)
{
        struct g *gp = mp->curg;

        w_g_move(gp, G_RUNNING, G_PREEMPTED);
        w_freeze_pause(mp, regs);
        if (mp->turn_of == gp)          /* else gp has had no turn that was granted */
                w_store_rlx(&w_sched.preempt.turn_over_at, (uint64_t)w_os_now());       /* hint */
        w_add_rlx(&w_sched.without_p.preemptions, 1);             /* counter */
        enqueue(mp);
        bool has_p = wait_for_turn(mp);

        mp->turn_of = has_p ? gp : NULL;
        w_freeze_resume(mp);
        w_g_move(gp, G_PREEMPTED, G_RUNNING);
        if (has_p)
                begin_new_epoch(mp);
        else
                w_os_cpu_timer_arm(&mp->timer, QUANTUM_NS);
}

/* mp may be about to leave weft again without a P. An M that ends a region gets a P before that. */
static void retry_if_in_runtime(struct m *mp)
{
        bool in_runtime = !w_where_is_user(w_load_rlx(&mp->where));  /* own word */

        if (in_runtime && is_without_p(mp))
                w_os_cpu_timer_arm(&mp->timer, QUANTUM_NS);
}

/* A signal handler of the program is no safepoint: the code that it has interrupted may hold a
 * lock, and the handler must do what its signal asks for. */
static bool is_at_safepoint(const struct w_os_regs *regs)
{
        return !regs->in_handler && w_os_is_safepoint(regs->pc);
}

static void preempt(struct m *mp, const struct w_os_regs *regs)
{
        if (!is_in_plain_user_code(mp)) {
                retry_if_in_runtime(mp);
                return;
        }
        bool abandoned = w_m_is_abandoned(mp);

        if (!abandoned && !must_stop(mp))
                return;
        if (!is_at_safepoint(regs)) {
                w_os_cpu_timer_arm(&mp->timer, RETRY_NS);
                return;
        }
        if (abandoned) {
                w_add_rel(&mp->handler_seq, 1);                        /* [LF1] */
                w_abandon_sleep(mp);
        }
        if (w_add_rlx(&w_sched.preempt.n, 1) < PREEMPTED_MAX)             /* counter */
                stay_preempted(mp, regs);
        else
                w_os_cpu_timer_arm(&mp->timer, QUANTUM_NS);
        w_sub_rlx(&w_sched.preempt.n, 1);                            /* counter */
}

/* Answers a freeze first (PROTOCOL freeze, sched/run/freeze.c). The M may be preempted after
 * that. */
void w_preempt_on_signal(const struct w_os_regs *regs, enum w_os_preempt_cause why)
{
        struct m *mp = w_m();

        if (!mp)
                return;
        w_add_rlx(&mp->handler_seq, 1);                                /* guarded by TK1 */
        w_fence_full();                                           /* [TK1] */
        w_freeze_answer(mp, regs);
        if (why == W_PREEMPT_BY_TIMER)
                preempt(mp, regs);
        w_add_rel(&mp->handler_seq, 1);                                /* [LF1] */
}
