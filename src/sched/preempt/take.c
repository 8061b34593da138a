/* sched/preempt/take.c - taking a P away from an M that is in user code.
 *
 * Called by   sysmon (blocked and computing goroutines, regions), stop (the world, the end).
 * Protocols   owns take; cites where (sched/preempt/enter.c), idle (sched/idle.c), timekeeper
 *             (sched/timer/timekeeper.c).
 *
 * PROTOCOL take
 *
 * Goal      the P of an M that does not come back soon serves others; entering weft and leaving it
 *           costs the M plain stores and one load, no fence and no locked instruction.
 * Parties   M (enters, leaves); requester, one at a time (lock `take`).
 * Words     m.mark: INSIDE or not, with a number that no two stays of that M outside share.
 *           m.flag: NONE, REQUEST, REFUSED, TAKEN, LOST; ABANDONED; FENCED may be added to each.
 *           m.p, pp.m; m.blocked_since, what the M will tell (sched/monitor/blocked_report.c);
 *           n_lost: Ms that go on without their P, under sched.lock.
 * M enters  1 mark := INSIDE   2 flag. NONE: the P is its own. REQUEST: CAS -> REFUSED: its own.
 *           TAKEN, seen or found by that CAS: CAS -> LOST, m.p := NULL, goes on without a P
 * M gives   it has refused, but was asked for a turn 10 ms ago and has not let anybody have one
 *           (sched/monitor/retake.c): under sched.lock m.p := NULL, flag CAS -> LOST from REFUSED,
 *           or from NONE or REQUEST if the requester has come that far since; hands the P on
 *           itself. Who calls weft all the time is never outside for as long as a barrier takes,
 *           and would refuse for ever
 * M leaves  what it did to the P, then mark := not INSIDE, the next number [MK1]
 * Requester 1 under sched.lock: flag CAS NONE -> REQUEST   2 [TK1] barrier: every other thread
 *           passes a full fence   3 under sched.lock: mark [MK1]; outside, as it was when it
 *           became suspect, and with that P: flag CAS REQUEST -> TAKEN [TK2]: the P is the
 *           requester's. Else flag CAS REQUEST -> NONE, or REFUSED -> NONE
 * Giver     has a P that was taken: under sched.lock flag CAS TAKEN -> NONE [TK2]: it is the M's
 *           again, as if nothing had been. The CAS fails: the M has been back
 * Given back is only what m.p says: pp.taken_from is forgotten by whoever hands the P on, and
 *           m.lost_p is the P that the M lost last. While the world is being stopped an M may lose
 *           one P, come back, be given another that was on its way, and lose that too.
 * M gets a P again   by w_p_acquire: flag CAS LOST -> NONE, unless it is ABANDONED by now (PROTOCOL
 *           left, sched/run/abandon.c); while it is held, and so can do nothing else (PROTOCOL
 *           hogs, sched/preempt/preempt.c): flag TAKEN or LOST -> NONE by a CAS
 * Edges     [TK1] mark <-> flag      M: store mark, load flag <-> requester: store flag, barrier,
 *                                    load mark
 *           [TK2] the P, m.p, pp.m   each move of the flag: CAS-acqrel or exchange -> the next one:
 *                 and blocked_since  likewise, or the M's load-acquire
 *           [TK3] the record of an M         w_p_acquire: pp.m store-release -> monitor:
 *                                            load-acquire
 *           [MK1] all that M did with the P while inside   sched/preempt/enter.c
 * Why not both own it   an M that entered before the barrier has its mark seen by 3; one that
 *           enters after it sees REQUEST, or what became of it. REQUEST leads to REFUSED or to
 *           TAKEN, and TAKEN to LOST or back to NONE, by a CAS either way: one of the two wins. An
 *           M that gives does so under the lock of step 3, which finds another M, or none, with P.
 * Why a request does not stick   only the requester makes one, and it ends what it began: under the
 *           same lock `take`, whatever the M did meanwhile. An M's record may have been given to a
 *           new thread in between: that is done under sched.lock, and its flag is not REQUEST.
 * FENCED    without membarrier, and under TSan, which does not know it: the flag of every M has
 *           this bit, so that every entry takes the slow path, which passes a fence of its own.
 * Nobody else touches what belongs to the M's P: it goes through w_p(), which is NULL from the
 *           entry on that saw TAKEN.
 * Rejected  a fence at each entry (3.6 ns against 0.8); two plain words and no CAS (both own it); a
 *           signal to the M (EINTR in calls that are not weft's).
 * Tests     flow/sched/preempt/test_take_p.c, flow/sched/preempt/test_preempt_calls.c, sim
 *           scenarios take_*, mutants take-*, explorer scenario take.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/preempt/take.h"

#include "base/assert.h"
#include "base/window.h"
#include "sched/preempt/preempt.h"
#include "sched/timer/timekeeper.h"
#include "sched/thread/netpoll.h"
#include "sched/sched.h"

/* ---- The barrier ----------------------------------------------------------------------------- */

void w_take_init(void)
{
#if defined(W_TSAN)
        bool fenced = true;
#else
        bool fenced = w_os_membarrier_init() < 0;
#endif
        w_sched.retake_base = fenced ? W_RETAKE_FENCED : 0;
}

void w_take_barrier(void)
{
        w_fence_full();                                           /* [TK1] */
        if (w_sched.retake_base != 0)
                return;
        int rc = w_os_membarrier();                               /* [TK1] */

        W_CHECK(rc == 0, "membarrier does not work any more (error %d)", -rc);
}

/* ---- Asking ---------------------------------------------------------------------------------- */

void w_take_begin(void)
{
        w_lock(&w_sched.take_lock);
}

void w_take_end(void)
{
        w_unlock(&w_sched.take_lock);
}

static bool retake_move(struct m *mp, enum m_retake from, enum m_retake to)
{
        uint32_t seen = w_sched.retake_base | from;

        return w_cas_acqrel(&mp->retake, &seen, w_sched.retake_base | to);          /* [TK2] */
}

bool w_take_ask_locked(struct p *pp)
{
        W_ASSERT(w_lock_held(W_LOCK_sched) && w_lock_held(W_LOCK_take));
        struct m *mp = w_load_rlx(&pp->m);                        /* guarded by TK2 */

        W_ASSERT(!pp->asked);
        if (!mp || !retake_move(mp, W_RETAKE_NONE, W_RETAKE_REQUESTED))
                return false;
        pp->asked = mp;
        return true;
}

/* mp goes on without pp. m.p is not looked at: the M may have come back and set it to NULL. */
static void lose_p_locked(struct m *mp, struct p *pp)
{
        W_ASSERT(!mp->lost_p);
        w_store_rlx(&pp->m, NULL);                                /* own word now */
        pp->taken_from = mp;
        mp->lost_p = pp;
        w_store_rlx(&mp->preempt_wanted, 0);                      /* hint: that is the flag's now */
        w_and_rlx(&pp->attention, ~(uint32_t)(W_ATTENTION_YIELD | W_ATTENTION_GIVE));   /* hint */
        w_sched.n_lost++;
        w_sched.n_dedicated -= mp->dedicated;
        w_p_count(&pp->stats.takes, 1);
}

bool w_take_finish_locked(struct p *pp, uint32_t seen)
{
        W_ASSERT(w_lock_held(W_LOCK_sched) && w_lock_held(W_LOCK_take));
        struct m *mp = pp->asked;
        uint32_t  where = w_load_acq(&mp->where);                   /* [MK1] */
        bool      outside = w_where_is_user(where) && (seen == W_ANYWHERE || where == seen);

        outside = outside && w_load_rlx(&pp->m) == mp;            /* guarded by MK1 */
        pp->asked = NULL;
        W_WINDOW("take-before-claim");
        if (outside && retake_move(mp, W_RETAKE_REQUESTED, W_RETAKE_TAKEN)) {
                lose_p_locked(mp, pp);
                return true;
        }
        if (!retake_move(mp, W_RETAKE_REQUESTED, W_RETAKE_NONE))
                (void)retake_move(mp, W_RETAKE_REFUSED, W_RETAKE_NONE);
        return false;
}

/* What mp would have told is over as well: it has a P, as if nothing had been. Nobody looks at that
 * before the P is asked for again, under the lock. */
static bool give_locked(struct p *pp, struct m *mp, bool held)
{
        W_ASSERT(w_lock_held(W_LOCK_sched));
        w_store_rlx(&pp->status, P_RUNNING);                      /* own word */
        w_p_set_dedicated(pp, mp->dedicated);
        w_store_rel(&pp->m, mp);                                  /* [TK3] */
        if (!retake_move(mp, W_RETAKE_TAKEN, W_RETAKE_NONE) &&
            !(held && retake_move(mp, W_RETAKE_LOST, W_RETAKE_NONE))) {
                w_store_rlx(&pp->m, NULL);                        /* own word still */
                return false;
        }
        mp->blocked_since = 0;
        pp->taken_from = NULL;
        w_m_clear_lost_p_locked(mp);
        return true;
}

bool w_give_to_preempted_locked(struct p *pp, struct m *mp)
{
        if (!give_locked(pp, mp, true))
                return false;
        mp->p = pp;
        w_p_count(&pp->stats.handoffs, 1);      /* mp does nothing with it before it is let go */
        return true;
}

bool w_give_back_locked(struct p *pp)
{
        struct m *mp = pp->taken_from;

        pp->taken_from = NULL;
        if (!mp || mp->lost_p != pp || !give_locked(pp, mp, false))
                return false;
        w_preempt_release_locked(mp);
        return true;
}

/* ---- Handing on ------------------------------------------------------------------------------ */

/* Before those who are held: a due timer may be why pp was taken from one of them. */
static bool has_something_to_do_locked(struct p *pp)
{
        return w_sched.globq.n || !w_p_has_no_work(pp) ||
               (w_preempt_any() && w_timers_next_at(&pp->timers) <= w_os_now());
}

/* In the queue of another P, where who has yielded stands without need_spinning. */
static bool somebody_could_be_stolen(void)
{
        return w_load_rlx(&w_sched.n_spinning) == 0 &&            /* guarded by ID1 */
               w_any_queue_has_work();
}

/* A timer that is due on another P may be why pp was taken; who kept the time had no P for it then,
 * and has gone on to the next one. need_spinning spares the walk past all queues. */
static bool is_wanted_locked(void)
{
        return w_load_rlx(&w_sched.need_spinning) ||              /* guarded by ID2 */
               w_preempt_any_locked() || w_timers_first(INT64_MIN) <= w_os_now() ||
               somebody_could_be_stolen();
}

/* As a leaver of PROTOCOL idle: true if pp is to be used at once, by a looker. */
static bool leave_idle_locked(struct p *pp)
{
        w_idle_p_put_locked(pp);
        w_fence_full();                                           /* [ID1][ID2][HG1] */
        if (!is_wanted_locked())
                return false;
        struct p *back = w_idle_p_get_locked();

        W_ASSERT(back == pp);
        (void)back;
        w_add_rlx(&w_sched.n_spinning, 1);                        /* guarded by ID1 */
        w_store_rlx(&w_sched.need_spinning, 0);                   /* guarded by ID2 */
        return true;
}

/* Whoever goes to sleep with its P given up looks at every timer; here nobody does. */
void w_hand_off_unlock(struct p *pp)
{
        bool stopping = w_load_rlx(&w_sched.stopping);            /* guarded by the lock */
        bool work = !stopping && has_something_to_do_locked(pp);
        bool hog = !stopping && !work && w_preempt_grant_locked(pp);
        bool look = !stopping && !work && !hog && leave_idle_locked(pp);

        pp->taken_from = stopping ? pp->taken_from : NULL;
        if (stopping)
                w_p_give_up_locked(pp);
        if (work || look)
                w_p_count(&pp->stats.handoffs, 1);
        w_unlock(&w_sched.lock);
        if (work || look)
                w_thread_for(pp, look);
        else if (!stopping && !hog && w_timers_next_at(&pp->timers) != W_FOREVER)
                w_timekeeper_notify(w_timers_next_at(&pp->timers));
        if (!stopping && !work && !hog && !look)
                w_netpoll_notify();
}

/* ---- Giving up ------------------------------------------------------------------------------- */

/* Whatever the requester has made of the refusal by now: who finishes finds pp in other hands. */
static void mark_lost_locked(struct m *mp)
{
        if (!retake_move(mp, W_RETAKE_REFUSED, W_RETAKE_LOST) &&
            !retake_move(mp, W_RETAKE_NONE, W_RETAKE_LOST))
                (void)retake_move(mp, W_RETAKE_REQUESTED, W_RETAKE_LOST);
}

void w_give_up_p(struct m *mp)
{
        W_WINDOW("take-before-giving-up");
        w_lock(&w_sched.lock);
        if (w_load_rlx(&w_sched.stopping)) {                      /* guarded by the lock */
                w_unlock(&w_sched.lock);
                return;
        }
        struct p *pp = w_p_release(mp);

        lose_p_locked(mp, pp);
        mark_lost_locked(mp);
        w_hand_off_unlock(pp);
}
