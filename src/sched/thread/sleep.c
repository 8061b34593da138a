/* sched/thread/sleep.c - step 9: an M without a P sleeps until it is given one, or ends.
 *
 * Called by   idle, stop and schedule (an M has no P), sysmon (a thread is owed).
 * Protocols   cites threads (sched/thread/thread.c), timekeeper (sched/timer/timekeeper.c), take
 *             (sched/preempt/take.c), deadlock (sched/monitor/deadlock.c).
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/assert.h"
#include "sched/timer/timekeeper.h"
#include "sched/thread/netpoll.h"
#include "sched/sched.h"
#include "sched/preempt/take.h"

enum { RETRY_MIN_NS = 1000000, RETRY_MAX_NS = 1000000000 };

/* ---- Sleeping -------------------------------------------------------------------------------- */

/* True if mp was still unemployed and is now on its way out. */
static bool may_end(struct m *mp)
{
        w_lock(&w_sched.lock);
        bool unemployed = !w_list_empty(&mp->idle_link);
        bool ends = unemployed && !mp->dedicated && w_threads_available_locked() > w_n_procs();

        if (ends) {
                w_list_unlink(&mp->idle_link);
                w_sched.n_idle_m--;
                w_sched.n_leaving++;
                mp->leaves = true;
        }
        w_unlock(&w_sched.lock);
        return ends;
}

/* One stretch of sleep: true if somebody has woken mp, whose note is clear again. */
static bool sleep_once(struct m *mp, int64_t until)
{
        if (!w_note_sleep_until(&mp->note, until))
                return false;
        w_note_clear(&mp->note);
        return true;
}

/* False: mp is to end. True: there are orders, or mp was the timekeeper or in the poller and begins
 * again, or has a P already. */
static bool sleep_until_handoff(struct m *mp)
{
        int64_t patience = (int64_t)w_sched.config.idle_ms * 1000000;

        if (mp->polls) {
                w_netpoll_sleep(mp);
                return true;
        }
        for (;;) {
                bool    stays = mp->is_main || mp->locked_g;
                int64_t limit = stays ? W_FOREVER : w_os_now() + patience;
                bool    keeps = mp->timekeeper_at < limit;

                if (sleep_once(mp, keeps ? mp->timekeeper_at : limit))
                        return true;
                if (!keeps && may_end(mp))
                        return false;
                if (keeps && w_timekeeper_time_up(mp))
                        return true;
                if (keeps)
                        mp->timekeeper_at = W_FOREVER;
        }
}

bool w_thread_sleep(struct m *mp)
{
        w_lock(&w_sched.lock);
        return w_thread_sleep_unlock(mp);
}

void w_thread_enlist_locked(struct m *mp)
{
        if (mp->is_main)
                w_m_dedicate_locked(mp, true);
        if (mp->dedicated) {
                w_list_push_front(&w_sched.dedicated_m, &mp->idle_link);
                w_sched.n_dedicated_asleep++;
        } else {
                w_list_push_front(&w_sched.idle_m, &mp->idle_link);
                w_sched.n_idle_m++;
        }
}

/* For an M in the idle list or the timekeeper, or with orders on their way. False: it is to end. */
static bool await_handoff(struct m *mp)
{
        if (!sleep_until_handoff(mp) || mp->must_end)
                return false;
        w_m_take_handoff(mp);
        return true;
}

/* An idle P, if a thread could not be created for one that had work to do. */
static struct p *pop_pending_locked(void)
{
        if (!w_load_rlx(&w_sched.thread_pending) || w_load_rlx(&w_sched.stopping))   /* guarded */
                return NULL;
        w_store_rlx(&w_sched.thread_pending, 0);                     /* guarded by the lock */
        return w_idle_p_get_locked();
}

/* Work may wait only as long as every existing thread has some: whoever goes to sleep looks first.
 * With all of them blocked nobody does, so the monitor tries again, at growing intervals. */
uint32_t w_thread_retry_pending(int64_t now)
{
        if (W_LIKELY(!w_load_rlx(&w_sched.thread_pending))) {        /* hint: it comes again */
                w_sched.retry_pause = 0;
                return 0;
        }
        bool asked = w_load_rlx(&w_sched.thread_pending) == W_PENDING_ASKED;            /* hint */

        if (!asked && now < w_sched.retry_at)
                return 0;
        w_sched.retry_pause = w_sched.retry_pause ? 2 * w_sched.retry_pause : RETRY_MIN_NS;
        if (w_sched.retry_pause > RETRY_MAX_NS)
                w_sched.retry_pause = RETRY_MAX_NS;
        w_sched.retry_at = now + w_sched.retry_pause;
        w_lock(&w_sched.lock);
        struct p *pp = pop_pending_locked();

        if (pp)
                w_add_rlx(&w_sched.n_spinning, 1);                /* guarded by ID1 */
        w_unlock(&w_sched.lock);
        if (pp)
                w_thread_for(pp, true);
        return pp != NULL;
}

/* One that is kept looks for no work. m0 does, but only where no other thread is to be had. */
static bool may_help_locked(const struct m *mp)
{
        return !w_m_is_tainted(mp) &&
               !(mp->is_main &&
                 w_load_rlx(&w_sched.thread_pending) == W_PENDING_ASKED);      /* guarded */
}

/* A thread could not be created for a P with work to do, and this one is about to sleep: it looks
 * for that work instead. Unlocks if so. */
static bool take_pending_locked(struct m *mp)
{
        struct p *pp = may_help_locked(mp) ? pop_pending_locked() : NULL;

        if (!pp)
                return false;
        w_m_dedicate_locked(mp, false);
        w_unlock(&w_sched.lock);
        w_p_acquire(mp, pp);
        w_spin_begin(mp);
        return true;
}

bool w_thread_sleep_unlock(struct m *mp)
{
        W_ASSERT(!mp->p && !mp->spinning && !mp->curg);
        w_m_clear_lost_p_locked(mp);
        mp->timekeeper_at = W_FOREVER;
        for (;;) {
                if (mp->next_p)         /* the goroutine that is locked to it runs again already */
                        break;
                if (!w_sched.ending && take_pending_locked(mp))
                        return true;
                if (w_sched.ending || (!mp->dedicated && w_timekeeper_begin_locked(mp)))
                        break;
                if (!mp->dedicated)
                        w_netpoll_begin_locked(mp);
                if (!w_m_is_event_waiter_locked(mp))
                        w_thread_enlist_locked(mp);
                w_deadlock_asleep_locked();
                w_unlock(&w_sched.lock);
                if (!await_handoff(mp))
                        return false;
                if (mp->p)
                        return true;
                w_lock(&w_sched.lock);
        }
        w_unlock(&w_sched.lock);
        w_m_take_handoff(mp);
        return mp->p != NULL;
}

bool w_thread_sleep_enlisted(struct m *mp)
{
        return await_handoff(mp) && (mp->p || w_thread_sleep(mp));
}

/* ---- Those that are not for everyone --------------------------------------------------------- */

/* m0, in need, goes on as one of many as long as no other thread is to be had; anyone goes on that
 * has taken its orders. */
static bool goes_on_locked(const struct m *mp)
{
        if (w_m_is_tainted(mp))
                return mp->next_g && !mp->next_p;
        return mp->spinning || (!mp->dedicated && w_sched.n_idle_m == 0);
}

/* What becomes of mp without a P; true: it waits in its list. */
static bool withdraw_locked(struct m *mp)
{
        if (mp->must_exit && !mp->is_main) {
                w_m_dedicate_locked(mp, false);
                w_sched.n_leaving++;
                mp->leaves = true;
                return false;
        }
        if (w_sched.ending || mp->next_p)
                return false;
        mp->timekeeper_at = W_FOREVER;
        w_thread_enlist_locked(mp);
        return true;
}

/* In its list before the P goes on: where no other thread is to be had, it is m0's again. */
bool w_m_release_dedicated(struct m *mp)
{
        w_lock(&w_sched.lock);
        if (goes_on_locked(mp)) {
                w_unlock(&w_sched.lock);
                return true;
        }
        struct p *pp = w_p_release(mp);
        bool      enlisted = withdraw_locked(mp);

        w_hand_off_unlock(pp);
        w_live_idle();
        if (enlisted)
                return w_thread_sleep_enlisted(mp);
        w_m_take_handoff(mp);
        return mp->p != NULL;
}

/* ---- WEFT_DEBUG=migrate=1 -------------------------------------------------------------------- */

/* In the list before the other one is woken: it will look for a thread there in its turn. */
bool w_thread_swap(struct m *mp)
{
        w_lock(&w_sched.lock);
        struct list_node *n = w_list_pop_front(&w_sched.idle_m);

        if (!n) {
                bool spare = w_threads_available_locked() > w_n_procs() ||
                             w_sched.n_m >= w_sched.max_threads;

                w_unlock(&w_sched.lock);
                if (!spare)
                        (void)w_thread_create(NULL, false);     /* failure: said */
                return true;
        }
        struct m *other = W_CONTAINER_OF(n, struct m, idle_link);

        w_sched.n_idle_m--;
        other->next_p = w_p_release(mp);
        other->next_spinning = false;
        mp->timekeeper_at = W_FOREVER;
        w_thread_enlist_locked(mp);
        w_unlock(&w_sched.lock);
        w_note_wake(&other->note);
        return w_thread_sleep_enlisted(mp);
}
