/* sched/thread/thread.c - Ms: started for a P, sleeping without a P, ended when long unused.
 *
 * PROTOCOL threads
 *
 * Goal      A P in transit always gets a thread, or goes back to the idle list. Every counted
 *           thread exists, or was uncounted. No M is woken twice. weft_run returns whatever the
 *           other goroutines do.
 * Parties   starter (owns a P in transit), sleeper (an M without a P), ender (a sleeper that was
 *           unused for too long, or the end of the run), m0 (the thread that called weft_run).
 * Words     idle_m, dedicated_m, n_m, n_idle_m, n_dedicated   under sched.lock
 *           m.next_p, m.next_spinning, m.must_end   handed over by m.note
 *           m.dedicated   serves one goroutine only; the P that such an M holds has
 *                         W_ATTENTION_DEDICATED
 * Starter   1. Lock. Take the newest idle M. If there is none and it must, take an event waiter or
 *              m0. Otherwise count a new M. Unlock.
 *           2. An M was taken: write next_p, wake it.
 *              A new M: create its thread, which takes next_p when it starts.
 *           3. Creation failed: uncount the M, put the P back into the idle list, and wake an idle
 *              M, else the timekeeper, else the poller, else m0, to take the P.
 * Sleeper   1. Lock; go into the idle list; unlock.
 *           2. Sleep on the note.
 *           3. The time is up: lock. Still in the list: leave it and end. Not in the list: a wake
 *              is on its way; sleep again.
 * m0        is dedicated to goroutine 1, until goroutine 1 leaves it. W_ATTENTION_DEDICATED sends
 *           every switch through g0. There m0
 *           1. goes into dedicated_m, from which no starter takes.
 *           2. hands its P off, as an M that has lost it: PROTOCOL take (sched/preempt/take.c).
 *           3. sleeps until the run ends.
 *           A child that must run first goes through g0 too. If goroutine 1 has lost its P in user
 *           code and finds an idle P, it stays on m0. Otherwise it queues, and m0 sleeps.
 *           If the limit of threads is reached, or no thread could be created, m0 runs every
 *           goroutine. The starter takes it out of dedicated_m. It serves all goroutines until
 *           another M is idle, and may be the timekeeper until another M can be.
 * Why weft_run returns   A goroutine that blocks for ever blocks another thread than m0, unless no
 *           other thread was available.
 * Why no M is woken twice   Only the thread that took an M out of its list, under the lock, wakes
 *           it.
 * Limit     More threads than max_threads are fatal: the M is counted before its thread exists.
 * Spare M   One M more than those that run is created with the run. A machine that has no threads
 *           to spare later still has an M that can take a P. It is in the idle list before its
 *           thread begins, and finds its handoff on its note. If it cannot begin, the P goes back.
 * Rejected  m0 as any other M (a goroutine that blocks there for ever delays weft_run). A separate
 *           thread for goroutine 1 (it starts on the thread of the caller, as users of GUI
 *           libraries need).
 * Tests     flow/sched/thread/test_main_thread.c, flow/sched/run/test_run_faults.c, sim scenarios
 *           sched_threads, sched_scarce, sched_need; every sim scenario of the scheduler
 *           checks that m0 runs goroutine 1 only; mutants main-*.
 *
 * PROTOCOL thread-request
 *
 * Goal      Every thread of weft begins with what the caller of weft_run had. A thread inherits
 *           affinity, priority, namespaces and more from its creator. These may have been changed
 *           on a foreign thread, or on a thread to which a goroutine is locked.
 * Parties   caller (a tainted thread that owns a P in transit), monitor, sleeper (any M on its way
 *           to sleep).
 * Words     threads.pending, the idle Ps: under sched.lock. The monitor's note.
 * Caller, under sched.lock
 *           1. The goroutines queued on the P go to the global queue, the P to the idle list.
 *           2. pending := ASKED.
 *           3. Wake an M that has gone to sleep meanwhile, if there is one; and the monitor always.
 * Monitor   At its next round, without a pause: take an idle P and create a thread for it, which
 *           searches for work. No thread can be created: as everywhere, PROTOCOL threads.
 * Sleeper   Take the P itself, as if a thread could not have been created.
 * Why the request is not missed   It stands until a thread has taken a P under the lock. The
 *           monitor is awake, or its note is set. With no idle P left the request is dropped, and
 *           the next M that releases a P scans the queues: PROTOCOL idle (sched/idle.c).
 * Why the monitor   It exists from the start, was created by the caller of weft_run, runs no user
 *           code and blocks every signal. A thread for this alone would sleep all the time.
 * Tests     flow/sched/thread/test_thread_request.c, sim scenarios thread_request_*,
 *           sched_foreign, mutants thread-request-*.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/thread/thread.h"

#include "base/assert.h"
#include "base/records.h"
#include "sched/monitor/activity.h"
#include "sched/monitor/sysmon.h"
#include "sched/preempt/preempt.h"
#include "sched/preempt/take.h"
#include "sched/queue/globq.h"
#include "sched/queue/queue.h"
#include "sched/run/fork.h"
#include "sched/sched.h"
#include "sched/schedule.h"
#include "sched/switch.h"
#include "sched/thread/netpoll.h"
#include "sched/thread/sleep.h"
#include "sched/timer/timekeeper.h"

#include <errno.h>      /* ENOMEM */

/* ---- Life of a thread ------------------------------------------------------------------------ */

/* From here on mp is no M for other threads. Its creator still has to join the thread. */
static void retire_locked(struct m *mp)
{
        w_preempt_forget_locked(mp);
        w_list_unlink(&mp->all_link);
        w_list_push_back(&w_sched.threads.ended, &mp->all_link);
        w_sched.n_m--;
        w_sched.n_leaving -= mp->leaves;
        w_sched.threads.n_ended++;
        w_deadlock_asleep_locked();
        if (w_sched.threads.end_sleeps && w_sched.threads.n_ended == w_sched.threads.n_started) {
                w_sched.threads.end_sleeps = false;
                w_note_wake(&w_sched.threads.all_ended);
        }
}

/* Takes the newest M out of the list of idle Ms; NULL: none. */
static struct m *take_idle_m_locked(void)
{
        struct list_node *n = w_list_pop_front(&w_sched.idle_m);

        if (!n)
                return NULL;
        w_sched.n_idle_m--;
        return W_CONTAINER_OF(n, struct m, idle_link);
}

/* Takes m0, if it sleeps and is not tainted. From here on it may run every goroutine. */
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

/* Puts the P back for which a thread was started; a thread that has work for a P will try again.
 * After a stop the P may have goroutines in its queue: the Ms that run will find them in the global
 * queue. */
void w_thread_defer_locked(struct p *pp, bool spinning, enum thread_pending why)
{
        if (spinning)
                w_sub_rlx(&w_sched.n_spinning, 1);                /* guarded by the lock */
        if (!pp)
                return;
        for (struct g *gp; (gp = w_queue_take(pp));)
                w_globq_put_locked(gp);
        w_p_give_up_locked(pp);
        w_store_rlx(&w_sched.threads.pending, (uint32_t)why);         /* guarded by the lock */
        /* An M that went to sleep while the thread was being created has not seen `pending`. Woken
         * without a handoff, it is about to sleep again and reads it. */
        struct m *asleep = take_idle_m_locked();

        if (!asleep && why == W_PENDING_FAILED)
                asleep = w_timekeeper_take_locked();
        if (!asleep && why == W_PENDING_FAILED)
                asleep = w_netpoll_take_locked();
        if (!asleep && why == W_PENDING_FAILED)
                asleep = take_m0_locked();
        if (asleep)
                w_thread_wake(asleep);
}

static void return_p_locked(struct p *pp, bool spinning)
{
        w_thread_defer_locked(pp, spinning, W_PENDING_FAILED);
}

/* mp has no thread, or its thread cannot begin: returns the P of its handoff. If mp was in the idle
 * list from the start, a starter may have taken it; then the handoff comes with its note. */
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

/* Returns as w_thread_sleep. */
static bool begin_work(struct m *mp)
{
        if (mp->born_idle)
                return w_thread_sleep_enlisted(mp);
        w_thread_take_handoff(mp);
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

/* Takes an M that has ended out of the list. A thread may end before its creator knows its handle:
 * such an M stays in the list for later. */
static struct m *take_ended_locked(void)
{
        W_LIST_EACH(n, &w_sched.threads.ended) {
                struct m *mp = W_CONTAINER_OF(n, struct m, all_link);

                if (!mp->joinable)
                        continue;
                w_list_unlink(n);
                return mp;
        }
        return NULL;
}

/* Joins the threads that have ended and frees their Ms, as far as that needs no waiting. The
 * destructors of thread-local variables of the user may take long. */
static void reap(void)
{
        w_lock(&w_sched.lock);
        struct m *mp = take_ended_locked();

        while (mp) {
                w_unlock(&w_sched.lock);
                bool gone = w_os_thread_try_join(&mp->os_thread);

                w_lock(&w_sched.lock);
                if (!gone) {
                        w_list_push_back(&w_sched.threads.ended, &mp->all_link);
                        break;
                }
                w_records_put(&w_sched.threads.records, mp);
                mp = take_ended_locked();
        }
        w_unlock(&w_sched.lock);
}

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
                w_records_put(&w_sched.threads.records, mp);
                w_unlock(&w_sched.lock);
        }
}

/* ---- Starting -------------------------------------------------------------------------------- */

/* Writes one line for the run, not one per attempt. */
static void complain_once(int rc)
{
        w_lock(&w_sched.lock);
        bool first = !w_sched.threads.complained;

        w_sched.threads.complained = true;
        w_unlock(&w_sched.lock);
        if (first)
                w_say("cannot create a thread: %s; the program goes on with the threads it has",
                      w_error_name(rc));
}

/* Counts the M before its thread exists: the limit holds, and the end of the run waits for the M,
 * whatever happens next. An M without a P is in the idle list from here on. */
static struct m *count_new_locked(struct p *pp, bool spinning)
{
        W_CHECK(w_sched.n_m < w_sched.threads.max, "program exceeds %u-thread limit",
                w_sched.threads.max);
        struct m *mp = w_m_new_locked();

        if (!mp)
                return NULL;
        w_sched.n_m++;
        w_sched.threads.n_started++;
        mp->next_p = pp;
        mp->next_spinning = spinning;
        mp->timekeeper_at = W_FOREVER;
        mp->born_idle = !pp && !w_sched.world.ending;
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
                w_records_put(&w_sched.threads.records, mp);
                w_sched.n_m--;
                w_sched.threads.n_started--;
        }
        w_unlock(&w_sched.lock);
}

/* True: the limit is reached, but there are as many threads as Ps. The caller owns a P, so one of
 * these threads has none: it sleeps as an event waiter, or is on its way to sleep, and takes the
 * P. */
static bool spare_at_limit_locked(void)
{
        return w_sched.n_m >= w_sched.threads.max && w_threads_available_locked() >= w_n_procs();
}

int w_thread_create(struct p *pp, bool spinning)
{
        char name[16];

        W_ASSERT(!pp || !w_m_is_tainted(w_m()));        /* without a P: the start of the run */
        reap();
        w_lock(&w_sched.lock);
        bool      spare = pp && spare_at_limit_locked();
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
        mp->joinable = true;    /* only now: from here on another thread may join it */
        w_unlock(&w_sched.lock);
        return 0;
}

void w_thread_request(struct p *pp, bool spinning)
{
        w_lock(&w_sched.lock);
        w_thread_defer_locked(pp, spinning, W_PENDING_ASKED);
        w_sysmon_hurry_locked();
        w_unlock(&w_sched.lock);
}

/* Context: g0. Failure is reported, and the P is back in the idle list. */
static void create_or_request(struct p *pp, bool spinning)
{
        if (W_UNLIKELY(w_m_is_tainted(w_m())))
                w_thread_request(pp, spinning);
        else
                (void)w_thread_create(pp, spinning);
}

static void create_deferred(void *arg)
{
        struct m *mp = arg;

        for (struct p *pp; (pp = mp->deferred_p);) {
                mp->deferred_p = pp->idle_next;
                pp->idle_next = NULL;
                create_or_request(pp, pp->deferred_spinning);
        }
}

void w_thread_create_deferred(struct m *mp)
{
        w_on_g0(create_deferred, mp);
}

/* The creation of a thread in libc needs more stack than a goroutine may have left, and much more
 * than a commit may use. So it is done on g0; for a commit, as soon as the commit is over. */
static void create_on_g0(struct p *pp, bool spinning)
{
        struct m *mp = w_m();

        if (!mp || mp->on_g0 || (!mp->curg && !mp->in_commit)) {
                create_or_request(pp, spinning);
                return;
        }
        pp->idle_next = mp->deferred_p;
        pp->deferred_spinning = spinning;
        mp->deferred_p = pp;
        if (!mp->in_commit)
                w_thread_create_deferred(mp);
}

/* If timekeeper and poller are two Ms, takes the poller: Ms that hold a P poll too. */
static struct m *take_event_waiter_locked(void)
{
        return w_n_event_waiters_locked() == 2 || !w_sched.timekeeper.m ? w_netpoll_take_locked()
                                                             : w_timekeeper_take_locked();
}

/* Takes an M that sleeps. NULL: the caller must create one. An event waiter is taken only if there
 * are as many other threads as other Ps; the caller owns one P. Then either every P has a thread
 * and no event waiter is needed, or another M is on its way to sleep and becomes the event waiter.
 * At the limit the poller is taken, if it is not the timekeeper, or m0. */
static struct m *take_sleeping_m_locked(void)
{
        struct m *mp = take_idle_m_locked();
        uint32_t  n_event_waiters = w_n_event_waiters_locked();

        if (mp)
                return mp;
        if (n_event_waiters && w_threads_available_locked() >= w_n_procs() + n_event_waiters - 1)
                return take_event_waiter_locked();
        if (w_sched.n_m < w_sched.threads.max)
                return NULL;
        if (w_sched.poller.m && w_sched.poller.m != w_sched.timekeeper.m)
                return w_netpoll_take_locked();
        return take_m0_locked();
}

void w_thread_for(struct p *pp, bool spinning)
{
        W_ASSERT(pp);
        w_lock(&w_sched.lock);
        struct m *mp = take_sleeping_m_locked();

        w_unlock(&w_sched.lock);
        if (!mp) {
                create_on_g0(pp, spinning);
                return;
        }
        mp->next_p = pp;
        mp->next_spinning = spinning;
        w_thread_wake(mp);
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
