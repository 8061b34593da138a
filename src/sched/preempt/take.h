/* sched/preempt/take.h - taking the P of an M that is in user code. PROTOCOL take:
 * sched/preempt/take.c.
 *
 *   w_take_begin();
 *   lock sched: w_take_ask_locked(pp) for each P that is wanted; unlock
 *   w_take_barrier();
 *   lock sched: w_take_finish_locked(pp) for each P that was asked for; unlock
 *   w_take_end();
 *
 * The caller owns a P that was taken. It goes to w_hand_off_unlock or to the stopper of the world.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_PREEMPT_TAKE_H
#define W_SCHED_PREEMPT_TAKE_H

#include "sched/m.h"
#include "sched/p.h"

/* Admits one requester at a time. Context: any thread, sched.lock not held. */
void w_take_begin(void);
void w_take_end(void);

/* False: there is no M to ask, or the M was abandoned. With sched.lock. */
bool w_take_ask_locked(struct p *pp);

/* Makes every thread pass a full fence: an M that enters from here on sees the request. */
void w_take_barrier(void);

/* Ends the request for pp. True: the caller owns pp now. False: the M is in the runtime, or its
 * m.where is not `seen`. `seen` is W_ANYWHERE: any place in user code is right. W_NOWHERE: no place
 * is right, and the M can only give pp up itself. With sched.lock. */
enum {                                  /* no values of m.where in user code */
        W_ANYWHERE = W_IN_RUNTIME,
        W_NOWHERE = W_IN_RUNTIME | W_IN_REGION,
};
W_MUST_CHECK bool w_take_finish_locked(struct p *pp, uint32_t seen);

/* Gives pp back to the M from which it was taken. False: that M has entered since, and the caller
 * still owns pp. With sched.lock. */
bool w_give_back_locked(struct p *pp);

/* Gives pp, which the caller owns, to mp, which has lost its P and is preempted
 * (sched/preempt/preempt.c). False: mp has a P. With sched.lock. */
W_MUST_CHECK bool w_give_to_preempted_locked(struct p *pp, struct m *mp);

/* Passes on a P that has no M: to a preempted M, to a thread if there is work, or to the idle list.
 * Releases sched.lock. */
void w_hand_off_unlock(struct p *pp);

/* run.c: at the start, before there is an M. */
void w_take_init(void);

/* Takes an idle P for the calling M, which has lost its own. False: no P is idle. May switch:
 * no. */
bool w_p_regain(struct m *mp);
/* Makes sure that the calling goroutine runs with a P. If no P is idle, the goroutine queues, as if
 * it had yielded, and continues on an M that has a P. In a blocking region the goroutine continues
 * without a P, and w_park refuses to wait there. Context: goroutine, no runtime lock held; may
 * switch: yes. */
void w_need_p_slow(void);
W_INLINE void w_need_p(void)
{
        if (W_UNLIKELY(!w_p()))
                w_need_p_slow();
}
/* Yields if other goroutines wait for a turn, or if a stopper waits for the world to stop. Used by
 * calls that may wait, when they did not have to wait. Context as w_need_p; may switch: yes. */
void w_give_turn_slow(void);
W_INLINE void w_give_turn(void)
{
        struct p *pp = w_p();

        if (W_UNLIKELY(pp && w_p_is_to_yield(pp)))
                w_give_turn_slow();
}

/* The calling M hands its P off and goes on without a P. Context: its entry. */
void w_give_up_p(struct m *mp);

/* mp is about to sleep, or has a P again: it no longer counts as an M that has lost its P. With
 * sched.lock. */
void w_m_clear_lost_p_locked(struct m *mp);

#endif
