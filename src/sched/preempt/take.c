/* sched/preempt/take.c - takes the P of an M that is in user code; the M goes on without it.
 *
 * Protocols   owns take; cites where (sched/preempt/enter.c), idle (sched/idle.c), preempt
 *             (sched/preempt/preempt.c), abandon (sched/run/abandon.c), park (sched/switch.c),
 *             timekeeper (sched/timer/timekeeper.c).
 *
 * Most calls of weft need no P. Goroutines that they make ready go to the global queue, memory
 * comes from the central lists, and a goroutine can park on a thread without a P. Only a goroutine
 * that must continue to run needs a P: see w_need_p.
 *
 * PROTOCOL take
 *
 * Goal      The P of an M that stays in user code for long serves other goroutines. Entering and
 *           leaving weft costs the M plain stores and one load: no fence, no locked instruction.
 * Parties   M, which enters and leaves weft; requester, one at a time (lock `take`); giver, which
 *           has a P that was taken; granter of PROTOCOL preempt.
 * Words     m.where    IN_RUNTIME or not, and an epoch: each stay of the M in user code has its own
 *           m.retake   NONE        no request
 *                      REQUESTED   a requester wants the P
 *                      REFUSED     the M entered before the P was taken
 *                      TAKEN       the P was taken, and the M may get it back
 *                      LOST        the M knows that it has no P
 *                      ABANDONED   PROTOCOL abandon
 *                      FENCED      a bit beside each of these
 *           m.p, pp.m.  m.blocked_since: what the M will report (sched/monitor/blocked_report.c).
 *           n_lost: number of Ms that go on without their P, under sched.lock.
 * M enters  1. where := IN_RUNTIME.
 *           2. Load retake. NONE: the P is the M's.
 *              REQUESTED: CAS -> REFUSED; the P is the M's.
 *              TAKEN, at the load or after a failed CAS: CAS -> LOST, m.p := NULL; no P.
 * M leaves  1. All that it did with the P.
 *           2. where := not IN_RUNTIME, next epoch [MK1].
 * M gives   The M has refused, but was asked 10 ms ago to yield (sched/monitor/retake.c) and has
 *           let no other goroutine run since. Under sched.lock:
 *           1. m.p := NULL.
 *           2. retake CAS REFUSED -> LOST; or from NONE or REQUESTED, if the requester moved it.
 *           3. Hands the P off.
 *           An M that calls weft all the time is never in user code for as long as a barrier takes,
 *           and would refuse for ever.
 * Requester 1. Under sched.lock: retake CAS NONE -> REQUESTED.
 *           2. [TK1] barrier: every other thread passes a full fence.
 *           3. Under sched.lock: load where [MK1]. If the M is in user code, in the epoch in which
 *              it became a suspect, and has that P: retake CAS REQUESTED -> TAKEN [TK2]; the P is
 *              the requester's. Otherwise: retake CAS REQUESTED -> NONE, or REFUSED -> NONE.
 * Giver     Under sched.lock: retake CAS TAKEN -> NONE [TK2]. The P is the M's again, as if it had
 *           never been taken. CAS fails: the M has entered since.
 *           It gives back only the P that m.p names. A hand-off clears pp.taken_from, and m.lost_p
 *           is the P that the M lost last. While the world is being stopped, an M may lose one P,
 *           enter, get another P that was on its way to it, and lose that P too.
 * M gets a P   w_p_acquire: retake CAS LOST -> NONE, unless it is ABANDONED by now. While the M is
 *           preempted, and thus does nothing else, the granter: CAS TAKEN or LOST -> NONE.
 * Edges     [TK1] where <-> retake   M: store where, load retake <-> requester: store retake,
 *                                    barrier, load where
 *           [TK2] the P, m.p, pp.m   each move of retake: CAS-acqrel or exchange -> the next move,
 *                 and blocked_since  or the M's load-acquire
 *           [TK3] the M's record     w_p_acquire: pp.m store-release -> monitor: load-acquire
 *           [MK1] all that the M did with its P in the runtime: sched/preempt/enter.c
 * Why not both own the P   Step 3 sees the where of an M that entered before the barrier. An M that
 *           enters after the barrier sees REQUESTED, or the state after it. REQUESTED leads to
 *           REFUSED or TAKEN, and TAKEN to LOST or NONE, each by a CAS that one party wins. An M
 *           gives its P under the lock of step 3. Step 3 then finds another M at that P, or none.
 * Why no request stays   Only the requester makes a request, and it ends the request under the same
 *           lock `take`, whatever the M did meanwhile. The M's record may have gone to a new thread
 *           in between. That happens under sched.lock, and then retake is not REQUESTED.
 * FENCED    Without membarrier, retake of every M has this bit; also under TSan, which does not
 *           know membarrier. Then every entry takes the slow path, which passes a fence of its own.
 * Data of the P   Other code reaches the M's P through w_p(). It is NULL from the entry that saw
 *           TAKEN until the M gets a P again.
 * Rejected  A fence at each entry: 3.6 ns against 0.8. Two plain words and no CAS: both parties
 *           would own the P. A signal to the M: system calls of the program would return EINTR.
 * Tests     flow/sched/preempt/test_take_p.c, flow/sched/preempt/test_preempt_calls.c, sim
 *           scenarios take_*, mutants take-*, explorer scenario take.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/preempt/take.h"

#include "base/assert.h"
#include "base/window.h"
#include "sched/commit.h"
#include "sched/idle.h"
#include "sched/preempt/nopreempt.h"
#include "sched/preempt/preempt.h"
#include "sched/sched.h"
#include "sched/switch.h"
#include "sched/thread/netpoll.h"
#include "sched/thread/thread.h"
#include "sched/timer/timekeeper.h"

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

        W_CHECK(rc == 0, "membarrier(2) has stopped working: %s", w_error_name(rc));
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

/* mp goes on without pp. m.p is not read: the M may have entered meanwhile and set it to NULL. */
static void lose_p_locked(struct m *mp, struct p *pp)
{
        W_ASSERT(!mp->lost_p);
        w_store_rlx(&pp->m, NULL);                                /* own word now */
        pp->taken_from = mp;
        mp->lost_p = pp;
        w_store_rlx(&mp->preempt_wanted, 0);                      /* hint: m.retake says it now */
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
        bool      in_user = w_where_is_user(where) && (seen == W_ANYWHERE || where == seen);

        in_user = in_user && w_load_rlx(&pp->m) == mp;            /* guarded by MK1 */
        pp->asked = NULL;
        W_WINDOW("take-before-claim");
        if (in_user && retake_move(mp, W_RETAKE_REQUESTED, W_RETAKE_TAKEN)) {
                lose_p_locked(mp, pp);
                return true;
        }
        if (!retake_move(mp, W_RETAKE_REQUESTED, W_RETAKE_NONE))
                (void)retake_move(mp, W_RETAKE_REFUSED, W_RETAKE_NONE);
        return false;
}

/* mp has a P as if it had never lost one, so it has no block to report either. blocked_since is not
 * used before the P is asked for again, under the lock. */
static bool give_locked(struct p *pp, struct m *mp, bool preempted)
{
        W_ASSERT(w_lock_held(W_LOCK_sched));
        w_store_rlx(&pp->status, P_RUNNING);                      /* own word */
        w_p_set_dedicated(pp, mp->dedicated);
        w_store_rel(&pp->m, mp);                                  /* [TK3] */
        if (!retake_move(mp, W_RETAKE_TAKEN, W_RETAKE_NONE) &&
            !(preempted && retake_move(mp, W_RETAKE_LOST, W_RETAKE_NONE))) {
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
        w_p_count(&pp->stats.handoffs, 1);      /* mp does not use pp before it is woken */
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

/* ---- Handing off ----------------------------------------------------------------------------- */

/* A due timer of pp comes before preempted Ms: pp may have been taken from a preempted M for that
 * timer. */
static bool has_something_to_do_locked(struct p *pp)
{
        return w_sched.globq.n || !w_p_has_no_work(pp) ||
               (w_preempt_any() && w_timers_next_at(&pp->timers) <= w_os_now());
}

/* A goroutine that has yielded may wait in the queue of another P, without need_spinning being
 * set. */
static bool has_work_to_steal(void)
{
        return w_load_rlx(&w_sched.n_spinning) == 0 &&            /* guarded by ID1 */
               w_any_queue_has_work();
}

/* pp may have been taken for a timer that is due on another P. The timekeeper had no P for that
 * timer, and has gone on to the next timer. need_spinning saves the scan of all queues. */
static bool needs_spinner_locked(void)
{
        return w_load_rlx(&w_sched.need_spinning) ||              /* guarded by ID2 */
               w_preempt_any_locked() || w_timers_first(INT64_MIN) <= w_os_now() ||
               has_work_to_steal();
}

/* Releases pp by PROTOCOL idle. True: there is work, and a spinning M must use pp at once. */
static bool leave_idle_locked(struct p *pp)
{
        w_idle_p_put_locked(pp);
        w_fence_full();                                           /* [ID1][ID2][HG1] */
        if (!needs_spinner_locked())
                return false;
        struct p *back = w_idle_p_get_locked();

        W_ASSERT(back == pp);
        (void)back;
        w_add_rlx(&w_sched.n_spinning, 1);                        /* guarded by ID1 */
        w_store_rlx(&w_sched.need_spinning, 0);                   /* guarded by ID2 */
        return true;
}

/* An M that releases its P and sleeps reads every timer. No M does that for a P that is handed off,
 * hence the notification. */
void w_hand_off_unlock(struct p *pp)
{
        bool stopping = w_load_rlx(&w_sched.world.stopping);            /* guarded by the lock */
        bool work = !stopping && has_something_to_do_locked(pp);
        bool granted = !stopping && !work && w_preempt_grant_locked(pp);
        bool spin = !stopping && !work && !granted && leave_idle_locked(pp);

        pp->taken_from = stopping ? pp->taken_from : NULL;
        if (stopping)
                w_p_give_up_locked(pp);
        if (work || spin)
                w_p_count(&pp->stats.handoffs, 1);
        w_unlock(&w_sched.lock);
        if (work || spin)
                w_thread_for(pp, spin);
        else if (!stopping && !granted && w_timers_next_at(&pp->timers) != W_FOREVER)
                w_timekeeper_notify(w_timers_next_at(&pp->timers));
        if (!stopping && !work && !granted && !spin)
                w_netpoll_notify();
}

/* ---- Giving up ------------------------------------------------------------------------------- */

/* The requester may have moved REFUSED on by now. When the requester finishes, it finds pp with
 * another M. */
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
        if (w_load_rlx(&w_sched.world.stopping)) {                      /* guarded by the lock */
                w_unlock(&w_sched.lock);
                return;
        }
        struct p *pp = w_p_release(mp);

        lose_p_locked(mp, pp);
        mark_lost_locked(mp);
        w_hand_off_unlock(pp);
}

/* ---- Going on after the loss of a P ---------------------------------------------------------- */

void w_m_clear_lost_p_locked(struct m *mp)
{
        W_ASSERT(w_lock_held(W_LOCK_sched));
        w_sched.n_lost -= mp->lost_p != NULL;
        w_sched.n_dedicated += mp->lost_p && mp->dedicated;
        mp->lost_p = NULL;
        mp->block.since = 0;
}

bool w_p_regain(struct m *mp)
{
        if (w_load_rlx(&w_sched.n_idle_p) == 0)                   /* hint: caller can queue */
                return false;
        w_lock(&w_sched.lock);
        bool      stopping = w_load_rlx(&w_sched.world.stopping);       /* guarded by the lock */
        struct p *pp = stopping ? NULL : w_idle_p_get_locked();

        if (pp)
                w_m_clear_lost_p_locked(mp);
        w_unlock(&w_sched.lock);
        if (!pp)
                return false;
        w_p_acquire(mp, pp);
        return true;
}

void w_need_p_slow(void)
{
        struct m *mp = w_m();

        if (!mp->curg || w_g_in_region(mp->curg) || w_p_regain(mp))
                return;
        if (mp->curg->nopreempt)
                w_nopreempt_requeue_self();
        else
                w_switch_requeue_self();
}

void w_give_turn_slow(void)
{
        struct g *gp = w_g();

        if (!gp || w_g_in_region(gp) || gp->nopreempt)
                return;
        w_p_count(&w_p()->stats.preemptions, w_p_turn_is_wanted(w_p()));
        w_yield();
}
