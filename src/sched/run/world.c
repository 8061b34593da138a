/* sched/run/world.c - stopping the world and starting it again; the end of a run.
 *
 * Called by   weft_check and the like (stop, start), procs (more Ps or fewer), exit of goroutine 1
 *             (end), find (stop here).
 *
 * PROTOCOL world
 *
 * Goal      at some point every P is with the stopper and no goroutine runs but the stopper's own;
 *           afterwards everything goes on, and no queued goroutine is forgotten.
 * Parties   stopper, one at a time (stop_lock): a goroutine, or a thread without one: the monitor,
 *           or not weft's; the other Ms; the end of the run.
 * Words     stopping (S), attention of each P (hint), n_to_stop, P status, all under sched.lock.
 * Stopper   1 lock: stopping := 1, attention on every P, own P, if any, and idle Ps -> STOPPED,
 *           count the rest; unlock   2 takes the Ps of those that are outside, PROTOCOL take
 *           (sched/preempt/take.c)
 *           3 the count is not 0: sleeps on `stopped`, for 100 us at most; again from 2.
 *           A goroutine whose own thread has been left behind meanwhile gives up instead
 * M         at its next visit to g0 (the attention word sends it there; the search looks at
 *           stopping first): 1 its P has run nobody since the last start: looks for work once, else
 *           stop after stop would keep everyone else from running   2 lock; drop its count of
 *           looking; P -> STOPPED, n_to_stop - 1; last: wake the stopper; into the list of idle Ms,
 *           so that the start finds a thread for every P and has to create none but in the place of
 *           m0; unlock; sleep as any M without a P
 * Start     lock: stopping := 0; a P that was taken goes back to its M if that is still where it
 *           was; others with work get a thread, those without go to the idle list; wake one
 * Why nobody slips through   an M gets a P only under sched.lock with stopping = 0, or from a P
 *           that was in transit before (thread.c), which it brings here at its first look or the
 *           one after. Whoever leaves a P idle does so under the lock and sees stopping.
 * Why the stopper does not wait for ever   who is inside comes to g0, looks for work once at most;
 *           from who is outside the P is taken at some sweep. Not any more once the end of the run
 *           has left it behind, P and all (PROTOCOL abandon, sched/run/abandon.c): nobody asks one
 *           whose flag is ABANDONED. But the ender sets the flags of all in one stretch under
 *           sched.lock, the stopper's among them, and then waits for the stopper, which is inside.
 *           No other stopper can meet that: the ender has waited for the monitor and for threads
 *           that are not weft's before.
 * Not stopped   user code whose P was taken runs on, as do threads that are not weft's: what they
 *           do to the queues they do under sched.lock. The former can be stopped next, PROTOCOL
 *           freeze (sched/run/freeze.c).
 * Rejected  a barrier per goroutine (there may be a million).
 * Tests     flow/sched/inspect/test_inspect.c, flow/sched/run/test_stop_world.c, sim scenarios
 *           sched_stop*, sched_end, take_stop, left_stopper; mutants take-stop-does-not-sweep,
 *           left-stopper-goes-on.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/assert.h"
#include "sched/preempt/preempt.h"
#include "sched/timer/timekeeper.h"
#include "sched/run/abandon.h"
#include "sched/thread/netpoll.h"
#include "sched/sched.h"
#include "sched/preempt/take.h"

#include "weft.h"

enum { SWEEP_EVERY_NS = 100000 };

static void ask_all_locked(void)
{
        w_store_rlx(&w_sched.stopping, 1);                        /* guarded by the lock */
        for (uint32_t i = 0; i < w_n_procs(); i++)
                w_or_rlx(&w_sched.all_p[i]->attention, W_ATTENTION_STOP);       /* hint */
}

static void mark_stopped_locked(struct p *pp)
{
        w_store_rlx(&pp->status, P_STOPPED);                      /* guarded by the lock */
        if (--w_sched.n_to_stop == 0 && w_sched.stopper_sleeps) {
                w_sched.stopper_sleeps = false;
                w_note_wake(&w_sched.stopped);
        }
}

void w_p_give_up_locked(struct p *pp)
{
        if (w_load_rlx(&w_sched.stopping))                        /* guarded by the lock */
                mark_stopped_locked(pp);
        else
                w_idle_p_put_locked(pp);
}

/* Takes stop_lock and sched.lock. One stopper at a time: who waits for another must not keep its P
 * from stopping, so it yields, which leads to g0 while the attention word is set. At the end of the
 * run some have stopped for good already and cannot be counted: such a yield never comes back. */
static void become_stopper_lock(void)
{
        for (;;) {
                w_need_p();
                if (w_lock_try(&w_sched.stop_lock)) {
                        w_lock(&w_sched.lock);
                        if (!w_sched.ending)
                                return;
                        w_unlock(&w_sched.lock);
                        w_unlock(&w_sched.stop_lock);
                }
                w_yield();
                w_os_yield();   /* several that are locked to threads might keep the other from
                                 * its last step for ever, each by waking the next */
        }
}

/* Asks every M that still has a P, and takes it from those that are outside. */
static void sweep(void)
{
        w_take_begin();
        w_lock(&w_sched.lock);
        for (uint32_t i = 0; i < w_n_procs(); i++)
                (void)w_take_ask_locked(w_sched.all_p[i]);
        w_unlock(&w_sched.lock);
        w_take_barrier();
        w_lock(&w_sched.lock);
        for (uint32_t i = 0; i < w_n_procs(); i++) {
                struct p *pp = w_sched.all_p[i];
                if (pp->asked && w_take_finish_locked(pp, W_ANYWHERE))
                        mark_stopped_locked(pp);
        }
        w_unlock(&w_sched.lock);
        w_take_end();
}

static bool all_stopped(void)
{
        w_lock(&w_sched.lock);
        bool all = w_sched.n_to_stop == 0;

        w_sched.stopper_sleeps = !all;
        w_unlock(&w_sched.lock);
        return all;
}

/* Nobody knows any more who can still be stopped. */
static bool is_left_behind(void)
{
        const struct m *mp = w_m();

        return mp && w_m_is_abandoned(mp);
}

static void give_up(void)
{
        w_lock(&w_sched.lock);
        w_sched.stopper_sleeps = false;
        w_unlock(&w_sched.lock);
        w_unlock(&w_sched.stop_lock);
}

/* With what become_stopper_lock() has locked; releases sched.lock. False: gave up, and has released
 * the other one, too. */
static bool stop_all_unlock(void)
{
        ask_all_locked();
        w_sched.n_to_stop = w_n_procs();
        if (w_p())
                mark_stopped_locked(w_p());
        for (struct p *pp; (pp = w_idle_p_get_locked());)
                mark_stopped_locked(pp);
        bool done = w_sched.n_to_stop == 0;

        w_unlock(&w_sched.lock);
        while (!done) {
                sweep();
                done = all_stopped() ||
                       w_note_sleep_until(&w_sched.stopped, w_os_now() + SWEEP_EVERY_NS);
                if (!done && is_left_behind()) {
                        give_up();
                        return false;
                }
        }
        w_note_clear(&w_sched.stopped);
        return true;
}

/* Has no P that another stopper would wait for: it may sleep until that one is done. */
static bool stop_from_outside(void)
{
        W_ASSERT(!w_p());
        w_lock(&w_sched.stop_lock);
        w_lock(&w_sched.lock);
        if (!w_sched.ending)
                return stop_all_unlock();
        w_unlock(&w_sched.lock);
        w_unlock(&w_sched.stop_lock);
        return false;
}

bool w_world_stop(void)
{
        struct g *gp = w_g();

        if (!gp)
                return stop_from_outside();
        if (w_g_in_region(gp))           /* could not make way for another stopper */
                w_g_refuse_wait(gp, "stop the world");
        become_stopper_lock();
        return stop_all_unlock();
}

/* Idle, or in the list of those that need a thread. */
static struct p *restart_locked(struct p *pp, struct p *with_work)
{
        w_and_rlx(&pp->attention, ~(uint32_t)W_ATTENTION_STOP);   /* hint */
        if (pp == w_p()) {
                w_store_rlx(&pp->status, P_RUNNING);              /* own word */
                return with_work;
        }
        if (w_give_back_locked(pp))
                return with_work;
        pp->looks_first = true;
        if (w_p_has_no_work(pp)) {
                w_idle_p_put_locked(pp);
                return with_work;
        }
        pp->idle_next = with_work;
        return pp;
}

void w_world_start(void)
{
        struct p *with_work = NULL;

        w_lock(&w_sched.lock);
        if (w_sched.ending) {           /* the run ended meanwhile: everyone stays where it is */
                w_unlock(&w_sched.lock);
                w_unlock(&w_sched.stop_lock);
                return;
        }
        w_store_rlx(&w_sched.stopping, 0);                        /* guarded by the lock */
        for (uint32_t i = w_n_procs(); i-- > 0;)
                with_work = restart_locked(w_sched.all_p[i], with_work);
        w_unlock(&w_sched.lock);
        w_threads_for(with_work);
        w_unlock(&w_sched.stop_lock);
        w_wake_one();
}

bool w_stop_may_wait(struct m *mp)
{
        if (W_LIKELY(!mp->p->looks_first))
                return false;
        mp->p->looks_first = false;
        w_lock(&w_sched.lock);
        bool ending = w_sched.ending;

        w_unlock(&w_sched.lock);
        return !ending;
}

bool w_stop_here(struct m *mp)
{
        w_lock(&w_sched.lock);
        if (!w_load_rlx(&w_sched.stopping)) {                     /* guarded by the lock */
                w_unlock(&w_sched.lock);
                return true;
        }
        if (mp->spinning) {
                mp->spinning = false;
                w_sub_rlx(&w_sched.n_spinning, 1);                /* guarded by the lock */
        }
        mark_stopped_locked(w_p_release(mp));
        return w_thread_sleep_unlock(mp);
}

static void wake_all_to_end(struct list_node *list)
{
        for (struct list_node *n; (n = w_list_pop_front(list));) {
                struct m *mp = W_CONTAINER_OF(n, struct m, idle_link);

                mp->must_end = true;
                w_m_wake(mp);
        }
}

static void tell_to_exit_locked(void)
{
        for (struct m *mp; (mp = w_sched.timekeeper ? w_timekeeper_take_locked()
                                                : w_netpoll_take_locked());)
                w_thread_enlist_locked(mp);
        wake_all_to_end(&w_sched.idle_m);
        wake_all_to_end(&w_sched.dedicated_m);
        w_sched.n_idle_m = w_sched.n_dedicated_asleep = 0;
}

void w_run_end(void)
{
        w_lock(&w_sched.lock);
        if (!w_sched.ending) {
                w_sched.ending = true;
                ask_all_locked();
                tell_to_exit_locked();
                w_preempt_end_locked();
        }
        w_unlock(&w_sched.lock);
}
