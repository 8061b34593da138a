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

#include <errno.h>      /* ENOMEM */

enum { M_STACK = 256 * 1024 };  /* g0: search, dumps; committed as it is used */

/* ---- Records --------------------------------------------------------------------------------- */

static struct m *m_new_locked(void)
{
        struct m *mp = w_records_get(&w_sched.m_records);

        if (!mp)
                return NULL;
        *mp = (struct m){ .thread.id = w_sched.next_m_id++ };
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
        w_os_altstack_remove(&mp->altstack);
        w_self_set(NULL);
}

/* Takes what the waker left in the record. */
static void take_orders(struct m *mp)
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
        w_sched.thread_owed = true;
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
                take_orders(mp);
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
                rc = w_os_thread_start(&mp->os_thread, name, M_STACK, thread_main, mp);
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

        if (!mp || (!mp->curg && !mp->in_commit)) {
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

        if (!mp && w_sched.n_m - w_sched.n_leaving > w_sched.n_procs)
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

/* ---- Sleeping -------------------------------------------------------------------------------- */

/* True if mp was still unemployed and is now on its way out. */
static bool may_end(struct m *mp)
{
        w_lock(&w_sched.lock);
        bool unemployed = !w_list_empty(&mp->idle_link);
        bool ends = unemployed && !mp->is_main &&
                    w_sched.n_m - w_sched.n_leaving > w_sched.n_procs + 1;

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
        take_orders(mp);
        return true;
}

/* A thread could not be created for a P with work to do, and this one is about to sleep: it looks
 * for that work instead. Unlocks if so. */
static bool take_owed_locked(struct m *mp)
{
        if (!w_sched.thread_owed || w_load_rlx(&w_sched.stopping))        /* guarded by the lock */
                return false;
        w_sched.thread_owed = false;
        struct p *pp = w_idle_p_get_locked();

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
