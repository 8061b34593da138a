/* sched/timer/timekeeper.c - the timekeeper: among the Ms that sleep, one wakes for the next timer.
 *
 * Called by   thread (an M goes to sleep, or is wanted), timers (an earlier one was armed), netpoll
 *             (the office is left for an event), sysmon (looks whether somebody keeps the time).
 * Protocols   cites idle (sched/idle.c), timers (sched/timer/timers.c), threads
 *             (sched/thread/thread.c).
 *
 * PROTOCOL timekeeper
 *
 * Goal      with a P idle and a timer armed, some M is awake, or wakes, when it is due.
 * Parties   sleeper (an M without a P, on its way to sleep), timekeeper (the sleeper that has a
 *           time to wake), teller (has armed a timer that became the first of its heap).
 * Words     next_at of each heap; timekeeper under sched.lock; timekeeper_wakes_at: when it wakes,
 *           W_FOREVER if there is none.
 * Sleeper   under sched.lock, its P given up before: 1 [TM2] full fence   2 the first timer of all;
 *           the timekeeper wakes no later: sleep   3 it is due, and a P is idle: take it and look
 *           4 due, but every P is busy: W_ATTENTION_DUE sends its owner through g0; go on with the
 *           first later one   5 relieve the timekeeper, who becomes a plain sleeper;
 *           timekeeper_wakes_at := the first. A timekeeper that is m0 is relieved in any case: it
 *           serves in need only
 * Keeper    is in no list of idle Ms: it is taken for other work only if no other thread is to be
 *           had. Its time comes: lock; still timekeeper: timekeeper_wakes_at := none, and it begins
 *           again as a sleeper. It may wait for descriptors meanwhile, PROTOCOL netpoll
 *           (sched/thread/netpoll.c); relieved, it goes on with that
 * Teller    1 next_at (under the heap's lock)   2 [TM2] full fence   3 timekeeper_wakes_at is no
 *           later: done   4 no timekeeper: it has a P, and more than 20 ms to go: done, the monitor
 *           sees to it; else wakes an M as for work, PROTOCOL idle   5 lock; takes the timekeeper's
 *           office away, timekeeper_wakes_at := none, and wakes it; it begins again as a sleeper
 * Monitor   each round, and when it has found every P idle: no timekeeper, a P is idle, and the
 *           first timer is less than 20 ms away or every P is idle: wakes an M as in 4
 * Armer on g0   between the commit of who left and the search, with its P: tells nobody
 * Leaver    of the office that does not begin again but has a P, PROTOCOL netpoll: it takes the
 *           idle P with the first timer; timekeeper_wakes_at := none, [TM2] full fence, then a
 *           teller of the first timer of the other Ps
 * Edges     [TM2] next_at <-> timekeeper_wakes_at   teller's fence <-> sleeper's or leaver's fence
 *           Towards n_spinning and n_idle_p, next_at is work: ID1 and ID2 of PROTOCOL idle
 * Why nothing is lost   whoever makes timekeeper_wakes_at later goes through the sleeper's fence
 *                       before it
 *           looks at the timers. Of it and a teller, one sees the other's word: the sleeper sees
 *           the timer, or the teller sees that the timekeeper wakes too late, or that there is
 *           none. Without a timekeeper the teller acts as a submitter, and every M that gives a P
 *           up passes ID1 or ID2 before it comes here. Who relieves the timekeeper makes
 *           timekeeper_wakes_at earlier, which loses nothing. Timers of a P that is not idle are
 *           seen by its owner: it goes through the search before it gives the P up, and every 61st
 *           tick.
 * Why the monitor is early enough   it comes round every 10 ms while a P is in use, and the teller
 *           has one. Who has seen to an event comes back as a sleeper long before, as a rule: a
 *           thread that is woken for each event to keep the time meanwhile costs more than the
 *           event. When the last P idles the monitor sees that under sched.lock, and with it what
 *           was armed before; it looks for a timekeeper before it sleeps.
 * Why the armer on g0 need not tell   if it finds no goroutine it is a sleeper itself. If it finds
 *           one while a P is idle, that one was still in a queue, or its timer in a heap, when the
 *           new timer was armed, or came later. So by PROTOCOL idle somebody looks for work then,
 *           or is woken to look. Each of those finds something and wakes the next, or finds that
 *           all is taken, and with that the new timer: it was armed before (RQ3, RQ5, or the lock
 *           of the queue or heap), and who finds nothing comes here. Where a goroutine is taken
 *           first and the timer armed on its stack, everyone may have looked in between: tell.
 * Which machines need the fences   on x86 there is a locked instruction in the place of each: the
 *           unlock of the heap, and the lock of sched. They stay for aarch64, where a load may pass
 *           the store of a release exchange, and because C11 asks for both. So no mutant can leave
 *           one out and be noticed here; those that move the loads to before are.
 * While the world is stopped no P is idle and nobody keeps the time; the start wakes one to look.
 * Rejected  every idle M wakes for the next timer (a herd); a thread for this alone (one more).
 * Tests     explore scenario timers-tell, sim scenarios timers_*, above all timers_told and
 *           timers_untold; mutants timers-*,
 *           flow/time/test_sleep.c.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/timer/timekeeper.h"

#include "base/assert.h"
#include "sched/thread/netpoll.h"
#include "sched/sched.h"

enum { IN_TIME_NS = 20000000 };         /* the monitor comes round twice */

static int64_t timekeeper_wakes_at(void)
{
        return (int64_t)w_load_rlx(&w_sched.timekeeper_wakes_at);      /* guarded by TM2 */
}

void w_timekeeper_resign_locked(void)
{
        W_ASSERT(w_lock_held(W_LOCK_sched));
        w_sched.timekeeper = NULL;
        w_store_rlx(&w_sched.timekeeper_wakes_at, W_FOREVER);            /* guarded by the lock */
}

struct m *w_timekeeper_take_locked(void)
{
        struct m *mp = w_sched.timekeeper;

        w_timekeeper_resign_locked();
        if (mp && w_sched.poller == mp)
                w_netpoll_kick_locked(mp);
        return mp;
}

/* Takes the office from a timekeeper that sleeps for too long; false: no need to any more. */
static bool take_late_timekeeper(int64_t first, struct m **out)
{
        w_lock(&w_sched.lock);
        bool late = timekeeper_wakes_at() > first;

        *out = late ? w_timekeeper_take_locked() : NULL;
        w_unlock(&w_sched.lock);
        return late;
}

/* There is no timekeeper; the monitor will see to it. */
static bool can_wait(int64_t first)
{
        return w_p() && first - w_os_now() > IN_TIME_NS;
}

uint32_t w_timekeeper_check(int64_t now)
{
        uint32_t n_idle = w_load_rlx(&w_sched.n_idle_p);          /* hint: it comes again */

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
                w_m_wake(mp);           /* without a P: it begins again */
        else
                w_wake_one();
}

/* Whoever owns a timer that is due and runs goroutines: through g0 at its next switch. */
static void hurry(int64_t now)
{
        for (uint32_t i = 0; i < w_n_procs(); i++) {
                struct p *pp = w_sched.all_p[i];

                if (w_timers_next_at(&pp->timers) <= now)
                        w_or_rlx(&pp->attention, W_ATTENTION_DUE);      /* hint */
        }
}

/* Old and new timekeeper change places under the lock: the old one is a plain sleeper, or waits for
 * descriptors only, and finds out when its time comes. */
static void relieve_locked(struct m *mp, int64_t until)
{
        struct m *old = w_sched.timekeeper;

        W_ASSERT(old != mp);
        if (old && old != w_sched.poller)
                w_thread_enlist_locked(old);
        w_sched.timekeeper = mp;
        mp->timekeeper_at = until;
        w_store_rlx(&w_sched.timekeeper_wakes_at, (uint64_t)until);     /* guarded by TM2 */
}

/* Something is due: mp takes an idle P to see to it, if there is one. */
static bool look_locked(struct m *mp)
{
        struct p *pp = w_idle_p_get_locked();

        if (!pp)
                return false;
        w_p_acquire(mp, pp);
        w_spin_begin(mp);
        return true;
}

/* m0 keeps the time only as long as nobody else can. */
static int64_t until_relieved(const struct m *mp)
{
        return w_sched.timekeeper && w_sched.timekeeper->is_main && !mp->is_main ? W_FOREVER
                                                                         : timekeeper_wakes_at();
}

bool w_timekeeper_begin_locked(struct m *mp)
{
        mp->timekeeper_at = W_FOREVER;
        if (w_load_rlx(&w_sched.stopping))                        /* guarded by the lock */
                return false;
        w_fence_full();                                           /* [TM2] */
        int64_t first = w_timers_first(INT64_MIN);

        if (first >= until_relieved(mp))
                return false;
        int64_t now = w_os_now();

        if (first <= now) {
                if (look_locked(mp))
                        return true;
                hurry(now);
                first = w_timers_first(now);
        }
        if (first < until_relieved(mp))
                relieve_locked(mp, first);
        return false;
}

bool w_timekeeper_time_up(struct m *mp)
{
        w_lock(&w_sched.lock);
        bool was = w_sched.timekeeper == mp;

        if (was)
                w_timekeeper_resign_locked();
        w_unlock(&w_sched.lock);
        return was;
}
