/* sched/thread/sleep.c - step 9: an M without a P sleeps until it is woken with one, or ends.
 *
 * See PROTOCOL threads (sched/thread/thread.c), PROTOCOL timekeeper (sched/timer/timekeeper.c),
 * PROTOCOL netpoll (sched/thread/netpoll.c), PROTOCOL take (sched/preempt/take.c), PROTOCOL
 * deadlock (sched/monitor/deadlock.c).
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/thread/sleep.h"

#include "base/assert.h"
#include "base/window.h"
#include "sched/idle.h"
#include "sched/preempt/take.h"
#include "sched/sched.h"
#include "sched/thread/netpoll.h"
#include "sched/thread/thread.h"
#include "sched/timer/timekeeper.h"

enum { RETRY_MIN_NS = 1000000, RETRY_MAX_NS = 1000000000 };

/* ---- Waking: the other side ------------------------------------------------------------------ */

void w_thread_wake(struct m *mp)
{
        if (mp->kicked)
                w_netpoll_wake();
        W_WINDOW("netpoll-woken");
        w_note_wake(&mp->note);
}

void w_thread_take_handoff(struct m *mp)
{
        struct p *pp = mp->next_p;

        mp->next_p = NULL;
        if (!pp)
                return;
        w_p_acquire(mp, pp);
        mp->spinning = mp->next_spinning;
}

/* ---- Sleeping -------------------------------------------------------------------------------- */

/* True: mp was still in the idle list, and there are more Ms than needed. mp is out of the list now
 * and must end. */
static bool may_end(struct m *mp)
{
        w_lock(&w_sched.lock);
        bool in_list = !w_list_empty(&mp->idle_link);
        bool ends = in_list && !mp->dedicated && w_threads_available_locked() > w_n_procs();

        if (ends) {
                w_list_unlink(&mp->idle_link);
                w_sched.n_idle_m--;
                w_sched.n_leaving++;
                mp->leaves = true;
        }
        w_unlock(&w_sched.lock);
        return ends;
}

/* False: mp must end. True: mp has a handoff, or holds a P already, or was an event waiter and must
 * begin again as a sleeper. */
static bool sleep_until_handoff(struct m *mp)
{
        int64_t idle_ns = (int64_t)w_sched.config.idle_ms * 1000000;

        if (mp->polls) {
                w_netpoll_sleep(mp);
                return true;
        }
        for (;;) {
                bool    stays = mp->is_main || mp->locked_g;
                int64_t limit = stays ? W_FOREVER : w_os_now() + idle_ns;
                bool    keeps_time = mp->timekeeper_at < limit;

                if (w_note_sleep_until(&mp->note, keeps_time ? mp->timekeeper_at : limit)) {
                        w_note_clear(&mp->note);
                        return true;
                }
                if (!keeps_time && may_end(mp))
                        return false;
                if (keeps_time && w_timekeeper_time_up(mp))
                        return true;
                if (keeps_time)
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

/* Context: an M in a list, an event waiter, or an M with a handoff on its way. False: mp must
 * end. */
static bool await_handoff(struct m *mp)
{
        if (!sleep_until_handoff(mp) || mp->must_end)
                return false;
        w_thread_take_handoff(mp);
        return true;
}

/* Takes an idle P if the creation of a thread for a P is pending; or NULL. */
static struct p *pop_pending_locked(void)
{
        if (!w_load_rlx(&w_sched.threads.pending) ||              /* guarded by the lock */
            w_load_rlx(&w_sched.world.stopping))                  /* guarded by the lock */
                return NULL;
        w_store_rlx(&w_sched.threads.pending, 0);                     /* guarded by the lock */
        return w_idle_p_get_locked();
}

/* A P with a pending thread may wait only while every existing M has work: an M reads `pending`
 * before it sleeps. If all Ms are blocked, no M reads it. So the monitor tries again, at growing
 * intervals. */
uint32_t w_thread_retry_pending(int64_t now)
{
        if (W_LIKELY(!w_load_rlx(&w_sched.threads.pending))) {        /* hint: next round */
                w_sched.sysmon.retry_pause = 0;
                return 0;
        }
        bool asked = w_load_rlx(&w_sched.threads.pending) == W_PENDING_ASKED;            /* hint */

        if (!asked && now < w_sched.sysmon.retry_at)
                return 0;
        int64_t pause = w_sched.sysmon.retry_pause ? 2 * w_sched.sysmon.retry_pause : RETRY_MIN_NS;

        w_sched.sysmon.retry_pause = pause < RETRY_MAX_NS ? pause : RETRY_MAX_NS;
        w_sched.sysmon.retry_at = now + w_sched.sysmon.retry_pause;
        w_lock(&w_sched.lock);
        struct p *pp = pop_pending_locked();

        if (pp)
                w_add_rlx(&w_sched.n_spinning, 1);                /* guarded by ID1 */
        w_unlock(&w_sched.lock);
        if (pp)
                w_thread_for(pp, true);
        return pp != NULL;
}

/* A tainted M does not search for work. m0 does, but only if no other thread is available. */
static bool may_help_locked(const struct m *mp)
{
        return !w_m_is_tainted(mp) &&
               !(mp->is_main &&
                 w_load_rlx(&w_sched.threads.pending) == W_PENDING_ASKED);      /* guarded */
}

/* If the creation of a thread for a P is pending, mp, which is about to sleep, takes a P and
 * searches for work instead. True: it did, and sched.lock is released. */
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
                if (mp->next_p)         /* its locked goroutine is runnable again already */
                        break;
                if (!w_sched.world.ending && take_pending_locked(mp))
                        return true;
                if (w_sched.world.ending || (!mp->dedicated && w_timekeeper_begin_locked(mp)))
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
        w_thread_take_handoff(mp);
        return mp->p != NULL;
}

bool w_thread_sleep_enlisted(struct m *mp)
{
        return await_handoff(mp) && (mp->p || w_thread_sleep(mp));
}

/* ---- Dedicated Ms ---------------------------------------------------------------------------- */

/* True: mp keeps its P. A tainted M keeps its P if it has taken its handoff. m0 keeps its P if it
 * spins, or if it serves all goroutines and no other M is idle. */
static bool keeps_p_locked(const struct m *mp)
{
        if (w_m_is_tainted(mp))
                return mp->next_g && !mp->next_p;
        return mp->spinning || (!mp->dedicated && w_sched.n_idle_m == 0);
}

/* mp has no P any more: it ends, or takes its handoff, or sleeps. True: mp is in its list and must
 * sleep. */
static bool withdraw_locked(struct m *mp)
{
        if (mp->must_exit && !mp->is_main) {
                w_m_dedicate_locked(mp, false);
                w_sched.n_leaving++;
                mp->leaves = true;
                return false;
        }
        if (w_sched.world.ending || mp->next_p)
                return false;
        mp->timekeeper_at = W_FOREVER;
        w_thread_enlist_locked(mp);
        return true;
}

/* mp is in its list before its P is handed off: if no other thread is available, m0 gets the P
 * again. */
bool w_thread_release_dedicated(struct m *mp)
{
        w_lock(&w_sched.lock);
        if (keeps_p_locked(mp)) {
                w_unlock(&w_sched.lock);
                return true;
        }
        struct p *pp = w_p_release(mp);
        bool      enlisted = withdraw_locked(mp);

        w_hand_off_unlock(pp);
        w_g_check_last();
        if (enlisted)
                return w_thread_sleep_enlisted(mp);
        w_thread_take_handoff(mp);
        return mp->p != NULL;
}

/* ---- WEFT_DEBUG=migrate=1 -------------------------------------------------------------------- */

/* mp is in the list before the other M is woken: that M will need an idle M there at its next
 * swap. */
bool w_thread_swap(struct m *mp)
{
        w_lock(&w_sched.lock);
        struct list_node *n = w_list_pop_front(&w_sched.idle_m);

        if (!n) {
                bool spare = w_threads_available_locked() > w_n_procs() ||
                             w_sched.n_m >= w_sched.threads.max;

                w_unlock(&w_sched.lock);
                if (!spare)
                        (void)w_thread_create(NULL, false);     /* failure is reported */
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
