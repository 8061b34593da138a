/* sched/thread.c - Ms: started for a P, sleeping when there is none, ended when long unused.
 *
 * Called by   idle (sleep, wake), run (the first one, and the end of all).
 *
 * PROTOCOL threads
 *
 * Goal      a P in transit always gets a thread, or goes back to the idle list; every thread that
 *           was counted exists or was uncounted; nobody is woken twice.
 * Parties   starter (has a P in its hands), sleeper (an M without a P), ender (sleeper whose
 *           patience is over, or the end of the run).
 * Words     idle_m, n_m, n_idle_m under sched.lock; m.next_p, m.next_spinning, m.must_end handed
 *           over by m.note.
 * Starter   1 lock; take the newest idle M, in need the timekeeper, or count a new one   2 unlock
 *           3 write next_p, wake; or create the thread: it takes next_p when it starts   4 creation
 *           failed: uncount, P back to the idle list; the timekeeper, if any, is woken to take it
 * Sleeper   1 lock; into the idle list; unlock   2 sleep on the note   3 time is up: lock; still in
 *           the list: out of it, and end; not in it: a wake is on its way, sleep on
 * Why nobody is woken twice   only who took an M out of the idle list, under the lock, wakes it.
 * Thread limit   more than max_threads is fatal: the count is taken before the thread exists.
 * One M beyond those that run is created with the run, so that a machine without threads to spare
 *           still has one to hand a P to.
 * Tests     flow/test_run_faults.c, sim scenarios sched_threads, sched_scarce.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/assert.h"
#include "base/records.h"
#include "sched/keeper.h"
#include "sched/sched.h"
#include "sched/take.h"
#include "sched/verdict.h"

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
        w_store_rlx(&mp->mark, 0);                                /* guarded by the lock */
        w_store_rlx(&mp->flag, w_sched.flag_base);                /* guarded by the lock */
        w_store_rlx(&mp->tid, 0);                                 /* guarded by the lock */
        w_store_rlx(&mp->use_fd, 0);                              /* guarded by the lock */
        mp->thread.id = w_sched.next_m_id++;
        w_list_init(&mp->idle_link);
        w_list_init(&mp->all_link);
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

/* ---- Life of a thread ------------------------------------------------------------------------ */

/* Identity first, then a stack for signals, then the signals themselves. */
int w_m_begin(struct m *mp)
{
        w_self_set(&mp->thread);
        mp->errno_at = w_os_errno();
        w_store_rlx(&mp->tid, (uint32_t)w_os_tid());              /* own word */
        w_store_rlx(&mp->mark, 1);                                /* own word */
        w_fiber_adopt(&mp->g0);
        int rc = w_os_altstack_install(&mp->altstack);

        if (rc < 0)
                w_self_set(NULL);
        return rc;
}

void w_m_end(struct m *mp)
{
        W_ASSERT(!mp->p && !mp->curg && !mp->spinning);
        w_verdict_end(mp);
        w_os_altstack_remove(&mp->altstack);
        w_self_set(NULL);
}

/* Takes what the waker left in the record. */
void w_thread_take_orders(struct m *mp)
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
        w_list_unlink(&mp->all_link);
        w_list_push_back(&w_sched.ended_m, &mp->all_link);
        w_sched.n_m--;
        w_sched.n_leaving -= mp->leaves;
        w_sched.n_ended++;
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

/* The P that a thread was started for goes back; who has work will try again. After a stop the P
 * may have work itself: everyone who runs will find it in the global queue. */
static void return_p_locked(struct p *pp, bool spinning)
{
        if (spinning)
                w_sub_rlx(&w_sched.n_spinning, 1);                /* guarded by the lock */
        if (!pp)
                return;
        for (struct g *gp; (gp = w_queue_take(pp));)
                w_globq_put_locked(gp);
        w_p_give_up_locked(pp);
        w_store_rlx(&w_sched.thread_owed, 1);                     /* guarded by the lock */
        /* Who went to sleep while the thread was being created has not seen what is owed. Woken
         * without orders, it is about to sleep again and looks. */
        struct m *asleep = take_idle_m_locked();

        if (!asleep)
                asleep = w_keeper_take_locked();
        if (asleep)
                w_note_wake(&asleep->note);
}

static void thread_main(void *arg)
{
        struct m *mp = arg;
        int       rc = w_m_begin(mp);

        if (rc == 0) {
                w_os_signals_restore(&w_sched.sigmask);
                w_thread_take_orders(mp);
                if (mp->p || w_thread_sleep(mp))
                        w_schedule(mp);
                w_m_end(mp);
        }
        w_lock(&w_sched.lock);
        if (rc < 0)
                return_p_locked(mp->next_p, mp->next_spinning);
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

/* Waits for threads that have ended or are about to: what is left of them is a few instructions. */
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

/* Counts first: the limit holds and the end of the run waits for it, whatever happens next. */
static struct m *count_new_locked(void)
{
        W_CHECK(w_sched.n_m < (uint32_t)w_sched.config.max_threads,
                "program exceeds %d-thread limit", w_sched.config.max_threads);
        struct m *mp = m_new_locked();

        if (mp) {
                w_sched.n_m++;
                w_sched.n_started++;
        }
        return mp;
}

static void uncount(struct m *mp, struct p *pp, bool spinning)
{
        w_lock(&w_sched.lock);
        return_p_locked(pp, spinning);
        if (mp) {
                w_list_unlink(&mp->all_link);
                w_records_put(&w_sched.m_records, mp);
                w_sched.n_m--;
                w_sched.n_started--;
        }
        w_unlock(&w_sched.lock);
}

int w_thread_create(struct p *pp, bool spinning)
{
        char name[16];

        w_threads_join_ended();
        w_lock(&w_sched.lock);
        struct m *mp = count_new_locked();

        w_unlock(&w_sched.lock);
        int rc = -ENOMEM;

        if (mp) {
                mp->next_p = pp;
                mp->next_spinning = spinning;
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

static void pay(void *arg)
{
        struct m *mp = arg;

        for (struct p *pp; (pp = mp->owed_p);) {
                mp->owed_p = pp->idle_next;
                pp->idle_next = NULL;
                (void)w_thread_create(pp, pp->owed_spinning);   /* failure: said, the P is back */
        }
}

void w_thread_pay_owed(struct m *mp)
{
        w_on_g0(pay, mp);
}

/* What libc does to create a thread needs more stack than a goroutine may have left, and much more
 * than a commit may use: it is done on g0, in a commit as soon as that is over. */
static void create_on_g0(struct p *pp, bool spinning)
{
        struct m *mp = w_m();

        if (!mp || mp->on_g0 || (!mp->curg && !mp->in_commit)) {
                (void)w_thread_create(pp, spinning);    /* failure: said, and the P is back */
                return;
        }
        pp->idle_next = mp->owed_p;
        pp->owed_spinning = spinning;
        mp->owed_p = pp;
        if (!mp->in_commit)
                w_thread_pay_owed(mp);
}

/* A thread that sleeps, or NULL: one is to be created. The timekeeper is the last resort: with more
 * threads than Ps another is on its way to sleep and takes over. */
static struct m *take_idle_locked(void)
{
        struct m *mp = take_idle_m_locked();

        if (!mp && w_threads_available_locked() > w_sched.n_procs)
                mp = w_keeper_take_locked();
        return mp;
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
        w_note_wake(&mp->note);
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
