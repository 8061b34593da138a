/* sched/preempt/preempt.h - stops the threads of goroutines that compute for long, until there is a
 * P for them again. PROTOCOL preempt: sched/preempt/preempt.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_PREEMPT_PREEMPT_H
#define W_SCHED_PREEMPT_PREEMPT_H

#include "sched/sched.h"

/* run.c: lets Ms be preempted from here on, if preempt=all. -EINVAL: the signal cannot be used. */
W_MUST_CHECK int w_preempt_start(void);
void w_preempt_stop(void);

/* True: an M is preempted, is about to be, or was a moment ago. */
W_INLINE bool w_preempt_any(void)
{
        return w_load_rlx(&w_sched.preempt.n) != 0;                  /* hint */
}

/* Arms the CPU timer of mp, which has lost its P in user code. Its thread is stopped as soon as it
 * runs (`computes`), or after 10 ms of CPU time. With sched.lock. */
void w_preempt_arm_locked(struct m *mp, bool computes);

/* Asks mp, which has pp and computes, to stop before it loses pp. Otherwise its thread would run
 * for a moment beside the next M that has pp. Context: the monitor. */
void w_preempt_ask(struct p *pp, struct m *mp);
void w_preempt_unask(struct m *mp);
/* Reports once that the program has replaced the signal's handler. Context: the monitor. */
void w_preempt_report_once(void);
/* Arms the timers of Ms that have entered weft without their P and compute again. Context: the
 * monitor. */
void w_preempt_arm_lost(int64_t now);
W_INLINE bool w_preempt_is_waiting(struct m *mp)
{
        return w_load_rlx(&mp->grant) == W_GRANT_WAITING;            /* hint: m.retake decides */
}

/* Grants pp, which the caller owns, to the M that was preempted first. False: no M is preempted,
 * and the caller still owns pp. With sched.lock. */
W_MUST_CHECK bool w_preempt_grant_locked(struct p *pp);

/* True: an M is preempted. With sched.lock. */
bool w_preempt_any_locked(void);

/* mp has got its P back by other means: lets mp go on. With sched.lock. */
void w_preempt_release_locked(struct m *mp);

/* The run ends: lets every preempted M go on. From here on no M is preempted. With sched.lock. */
void w_preempt_end_locked(void);

/* Takes mp, which ends, out of the queue. With sched.lock. */
void w_preempt_forget_locked(struct m *mp);

/* Grants mp's P to a preempted M. False: no M is preempted, or the world stops; mp keeps its P. */
bool w_preempt_serve(struct m *mp);

/* Grants an idle P to a preempted M. Returns how many Ps were granted. Context: the monitor. */
uint32_t w_preempt_serve_idle(void);

/* preempt_handler.c: the signal's work, on the thread that received it. */
void w_preempt_on_signal(const struct w_os_regs *regs, enum w_os_preempt_cause why);
/* preempt.c: puts mp, the calling M, on the stack from which granters fill the queue. */
void w_preempt_push(struct m *mp);
/* False: m.grant was not `from`. */
W_INLINE bool w_grant_move(struct m *mp, enum m_grant from, enum m_grant to)
{
        uint32_t seen = from;

        return w_cas_acqrel(&mp->grant, &seen, to);               /* [HG3] */
}

/* The signal that preempts. It belongs to the runtime: programs must not ask for it. */
W_INLINE int w_preempt_signal(void)
{
        return w_sched.config.preempt_signal;
}

#endif
