/* sched/idle.c - step 8: looking for work, going to sleep, waking a thread for new work.
 *
 * Called by   find (w_idle), ready, spawn and everything that queues work (w_wake_one).
 *
 * PROTOCOL idle
 *
 * Goal      never runnable work with an idle P and nobody looking; never more threads looking than
 *           useful.
 * Parties   submitter (any thread), looker (spinning M, holds a P), leaver (an M without work that
 *           gives up its P), sleeper.
 * Words     n_spinning: lookers. n_idle_p: Ps in the idle list. need_spinning: somebody saw work
 *           and no idle P; it spares leavers the walk past all queues. The queues, and next_at of
 *           each heap of timers: what is due is work, what is not yet due concerns sleepers only.
 * Submitter 1 publish work   2 [ID1] full fence   3 a looker? it will find the work: done
 *           4 no idle P: need_spinning := 1, [ID2] full fence; still none: done, a leaver will see
 *           it
 *           5 n_spinning 0 -> 1, take an idle P under the lock, start a thread that looks; no idle
 *           P any more: need_spinning := 1 under the lock, n_spinning - 1
 *           of many, with a P (sched/ready.c): 1 under the lock as many as there are idle Ps to the
 *           global queue, those Ps taken   2 the others to the own ring, what does not fit to the
 *           global queue   3 a thread for each P taken, not a looker: it has work   4 acts as a
 *           submitter of one: a P may have become idle meanwhile. Without a P: all to the global
 *           queue under the lock, together with the taking; then 3 and 4
 * Leaver    under sched.lock: 1 global queue empty?   2 P to the idle list, n_idle_p + 1
 *           3 [ID2] full fence   4 need_spinning, and it was not a looker: take a P back, look;
 *           likewise if somebody is held, PROTOCOL preempt (sched/preempt/preempt.c)   5 it was not
 *           a looker, because there were enough, and there are none any more: as a looker that
 *           found nothing. Whoever hands a P on, PROTOCOL take (sched/preempt/take.c), has not
 *           looked either, and is no sleeper: it does 5 here, and looks at every next_at
 * Yielder   takes one out of the queue and puts itself in, and who looks in between finds nothing:
 *           1 into the queue   2 [ID1] full fence   3 an idle P: acts as a submitter
 * Looker    that found nothing is a leaver first, then: 1 n_spinning - 1   2 [ID1] full fence   3
 *           look at every queue again; anything there and an idle P: take it and look anew
 *           that found something: n_spinning - 1, then acts as a submitter: it may have been the
 *           only looker, and what it found may not be all
 * Sleeper   has passed the looker's or the leaver's fence: looks at every next_at, PROTOCOL
 *           timekeeper (sched/timer/timekeeper.c): something is due and there is an idle P: take it
 *           and look anew
 * Edges     [ID1] queues <-> n_spinning         submitter's fence <-> looker's fence
 *                 queues <-> n_idle_p           yielder's fence <-> looker's, or who hands on
 *           [ID2] need_spinning <-> n_idle_p    submitter's fence <-> leaver's fence
 * Why nothing is lost   ID1: of submitter and looker, whoever's fence is later sees the other's
 *           first step: the submitter sees no looker, or the looker sees the work. ID2: the
 *           submitter sees the leaver's idle P, or the leaver sees need_spinning; who clears
 *           need_spinning looks at everything afterwards, and so sees what was published before it
 *           was set; or it finds no thread to do so, and then whoever next gives up a P looks. Nor
 *           is anything lost without need_spinning: every P that becomes idle was given up by
 *           somebody who has looked after that, or has seen one who will.
 * Not covered   the global queue is looked at under sched.lock by every leaver.
 * Rejected  one thread per ready (thrashing); handing the goroutine over (loses locality).
 * Tests     sim scenarios sched_idle, sched_foreign, sched_leave, sched_many*, mutants sched-*,
 *           flow/sched/test_parallel.c, flow/sched/test_wake_batch.c; windows spin-to-idle,
 *           batch-shared.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/assert.h"
#include "base/window.h"
#include "sched/preempt/preempt.h"
#include "sched/monitor/sysmon.h"

/* ---- Ps in the idle list --------------------------------------------------------------------- */

static void count_idle_p(uint32_t n)
{
        w_store_rlx(&w_sched.n_idle_p, n);                        /* guarded by ID2 and the lock */
}

void w_idle_p_put_locked(struct p *pp)
{
        W_ASSERT(w_lock_held(W_LOCK_sched));
        W_ASSERT(w_p_has_no_work(pp));
        w_store_rlx(&pp->status, P_IDLE);                         /* guarded by the lock */
        pp->idle_next = w_sched.idle_p;
        w_sched.idle_p = pp;
        count_idle_p(w_load_rlx(&w_sched.n_idle_p) + 1);          /* own word: under the lock */
}

/* The one that *at points to. */
static struct p *take_idle_p_locked(struct p **at)
{
        struct p *pp = *at;

        *at = pp->idle_next;
        pp->idle_next = NULL;
        w_sysmon_awaken_locked();
        count_idle_p(w_load_rlx(&w_sched.n_idle_p) - 1);          /* own word: under the lock */
        return pp;
}

struct p *w_idle_p_get_locked(void)
{
        W_ASSERT(w_lock_held(W_LOCK_sched));
        return w_sched.idle_p ? take_idle_p_locked(&w_sched.idle_p) : NULL;
}

struct p *w_idle_p_get_timed_locked(void)
{
        struct p **first = &w_sched.idle_p;

        W_ASSERT(w_lock_held(W_LOCK_sched));
        if (!*first)
                return NULL;
        for (struct p **at = &(*first)->idle_next; *at; at = &(*at)->idle_next)
                if (w_timers_next_at(&(*at)->timers) < w_timers_next_at(&(*first)->timers))
                        first = at;
        return take_idle_p_locked(first);
}

void w_p_set_dedicated(struct p *pp, bool dedicated)
{
        bool was = w_load_rlx(&pp->attention) & W_ATTENTION_DEDICATED;   /* own word */

        if (W_LIKELY(dedicated == was))
                return;
        if (dedicated)
                w_or_rlx(&pp->attention, W_ATTENTION_DEDICATED);         /* own word */
        else
                w_and_rlx(&pp->attention, ~(uint32_t)W_ATTENTION_DEDICATED);   /* own word */
}

/* By a CAS: the run may leave mp behind at this moment, and what it says to mp must stay. */
static void has_p_again(struct m *mp)
{
        uint32_t lost = w_sched.retake_base | W_RETAKE_LOST;

        W_WINDOW("p-acquired-again");
        (void)w_cas_acqrel(&mp->retake, &lost, w_sched.retake_base);  /* [TK2] */
}

void w_p_acquire(struct m *mp, struct p *pp)
{
        W_ASSERT(!mp->p);
        w_store_rlx(&pp->status, P_RUNNING);                      /* own word now */
        mp->p = pp;
        w_p_set_dedicated(pp, mp->dedicated);
        if (W_UNLIKELY(w_m_lost_p(mp)))
                has_p_again(mp);
        w_store_rel(&pp->m, mp);                                  /* [TK3] */
}

struct p *w_p_release(struct m *mp)
{
        struct p *pp = mp->p;

        W_ASSERT(pp && w_load_rlx(&pp->m) == mp);                 /* own word */
        w_store_rlx(&pp->m, NULL);                                /* own word */
        mp->p = NULL;
        return pp;
}

/* ---- Looking --------------------------------------------------------------------------------- */

void w_spin_begin(struct m *mp)
{
        W_ASSERT(!mp->spinning && mp->p);
        mp->spinning = true;
        w_add_rlx(&w_sched.n_spinning, 1);                        /* guarded by ID1 */
        w_store_rlx(&w_sched.need_spinning, 0);                   /* guarded by ID2 */
}

static void spin_end(struct m *mp)
{
        W_ASSERT(mp->spinning);
        mp->spinning = false;
        uint32_t before = w_sub_rlx(&w_sched.n_spinning, 1);      /* guarded by ID1 */

        W_CHECK(before > 0, "negative number of spinning threads");
}

void w_spin_end_found(struct m *mp)
{
        spin_end(mp);
        w_wake_one();
}

/* ---- Waking ---------------------------------------------------------------------------------- */

/* False: no idle P, and who next gives one up will know. */
static bool idle_p_seen(void)
{
        if (w_load_rlx(&w_sched.n_idle_p) != 0)                   /* guarded by ID2 */
                return true;
        if (w_load_rlx(&w_sched.need_spinning))                   /* guarded by ID2 */
                return false;
        w_store_rlx(&w_sched.need_spinning, 1);                   /* guarded by ID2 */
        w_fence_full();                                           /* [ID2] */
        return w_load_rlx(&w_sched.n_idle_p) != 0;                /* guarded by ID2 */
}

static W_NOINLINE void wake_slow(void)
{
        uint32_t none = 0;

        if (!w_cas_rlx(&w_sched.n_spinning, &none, 1))            /* guarded by ID1 */
                return;
        w_lock(&w_sched.lock);
        struct p *pp = w_load_rlx(&w_sched.stopping) ? NULL : w_idle_p_get_locked();  /* hint */

        if (!pp) {
                w_store_rlx(&w_sched.need_spinning, 1);           /* guarded by the lock */
                w_sub_rlx(&w_sched.n_spinning, 1);                /* guarded by ID1 */
        }
        w_unlock(&w_sched.lock);
        if (pp)
                w_thread_for(pp, true);
}

void w_wake_one_slow(void)
{
        w_fence_full();                                           /* [ID1] */
        if (w_load_rlx(&w_sched.n_spinning) != 0 || !idle_p_seen())     /* guarded by ID1 */
                return;
        wake_slow();
}

/* ---- Leaving and sleeping -------------------------------------------------------------------- */

/* Gives the P up; false if there was a reason not to, and mp still holds one. */
static bool leave_p(struct m *mp)
{
        w_lock(&w_sched.lock);
        if (w_load_rlx(&w_sched.stopping) || w_sched.globq.n) {   /* hint */
                w_unlock(&w_sched.lock);
                return false;
        }
        w_idle_p_put_locked(w_p_release(mp));
        w_fence_full();                                           /* [ID2][HG1] */
        bool wanted = !mp->spinning && w_load_rlx(&w_sched.need_spinning);      /* guarded by ID2 */
        bool preemptq = w_preempt_any_locked();

        if (wanted || preemptq)
                w_p_acquire(mp, w_idle_p_get_locked());
        w_unlock(&w_sched.lock);
        if (wanted)
                w_spin_begin(mp);
        return !wanted && !preemptq;
}

bool w_any_queue_has_work(void)
{
        if (w_load_rlx(&w_sched.n_globq) != 0)                    /* guarded by ID1 */
                return true;
        for (uint32_t i = 0; i < w_n_p(); i++)
                if (!w_p_has_no_work(w_sched.all_p[i]))
                        return true;
        return false;
}

/* Who was not admitted has not looked at all, and need not if somebody else will. */
static bool nothing_is_left(bool was_looking)
{
        if (!was_looking && w_load_rlx(&w_sched.n_spinning) != 0) /* guarded by ID1 */
                return true;
        return !w_any_queue_has_work();
}

/* The last look, with the P given up: true if it has a P again and goes on looking. */
static bool look_again(struct m *mp)
{
        bool was_looking = mp->spinning;

        if (was_looking)
                spin_end(mp);
        W_WINDOW("spin-to-idle");
        w_fence_full();                                           /* [ID1] */
        if (nothing_is_left(was_looking))
                return false;
        w_lock(&w_sched.lock);
        struct p *pp = w_load_rlx(&w_sched.stopping) ? NULL : w_idle_p_get_locked();  /* hint */

        w_unlock(&w_sched.lock);
        if (!pp)
                return false;
        w_p_acquire(mp, pp);
        w_spin_begin(mp);
        return true;
}

bool w_idle(struct m *mp)
{
        if (!leave_p(mp))
                return true;
        if (look_again(mp))
                return true;
        w_live_idle();
        return w_thread_sleep(mp);
}
