/* sched/preempt/take.h - taking the P of an M that is outside, in user code. PROTOCOL take:
 * sched/preempt/take.c.
 *
 *   w_take_begin();
 *   lock sched: w_take_ask_locked(pp) for each P that is wanted; unlock
 *   w_take_barrier();
 *   lock sched: w_take_finish_locked(pp) for each that was asked; unlock
 *   w_take_end();
 *
 * What was taken is the caller's: it goes to w_hand_off_unlock or to whoever stops the world.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_PREEMPT_TAKE_H
#define W_SCHED_PREEMPT_TAKE_H

#include "sched/m.h"
#include "sched/p.h"

/* One requester at a time. Context: any thread, sched.lock not held. */
void w_take_begin(void);
void w_take_end(void);

/* False: there is no M to ask, or it has been left behind. With sched.lock. */
bool w_take_ask_locked(struct p *pp);

/* From here on an M that enters sees that it was asked. */
void w_take_barrier(void);

/* Ends the request for pp. True: it is the caller's now. False: the M is inside, or not where it
 * was when its mark was `seen` (W_ANYWHERE: wherever; W_NOWHERE: it can only give by itself). With
 * sched.lock. */
enum {                                  /* are no marks of an M that is outside */
        W_ANYWHERE = W_IN_RUNTIME,
        W_NOWHERE = W_IN_RUNTIME | W_IN_REGION,
};
W_MUST_CHECK bool w_take_finish_locked(struct p *pp, uint32_t seen);

/* True: the M from which pp was taken has not been back since, and has it again. Else pp is still
 * the caller's. With sched.lock. */
bool w_give_back_locked(struct p *pp);

/* True: mp, which has lost its P and is held (sched/preempt/preempt.c), has pp, which was the
 * caller's. False: it has a P. With sched.lock. */
W_MUST_CHECK bool w_give_to_preempted_locked(struct p *pp, struct m *mp);

/* For a P that has lost its M: a thread if there is something to do, else idle. Releases
 * sched.lock. */
void w_hand_off_unlock(struct p *pp);

/* run.c: at the start, before there is an M. */
void w_take_init(void);

/* regain.c: for the calling M, whose P was taken while it was outside. Takes an idle P if there is
 * one: true. May switch: no. */
bool w_p_regain(struct m *mp);
/* The caller goes on with a P: if there is none it queues as if it had yielded, and comes back
 * where there is one. In a blocking region it goes on without: what waits there is refused by name
 * (w_park). Context: goroutine, no runtime lock held; may switch: yes. */
void w_need_p_slow(void);
W_INLINE void w_need_p(void)
{
        if (W_UNLIKELY(!w_p()))
                w_need_p_slow();
}
/* Others wait for a turn, or for the world to stop: a caller that may wait and did not have to lets
 * them. Context as w_need_p; may switch: yes. */
void w_give_turn_slow(void);
W_INLINE void w_give_turn(void)
{
        struct p *pp = w_p();

        if (W_UNLIKELY(pp && w_p_is_to_yield(pp)))
                w_give_turn_slow();
}

/* The calling M hands its P on and goes on without. Context: its entry. */
void w_give_up_p(struct m *mp);

/* mp is about to sleep or has a P again. With sched.lock. */
void w_m_clear_lost_p_locked(struct m *mp);

#endif
