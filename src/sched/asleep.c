/* sched/asleep.c - step 9: an M without a P sleeps until it is given one, or ends.
 *
 * Called by   idle, stop and schedule (an M has no P), sysmon (a thread is owed).
 * Protocols   cites threads (sched/thread.c), keeper (sched/keeper.c), take (sched/take.c).
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/assert.h"
#include "sched/keeper.h"
#include "sched/sched.h"
#include "sched/take.h"

enum { RETRY_MIN_NS = 1000000, RETRY_MAX_NS = 1000000000 };

/* ---- Sleeping -------------------------------------------------------------------------------- */

/* True if mp was still unemployed and is now on its way out. */
static bool may_end(struct m *mp)
{
        w_lock(&w_sched.lock);
        bool unemployed = !w_list_empty(&mp->idle_link);
        bool ends = unemployed && !mp->is_main &&
                    w_threads_available_locked() > w_sched.n_procs + 1;

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

/* False: mp is to end. True: there are orders, or mp was the timekeeper and begins again. */
static bool sleep_until_orders(struct m *mp)
{
        int64_t patience = (int64_t)w_sched.config.idle_ms * 1000000;

        for (;;) {
                int64_t limit = w_os_now() + patience;
                bool    keeps = mp->keeps_until < limit;

                if (sleep_once(mp, keeps ? mp->keeps_until : limit))
                        return true;
                if (!keeps && may_end(mp))
                        return false;
                if (keeps && w_keeper_time_up(mp))
                        return true;
                if (keeps)
                        mp->keeps_until = W_FOREVER;
        }
}

bool w_thread_sleep(struct m *mp)
{
        w_lock(&w_sched.lock);
        return w_thread_sleep_unlock(mp);
}

void w_thread_enlist_locked(struct m *mp)
{
        w_list_push_front(&w_sched.idle_m, &mp->idle_link);
        w_sched.n_idle_m++;
}

/* For an M in the idle list or the timekeeper, or with orders on their way. False: it is to end. */
static bool await_orders(struct m *mp)
{
        if (!sleep_until_orders(mp) || mp->must_end)
                return false;
        w_thread_take_orders(mp);
        return true;
}

/* An idle P, if a thread could not be created for one that had work to do. */
static struct p *pop_owed_locked(void)
{
        if (!w_load_rlx(&w_sched.thread_owed) || w_load_rlx(&w_sched.stopping))   /* guarded */
                return NULL;
        w_store_rlx(&w_sched.thread_owed, 0);                     /* guarded by the lock */
        return w_idle_p_get_locked();
}

/* Work may wait only as long as every existing thread has some: whoever goes to sleep looks first.
 * With all of them blocked nobody does, so the monitor tries again, at growing intervals. */
uint32_t w_thread_retry_owed(int64_t now)
{
        if (W_LIKELY(!w_load_rlx(&w_sched.thread_owed))) {        /* hint: it comes again */
                w_sched.retry_pause = 0;
                return 0;
        }
        if (now < w_sched.retry_at)
                return 0;
        w_sched.retry_pause = w_sched.retry_pause ? 2 * w_sched.retry_pause : RETRY_MIN_NS;
        if (w_sched.retry_pause > RETRY_MAX_NS)
                w_sched.retry_pause = RETRY_MAX_NS;
        w_sched.retry_at = now + w_sched.retry_pause;
        w_lock(&w_sched.lock);
        struct p *pp = pop_owed_locked();

        if (pp)
                w_add_rlx(&w_sched.n_spinning, 1);                /* guarded by ID1 */
        w_unlock(&w_sched.lock);
        if (pp)
                w_thread_for(pp, true);
        return pp != NULL;
}

/* A thread could not be created for a P with work to do, and this one is about to sleep: it looks
 * for that work instead. Unlocks if so. */
static bool take_owed_locked(struct m *mp)
{
        struct p *pp = pop_owed_locked();

        if (!pp)
                return false;
        w_unlock(&w_sched.lock);
        w_p_acquire(mp, pp);
        w_spin_begin(mp);
        return true;
}

bool w_thread_sleep_unlock(struct m *mp)
{
        W_ASSERT(!mp->p && !mp->spinning && !mp->curg);
        w_lost_p_over_locked(mp);
        for (;;) {
                if (!w_sched.ending && take_owed_locked(mp))
                        return true;
                if (w_sched.ending || w_keeper_begin_locked(mp))
                        break;
                if (w_sched.keeper != mp)
                        w_thread_enlist_locked(mp);
                w_unlock(&w_sched.lock);
                if (!await_orders(mp))
                        return false;
                if (mp->p)
                        return true;
                w_lock(&w_sched.lock);
        }
        w_unlock(&w_sched.lock);
        return mp->p != NULL;
}

/* ---- WEFT_DEBUG=migrate=1 -------------------------------------------------------------------- */

/* In the list before the other one is woken: it will look for a thread there in its turn. */
bool w_thread_swap(struct m *mp)
{
        w_lock(&w_sched.lock);
        struct list_node *n = w_list_pop_front(&w_sched.idle_m);

        if (!n) {
                bool spare = w_sched.n_m > w_sched.n_procs;

                w_unlock(&w_sched.lock);
                if (!spare)
                        (void)w_thread_create(NULL, false);     /* failure: said */
                return true;
        }
        struct m *other = W_CONTAINER_OF(n, struct m, idle_link);

        w_sched.n_idle_m--;
        other->next_p = w_p_release(mp);
        other->next_spinning = false;
        mp->keeps_until = W_FOREVER;
        w_thread_enlist_locked(mp);
        w_unlock(&w_sched.lock);
        w_note_wake(&other->note);
        if (!await_orders(mp))
                return false;
        return mp->p || w_thread_sleep(mp);
}
