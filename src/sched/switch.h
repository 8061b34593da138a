/* sched/switch.h - from one goroutine to the next.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_SWITCH_H
#define W_SCHED_SWITCH_H

#include "sched/sched.h"

/* mp runs gp from now on. */
W_INLINE void w_become(struct m *mp, struct g *gp)
{
        w_g_move(gp, G_RUNNABLE, G_RUNNING);
        if (W_UNLIKELY(gp->ready_at != 0))
                w_latency_end(mp->p, gp);
        mp->curg = gp;
}

void w_execute(struct m *mp, struct g *gp);
/* Parks the calling goroutine. Once it is off its stack and WAITING, unlock(gp, arg) runs. From the
 * moment that unlock releases what protects the wait, gp may run elsewhere. If unlock returns false
 * there is no waker, and gp continues at once. Context: a goroutine that holds no runtime lock but
 * the one that unlock releases. May switch: yes. */
void w_park(enum wait_reason reason, bool (*unlock)(struct g *gp, void *arg), void *arg);
/* Switches to a child that no other thread has seen; the parent goes to `next`. May switch: yes. */
void w_switch_to_child(struct g *child);
/* The same through g0, which finds another thread for the two. May switch: yes. */
void w_switch_queue_child(struct g *child);
/* The calling goroutine, whose M has no P, waits in the global queue for one. May switch: yes. */
void w_switch_requeue_self(void);
/* weft_yield, for callers in the runtime. Context: any thread. May switch: yes. */
void w_yield(void);
/* Ends the calling goroutine and continues with `to`, which w_queue_take_direct gave, or with g0 if
 * `to` is NULL. */
W_NORETURN void w_switch_exit(struct g *to);
/* Runs fn(arg) on g0, for code that needs more stack than a goroutine may have. fn must not park.
 * Context: any thread. Returns on the same M. */
void w_on_g0(void (*fn)(void *), void *arg);
/* Switches to g0, where `run` calls fn and then resumes the goroutine. See sched/commit.h. */
void w_call_on_g0(void (*run)(struct m *mp, const struct commit *c), void (*fn)(void *), void *arg);
void w_goroutine_main(void *gp);

#endif
