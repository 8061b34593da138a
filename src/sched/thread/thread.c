/* sched/thread/thread.c - Ms: started for a P, sleeping when there is none, ended when long unused.
 *
 * Called by   idle (sleep, wake), run (the first one, and the end of all).
 *
 * PROTOCOL threads
 *
 * Goal      a P in transit always gets a thread, or goes back to the idle list; every thread that
 *           was counted exists or was uncounted; nobody is woken twice; weft_run returns whatever
 *           the other goroutines do.
 * Parties   starter (has a P in its hands), sleeper (an M without a P), ender (sleeper whose
 *           patience is over, or the end of the run), m0 (the thread that called weft_run).
 * Words     idle_m, dedicated_m, n_m, n_idle_m, n_dedicated under sched.lock; m.next_p,
 *           m.next_spinning, m.must_end handed over by m.note; m.kept: not for everyone, and
 *           W_ATTENTION_DEDICATED on the P that such an M holds.
 * Starter   1 lock; take the newest idle M, in need the timekeeper, or count a new one   2 unlock
 *           3 write next_p, wake; or create the thread: it takes next_p when it starts   4 creation
 *           failed: uncount, P back to the idle list; the timekeeper, if any, is woken to take it
 * Sleeper   1 lock; into the idle list; unlock   2 sleep on the note   3 time is up: lock; still in
 *           the list: out of it, and end; not in it: a wake is on its way, sleep on
 * m0        is kept for goroutine 1, and only until that leaves it: W_ATTENTION_DEDICATED sends
 * every
 *           switch through g0, where m0 1 goes into dedicated_m, which no starter takes from   2
 *           hands its P on as one who has lost it, PROTOCOL take   3 sleeps until the run ends. A
 *           child that is to run first goes by way of g0 too. If goroutine 1 has lost its P outside
 *           and finds an idle one it stays; else it queues, and m0 sleeps.
 *           In need m0 runs whatever there is: the limit of threads is reached, or none could be
 *           created. The starter takes it out of dedicated_m; it is for everyone until some thread
 *           is idle, and may keep the time, until another can.
 * Why weft_run returns   who blocks for ever does so on another thread than m0, but in need.
 * Why nobody is woken twice   only who took an M out of its list, under the lock, wakes it.
 * Thread limit   more than max_threads is fatal: the count is taken before the thread exists.
 * One M beyond those that run is created with the run, so that a machine without threads to spare
 *           still has one to hand a P to. It stands in the idle list before its thread begins, and
 *           finds its orders on its note; if it cannot begin they are returned.
 * Rejected  m0 as one of many (what blocks there for ever holds up weft_run); a thread of its own
 *           for goroutine 1 (it starts on the caller's, as users of GUI libraries need).
 * Tests     flow/sched/thread/test_main_thread.c, flow/sched/run/test_run_faults.c, sim scenarios
 *           sched_threads, sched_scarce, sched_need; all watch that m0 runs goroutine 1 only;
 *           mutants main-*.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/assert.h"
#include "base/records.h"
#include "sched/run/fork.h"
#include "sched/timer/timekeeper.h"
#include "sched/preempt/preempt.h"
#include "sched/thread/netpoll.h"
#include "sched/preempt/take.h"
#include "sched/monitor/activity.h"

#include <errno.h>      /* ENOMEM */
#include <string.h>

/* ---- Records --------------------------------------------------------------------------------- */

static struct m *m_new_locked(void)
{
        struct m *mp = w_records_get(&w_sched.m_records);

        if (!mp)
                return NULL;
        memset(&mp->thread, 0, sizeof(mp->thread));
        memset(&mp->curg, 0, sizeof(*mp) - offsetof(struct m, curg));
        /* Inside from the start: a thread that has not begun yet is not away. Numbers go on, this
         * one and nopreempt_no: the monitor may still know who had the record before. */
        uint32_t no = w_load_rlx(&mp->where) & ~(uint32_t)(W_WHERE_EPOCH - 1);     /* guarded */

        w_store_rlx(&mp->where, no | W_IN_RUNTIME);               /* guarded by the lock */
        w_store_rlx(&mp->retake, w_sched.retake_base);                /* guarded by the lock */
        w_store_rlx(&mp->tid, 0);                                 /* guarded by the lock */
        w_store_rlx(&mp->usage_fd, 0);                              /* guarded by the lock */
        w_store_rlx(&mp->nopreempt_id, 0);                        /* guarded by the lock */
        w_store_rlx(&mp->grant, W_GRANT_NONE);                    /* guarded by the lock */
        w_store_rlx(&mp->preempt_wanted, 0);                         /* guarded by the lock */
        mp->thread.id = w_sched.next_m_id++;
        w_list_init(&mp->idle_link);
        w_list_init(&mp->all_link);
        w_list_init(&mp->preempt_link);
        w_list_push_back(&w_sched.all_m, &mp->all_link);
        return mp;
}

/* An M that stands for the calling thread. */
struct m *w_m_adopt(void)
{
        w_lock(&w_sched.lock);
        struct m *mp = m_new_locked();

        if (mp)
                w_sched.n_m++;
        w_unlock(&w_sched.lock);
        return mp;
}

void w_m_dedicate_locked(struct m *mp, bool dedicated)
{
        W_ASSERT(w_lock_held(W_LOCK_sched));
        if (!mp->lost_p)
                w_sched.n_dedicated += (uint32_t)dedicated - mp->dedicated;
        mp->dedicated = dedicated;
}

/* ---- Life of a thread ------------------------------------------------------------------------ */

/* Identity first, then a stack for signals, then the signals themselves. */
int w_m_begin(struct m *mp)
{
        w_self_set(&mp->thread);
        mp->errno_at = w_os_errno();
        w_store_rlx(&mp->tid, (uint32_t)w_os_tid());              /* own word */
        w_fiber_adopt(&mp->g0);
        int rc = w_os_altstack_install(&mp->altstack);

        if (rc < 0)
                w_self_set(NULL);
        else
                w_thread_end_watch(mp);
        return rc;
}

void w_m_end(struct m *mp)
{
        W_ASSERT(!mp->p && !mp->curg && !mp->spinning);
        w_activity_end(mp);
        w_os_cpu_timer_delete(&mp->timer);
        w_thread_end_unwatch();
        w_os_altstack_remove(&mp->altstack);
        w_self_set(NULL);
}

/* Takes what the waker left in the record. */
void w_m_take_handoff(struct m *mp)
{
        struct p *pp = mp->next_p;

        mp->next_p = NULL;
        if (!pp)
                return;
        w_p_acquire(mp, pp);
        mp->spinning = mp->next_spinning;
}

/* The thread exists no more as far as anyone else is concerned; its creator's share remains. */
static void retire_locked(struct m *mp)
{
        w_preempt_forget_locked(mp);
        w_list_unlink(&mp->all_link);
        w_list_push_back(&w_sched.ended_m, &mp->all_link);
        w_sched.n_m--;
        w_sched.n_leaving -= mp->leaves;
        w_sched.n_ended++;
        w_deadlock_asleep_locked();
        if (w_sched.end_sleeps && w_sched.n_ended == w_sched.n_started) {
                w_sched.end_sleeps = false;
                w_note_wake(&w_sched.all_ended);
        }
}

/* The newest of those that sleep in the list, out of it; NULL: none. */
static struct m *take_idle_m_locked(void)
{
        struct list_node *n = w_list_pop_front(&w_sched.idle_m);

        if (!n)
                return NULL;
        w_sched.n_idle_m--;
        return W_CONTAINER_OF(n, struct m, idle_link);
}

/* m0, if it sleeps: from here on it runs whatever there is. */
static struct m *take_m0_locked(void)
{
        struct m *mp = w_sched.m0;

        if (!mp || w_list_empty(&mp->idle_link) || w_m_is_tainted(mp))
                return NULL;
        w_list_unlink(&mp->idle_link);
        w_sched.n_dedicated_asleep--;
        w_m_dedicate_locked(mp, false);
        return mp;
}

/* The P that a thread was started for goes back; who has work will try again. After a stop the P
 * may have work itself: everyone who runs will find it in the global queue. */
void w_thread_defer_locked(struct p *pp, bool spinning, enum thread_pending why)
{
        if (spinning)
                w_sub_rlx(&w_sched.n_spinning, 1);                /* guarded by the lock */
        if (!pp)
                return;
        for (struct g *gp; (gp = w_queue_take(pp));)
                w_globq_put_locked(gp);
        w_p_give_up_locked(pp);
        w_store_rlx(&w_sched.thread_pending, (uint32_t)why);         /* guarded by the lock */
        /* Who went to sleep while the thread was being created has not seen what is owed. Woken
         * without orders, it is about to sleep again and looks. */
        struct m *asleep = take_idle_m_locked();

        if (!asleep && why == W_PENDING_FAILED)
                asleep = w_timekeeper_take_locked();
        if (!asleep && why == W_PENDING_FAILED)
                asleep = w_netpoll_take_locked();
        if (!asleep && why == W_PENDING_FAILED)
                asleep = take_m0_locked();
        if (asleep)
                w_m_wake(asleep);
}

static void return_p_locked(struct p *pp, bool spinning)
{
        w_thread_defer_locked(pp, spinning, W_PENDING_FAILED);
}

/* mp, which was in the idle list before it had a thread, does not get one. Somebody may have given
 * it orders already. */
static void return_handoff_locked(struct m *mp)
{
        if (!mp->born_idle) {
                return_p_locked(mp->next_p, mp->next_spinning);
                return;
        }
        if (!w_list_empty(&mp->idle_link)) {
                w_list_unlink(&mp->idle_link);
                w_sched.n_idle_m--;
                return;
        }
        w_unlock(&w_sched.lock);
        w_note_sleep(&mp->note);
        w_lock(&w_sched.lock);
        return_p_locked(mp->next_p, mp->next_p && mp->next_spinning);
}

/* As w_thread_sleep. */
static bool begin_work(struct m *mp)
{
        if (mp->born_idle)
                return w_thread_sleep_enlisted(mp);
        w_m_take_handoff(mp);
        return mp->p || w_thread_sleep(mp);
}

static void thread_main(void *arg)
{
        struct m *mp = arg;
        int       rc = w_m_begin(mp);

        if (rc == 0) {
                w_os_signals_restore(&w_sched.sigmask);
                if (begin_work(mp))
                        w_schedule(mp);
                w_m_end(mp);
        }
        w_lock(&w_sched.lock);
        if (rc < 0)
                return_handoff_locked(mp);
        retire_locked(mp);
        w_unlock(&w_sched.lock);
}

/* One that has ended, out of the list. A thread may end before the one who creates it knows its
 * handle: it is left for later. */
static struct m *take_ended_locked(void)
{
        W_LIST_EACH(n, &w_sched.ended_m) {
                struct m *mp = W_CONTAINER_OF(n, struct m, all_link);

                if (!mp->joinable)
                        continue;
                w_list_unlink(n);
                return mp;
        }
        return NULL;
}

/* Frees what is left of those that have ended, as far as that needs no waiting: what the user keeps
 * in thread-local variables may take its time to be destroyed. */
static void reap(void)
{
        w_lock(&w_sched.lock);
        struct m *mp = take_ended_locked();

        while (mp) {
                w_unlock(&w_sched.lock);
                bool gone = w_os_thread_try_join(&mp->os_thread);

                w_lock(&w_sched.lock);
                if (!gone) {
                        w_list_push_back(&w_sched.ended_m, &mp->all_link);
                        break;
                }
                w_records_put(&w_sched.m_records, mp);
                mp = take_ended_locked();
        }
        w_unlock(&w_sched.lock);
}

/* At the end of the run. */
void w_threads_join_ended(void)
{
        for (;;) {
                w_lock(&w_sched.lock);
                struct m *mp = take_ended_locked();

                w_unlock(&w_sched.lock);
                if (!mp)
                        return;
                w_os_thread_join(&mp->os_thread);
                w_lock(&w_sched.lock);
                w_records_put(&w_sched.m_records, mp);
                w_unlock(&w_sched.lock);
        }
}

/* ---- Starting -------------------------------------------------------------------------------- */

/* One line, not one per attempt. */
static void complain_once(int rc)
{
        w_lock(&w_sched.lock);
        bool first = !w_sched.complained;

        w_sched.complained = true;
        w_unlock(&w_sched.lock);
        if (first)
                w_say("cannot create a thread (error %d), going on with those there are", -rc);
}

/* Counts first: the limit holds and the end of the run waits for it, whatever happens next. One
 * without a P is in the idle list from here on. */
static struct m *count_new_locked(struct p *pp, bool spinning)
{
        W_CHECK(w_sched.n_m < w_sched.max_threads, "program exceeds %u-thread limit",
                w_sched.max_threads);
        struct m *mp = m_new_locked();

        if (!mp)
                return NULL;
        w_sched.n_m++;
        w_sched.n_started++;
        mp->next_p = pp;
        mp->next_spinning = spinning;
        mp->timekeeper_at = W_FOREVER;
        mp->born_idle = !pp && !w_sched.ending;
        if (mp->born_idle)
                w_thread_enlist_locked(mp);
        return mp;
}

static void uncount(struct m *mp, struct p *pp, bool spinning)
{
        w_lock(&w_sched.lock);
        if (!mp) {
                return_p_locked(pp, spinning);
        } else {
                return_handoff_locked(mp);
                w_list_unlink(&mp->all_link);
                w_records_put(&w_sched.m_records, mp);
                w_sched.n_m--;
                w_sched.n_started--;
        }
        w_unlock(&w_sched.lock);
}

/* No more threads may be made, but as many as there are Ps exist. With one P in the caller's hands
 * one of them has none: it sleeps as an officer, or is on its way to sleep, and takes over. */
static bool is_spare_locked(void)
{
        return w_sched.n_m >= w_sched.max_threads && w_threads_available_locked() >= w_n_procs();
}

int w_thread_create(struct p *pp, bool spinning)
{
        char name[16];

        W_ASSERT(!pp || !w_m_is_tainted(w_m()));        /* the first is made by whoever starts */
        reap();
        w_lock(&w_sched.lock);
        bool      spare = pp && is_spare_locked();
        struct m *mp = spare ? NULL : count_new_locked(pp, spinning);

        if (spare)
                return_p_locked(pp, spinning);
        w_unlock(&w_sched.lock);
        if (spare)
                return 0;
        int rc = -ENOMEM;

        if (mp) {
                w_format(name, sizeof(name), "weft-M%u", mp->thread.id);
                rc = w_os_thread_start(&mp->os_thread, name, W_THREAD_STACK, thread_main, mp);
        }
        if (rc < 0) {
                uncount(mp, pp, spinning);
                complain_once(rc);
                return rc;
        }
        w_lock(&w_sched.lock);
        mp->joinable = true;    /* not before: it may have ended and be joined from here on */
        w_unlock(&w_sched.lock);
        return 0;
}

/* On g0. Failure: said, and the P is back. */
static void create_or_ask(struct p *pp, bool spinning)
{
        if (W_UNLIKELY(w_m_is_tainted(w_m())))
                w_thread_request(pp, spinning);
        else
                (void)w_thread_create(pp, spinning);
}

static void pay(void *arg)
{
        struct m *mp = arg;

        for (struct p *pp; (pp = mp->deferred_p);) {
                mp->deferred_p = pp->idle_next;
                pp->idle_next = NULL;
                create_or_ask(pp, pp->deferred_spinning);
        }
}

void w_thread_create_deferred(struct m *mp)
{
        w_on_g0(pay, mp);
}

/* What libc does to create a thread needs more stack than a goroutine may have left, and much more
 * than a commit may use: it is done on g0, in a commit as soon as that is over. */
static void create_on_g0(struct p *pp, bool spinning)
{
        struct m *mp = w_m();

        if (!mp || mp->on_g0 || (!mp->curg && !mp->in_commit)) {
                create_or_ask(pp, spinning);
                return;
        }
        pp->idle_next = mp->deferred_p;
        pp->deferred_spinning = spinning;
        mp->deferred_p = pp;
        if (!mp->in_commit)
                w_thread_create_deferred(mp);
}

/* Where timers and descriptors have a thread each, that for descriptors: for these the others look
 * too. */
static struct m *take_event_waiter_locked(void)
{
        return w_n_event_waiters_locked() == 2 || !w_sched.timekeeper ? w_netpoll_take_locked()
                                                             : w_timekeeper_take_locked();
}

/* A thread that sleeps, or NULL: one is to be created. Officers are taken only in need: with as
 * many other threads as other Ps, one P being in the caller's hands, either every P has a thread
 * then, and needs no officer, or another thread is on its way to sleep and takes over. */
static struct m *take_idle_locked(void)
{
        struct m *mp = take_idle_m_locked();
        uint32_t  n_event_waiters = w_n_event_waiters_locked();

        if (mp)
                return mp;
        if (n_event_waiters && w_threads_available_locked() >= w_n_procs() + n_event_waiters - 1)
                return take_event_waiter_locked();
        if (w_sched.n_m < w_sched.max_threads)
                return NULL;
        if (w_sched.poller && w_sched.poller != w_sched.timekeeper)
                return w_netpoll_take_locked();
        return take_m0_locked();
}

void w_thread_for(struct p *pp, bool spinning)
{
        W_ASSERT(pp);
        w_lock(&w_sched.lock);
        struct m *mp = take_idle_locked();

        w_unlock(&w_sched.lock);
        if (!mp) {
                create_on_g0(pp, spinning);
                return;
        }
        mp->next_p = pp;
        mp->next_spinning = spinning;
        w_m_wake(mp);
}

void w_threads_for(struct p *list)
{
        while (list) {
                struct p *pp = list;

                list = pp->idle_next;
                pp->idle_next = NULL;
                w_thread_for(pp, false);
        }
}
