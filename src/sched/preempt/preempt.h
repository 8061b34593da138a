/* sched/preempt/preempt.h - goroutines that compute on and on: their threads are held until there
 * is a P for them again. PROTOCOL preempt: sched/preempt/preempt.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_PREEMPT_PREEMPT_H
#define W_SCHED_PREEMPT_PREEMPT_H

#include "sched/sched.h"

/* run.c: from here on threads can be held, if preempt=all. -EINVAL: not with that signal. */
W_MUST_CHECK int w_preempt_start(void);
void w_preempt_stop(void);

/* Somebody is held, or about to be, or was just now. */
W_INLINE bool w_preempt_any(void)
{
        return w_load_rlx(&w_sched.n_preempted) != 0;                  /* hint */
}

/* mp has lost its P while it was outside: as soon as it computes, or has computed for a while if it
 * did not, its thread is held. With sched.lock. */
void w_preempt_arm_locked(struct m *mp, bool computes);

/* mp, which has pp and does not come back, is to be held before it loses it: else it would run on
 * for a moment beside whoever is next. Context: the monitor. */
void w_preempt_ask(struct p *pp, struct m *mp);
void w_preempt_unask(struct m *mp);
/* Says it once if the signal has been taken by somebody else. Context: the monitor. */
void w_preempt_report_once(void);
/* Who has been back without its P and computes on is to be held as well. Context: the monitor. */
void w_preempt_arm_lost(int64_t now);
W_INLINE bool w_preempt_is_waiting(struct m *mp)
{
        return w_load_rlx(&mp->grant) == W_GRANT_WAITING;            /* hint: the flag decides */
}

/* True: who is held longest has pp, which was in the caller's hands, and goes on. With
 * sched.lock. */
W_MUST_CHECK bool w_preempt_grant_locked(struct p *pp);

/* True: somebody is held. With sched.lock. */
bool w_preempt_any_locked(void);

/* mp has its P again by other means: it is not held any more. With sched.lock. */
void w_preempt_release_locked(struct m *mp);

/* The run ends: who is held goes on, and nobody is held from here on. With sched.lock. */
void w_preempt_end_locked(void);

/* mp ends. With sched.lock. */
void w_preempt_forget_locked(struct m *mp);

/* find.c: gives mp's P to somebody who is held; false: nobody is. */
bool w_preempt_serve(struct m *mp);

/* sysmon: an idle P for somebody who is held. How many. */
uint32_t w_preempt_serve_idle(void);

/* preempt_handler.c: what the signal does on the thread that it hits. */
void w_preempt_on_signal(const struct w_os_regs *regs, enum w_os_preempt_cause why);
void w_preempt_push(struct m *mp);

#endif
