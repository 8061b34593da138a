/* sched/timer/timekeeper.c - the timekeeper: the sleeping M that wakes for the next timer.
 *
 * PROTOCOL timekeeper
 *
 * Goal      With a P idle and a timer armed, an M is awake, or wakes, when the timer is due.
 * Parties   sleeper (an M without a P, on its way to sleep), timekeeper (the sleeper that has a
 *           time to wake), notifier (has armed a timer that became the first of its heap), monitor.
 * Words     next_at of each heap; timekeeper.m, under sched.lock; wakes_at: when the timekeeper
 *           wakes, W_FOREVER if there is none.
 * Sleeper   has released its P. Under sched.lock:
 *           1. Full fence [TM2].
 *           2. Read the first timer of all heaps. The timekeeper wakes no later: sleep.
 *           3. The timer is due, and a P is idle: take the P and search.
 *           4. The timer is due, but every P is busy: set W_ATTENTION_DUE, which sends the M of
 *              that P through g0. Go on with the first timer that is not due.
 *           5. Relieve the timekeeper, which becomes a plain sleeper; wakes_at := that timer. m0 as
 *              the timekeeper is always relieved: it serves only if no other M can.
 * Timekeeper   is in no list of idle Ms: it is taken for other work only if no other thread is
 *           available. When its time comes:
 *           1. Lock. Not the timekeeper any more: unlock, and sleep on.
 *           2. wakes_at := W_FOREVER; unlock; begin again as a sleeper.
 *           It may wait for descriptors meanwhile: PROTOCOL netpoll (sched/thread/netpoll.c). If it
 *           is relieved then, it continues to wait for descriptors.
 * Notifier  1. Write next_at, under the heap's lock.
 *           2. Full fence [TM2].
 *           3. wakes_at is no later: done.
 *           4. No timekeeper, the notifier has a P, and the timer is more than 20 ms away: done,
 *              the monitor acts in time. No timekeeper otherwise: wake an M as for work, PROTOCOL
 *              idle (sched/idle.c); done.
 *           5. Lock; timekeeper.m := NULL, wakes_at := W_FOREVER; unlock. Wake the former
 *              timekeeper, which begins again as a sleeper.
 * Monitor   Each round, and when it has found every P idle, it checks three conditions. There is no
 *           timekeeper; a P is idle; the first timer is at most 20 ms away or every P is idle. If
 *           all are true, it wakes an M as in step 4 of the notifier.
 * Arming on g0   The M that holds the P of the heap arms a timer on g0, between the commit of the
 *           goroutine that left and the search. It notifies no M.
 * Poller    that was the timekeeper and stops with a P, PROTOCOL netpoll:
 *           1. wakes_at := W_FOREVER. Take the idle P with the first timer.
 *           2. Full fence [TM2].
 *           3. Act as a notifier of the first timer of the other Ps.
 * Edges     [TM2] next_at <-> wakes_at   notifier's fence <-> sleeper's or poller's fence
 *           For n_spinning and n_idle_p, next_at is work: ID1 and ID2 of PROTOCOL idle.
 * Why nothing is lost   An M that makes wakes_at later passes the sleeper's fence before it reads
 *           the timers. Of this M and a notifier, one sees the other's word: the sleeper sees the
 *           timer; or the notifier sees that the timekeeper wakes too late, or that there is none.
 *           Without a timekeeper the notifier acts as a submitter, and every M that releases a P
 *           passes ID1 or ID2 before it comes here. An M that relieves the timekeeper makes
 *           wakes_at earlier, which loses nothing. The timers of a P that is not idle are seen by
 *           its M: it searches before it releases the P, and at every 61st tick.
 * Why the monitor is early enough   It comes every 10 ms while a P is in use, and the notifier has
 *           a P. An M that handles an event usually comes back as a sleeper long before that. To
 *           wake a thread for each event, which would be the timekeeper meanwhile, costs more than
 *           the event. When the last P becomes idle, the monitor sees that under sched.lock,
 *           together with all timers armed before. It checks for a timekeeper before it sleeps.
 * Why arming on g0 need not notify   If the search finds no goroutine, the M is a sleeper itself.
 *           Suppose it finds a goroutine while a P is idle. When the new timer was armed, that
 *           goroutine was still in a queue, or its timer was in a heap, or it came later. So by
 *           PROTOCOL idle an M spins, or is woken to spin. Each such M finds work and wakes the
 *           next M; or it finds all work taken. In the second case it sees the new timer, which was
 *           armed before the work was taken (RQ3, RQ5, or the lock of the queue or heap). An M that
 *           finds nothing comes here. If a goroutine is taken first and arms the timer on its
 *           stack, all Ms may have searched in between: notify.
 * Which machines need the fences   On x86 a locked instruction stands in the place of each fence:
 *           the unlock of the heap, and the lock of sched. The fences stay for aarch64, where a
 *           load may pass the store of a release exchange, and because C11 demands both. So no test
 *           that runs on x86 notices a missing fence. The explorer, which models C11, notices it.
 *           It also notices the mutants that move the loads before the fence.
 * Stopped world   No P is idle, and there is no timekeeper. The start wakes an M to search.
 * Rejected  Every idle M wakes for the next timer (all would wake at once). A thread for this alone
 *           (one more thread).
 * Tests     explorer scenario timers-notify, sim scenarios timekeeper_* and timers_*, mutants
 *           timers-*, flow/time/test_sleep.c.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/timer/timekeeper.h"

#include "base/assert.h"
#include "sched/idle.h"
#include "sched/sched.h"
#include "sched/thread/netpoll.h"
#include "sched/thread/sleep.h"

enum { IN_TIME_NS = 20000000 };         /* two rounds of the monitor */

static int64_t timekeeper_wakes_at(void)
{
        return (int64_t)w_load_rlx(&w_sched.timekeeper.wakes_at);      /* guarded by TM2 */
}

void w_timekeeper_resign_locked(void)
{
        W_ASSERT(w_lock_held(W_LOCK_sched));
        w_sched.timekeeper.m = NULL;
        w_store_rlx(&w_sched.timekeeper.wakes_at, W_FOREVER);            /* guarded by the lock */
}

struct m *w_timekeeper_take_locked(void)
{
        struct m *mp = w_sched.timekeeper.m;

        w_timekeeper_resign_locked();
        if (mp && w_sched.poller.m == mp)
                w_netpoll_kick_locked(mp);
        return mp;
}

/* Takes the timekeeper if it wakes later than `first`. False: it wakes in time by now. */
static bool take_late_timekeeper(int64_t first, struct m **out)
{
        w_lock(&w_sched.lock);
        bool late = timekeeper_wakes_at() > first;

        *out = late ? w_timekeeper_take_locked() : NULL;
        w_unlock(&w_sched.lock);
        return late;
}

/* True: there is no timekeeper, but the monitor will be in time. */
static bool can_wait(int64_t first)
{
        return w_p() && first - w_os_now() > IN_TIME_NS;
}

uint32_t w_timekeeper_check(int64_t now)
{
        uint32_t n_idle = w_load_rlx(&w_sched.n_idle_p);          /* hint: next round */

        if (W_LIKELY(n_idle == 0 || timekeeper_wakes_at() != W_FOREVER))
                return 0;
        int64_t first = w_timers_first(INT64_MIN);

        if (first == W_FOREVER || (first - now > IN_TIME_NS && n_idle < w_n_procs()))
                return 0;
        w_wake_one();
        return 1;
}

void w_timekeeper_notify(int64_t first)
{
        struct m *mp = NULL;

        w_fence_full();                                           /* [TM2] */
        int64_t until = timekeeper_wakes_at();

        if (until <= first || (until == W_FOREVER && can_wait(first)) ||
            (until != W_FOREVER && !take_late_timekeeper(first, &mp)))
                return;
        if (mp)
                w_thread_wake(mp);           /* without a P: mp begins again as a sleeper */
        else
                w_wake_one();
}

/* Sends each M that holds a P with a due timer through g0 at its next switch. */
static void hurry_owners(int64_t now)
{
        for (uint32_t i = 0; i < w_n_procs(); i++) {
                struct p *pp = w_sched.all_p[i];

                if (w_timers_next_at(&pp->timers) <= now)
                        w_or_rlx(&pp->attention, W_ATTENTION_DUE);      /* hint */
        }
}

/* mp replaces the timekeeper, under the lock. The old timekeeper becomes a plain sleeper, or waits
 * for descriptors only; it sees that when its time comes. */
static void relieve_locked(struct m *mp, int64_t until)
{
        struct m *old = w_sched.timekeeper.m;

        W_ASSERT(old != mp);
        if (old && old != w_sched.poller.m)
                w_thread_enlist_locked(old);
        w_sched.timekeeper.m = mp;
        mp->timekeeper_at = until;
        w_store_rlx(&w_sched.timekeeper.wakes_at, (uint64_t)until);     /* guarded by TM2 */
}

/* A timer is due: mp takes an idle P, if there is one, and searches. */
static bool take_p_locked(struct m *mp)
{
        struct p *pp = w_idle_p_get_locked();

        if (!pp)
                return false;
        w_p_acquire(mp, pp);
        w_spin_begin(mp);
        return true;
}

/* Returns when the timekeeper wakes; W_FOREVER if mp must relieve it. m0 is the timekeeper only as
 * long as no other M can be. */
static int64_t until_relieved(const struct m *mp)
{
        return w_sched.timekeeper.m && w_sched.timekeeper.m->is_main && !mp->is_main ? W_FOREVER
                                                                         : timekeeper_wakes_at();
}

bool w_timekeeper_begin_locked(struct m *mp)
{
        mp->timekeeper_at = W_FOREVER;
        if (w_load_rlx(&w_sched.world.stopping))                        /* guarded by the lock */
                return false;
        w_fence_full();                                           /* [TM2] */
        int64_t first = w_timers_first(INT64_MIN);

        if (first >= until_relieved(mp))
                return false;
        int64_t now = w_os_now();

        if (first <= now) {
                if (take_p_locked(mp))
                        return true;
                hurry_owners(now);
                first = w_timers_first(now);
        }
        if (first < until_relieved(mp))
                relieve_locked(mp, first);
        return false;
}

bool w_timekeeper_time_up(struct m *mp)
{
        w_lock(&w_sched.lock);
        bool was = w_sched.timekeeper.m == mp;

        if (was)
                w_timekeeper_resign_locked();
        w_unlock(&w_sched.lock);
        return was;
}
