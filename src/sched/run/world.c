/* sched/run/world.c - stopping the world and starting it again; the end of a run.
 *
 * PROTOCOL world
 *
 * Goal      At some point the stopper has every P, and no goroutine runs except the stopper's own.
 *           Afterwards everything continues, and no queued goroutine is forgotten.
 * Parties   stopper (one at a time, by world.lock): a goroutine, or a thread without a goroutine
 *           (the monitor or a foreign thread); M (every other M); ender of the run.
 * Words     stopping, n_to_stop, the status of each P: all under sched.lock. attention of each P: a
 *           hint.
 * Stopper   1. Under sched.lock: stopping := 1; attention on every P; its own P, if any, and the
 *              idle Ps -> STOPPED; count the rest in n_to_stop.
 *           2. Take the Ps of Ms in user code: PROTOCOL take (sched/preempt/take.c).
 *           3. n_to_stop is not 0: sleep on `stopped`, for at most 100 us, then go to 2. If the run
 *              has abandoned the stopper's own thread meanwhile, give up instead.
 * M         on its next return to g0. The attention word sends the M there; the search reads
 *           stopping first.
 *           1. Its P has run no goroutine since the last start: search for work once. Otherwise one
 *              stop after another would keep all other goroutines from running.
 *           2. Under sched.lock: stop spinning; P -> STOPPED; n_to_stop - 1; 0: wake the stopper.
 *              Enter the list of idle Ms: then the start finds a thread for every P, and must
 *              create a thread only in the place of m0. Sleep as any M without a P.
 * Start     Under sched.lock: stopping := 0. For each P:
 *             taken, and its M has not moved since: goes back to that M
 *             has work: gets a thread
 *             has none: goes to the idle list
 *           Then wake one M.
 * Why no M keeps running   An M gets a P only under sched.lock with stopping = 0, or from a P that
 *           was in transit before (sched/thread/thread.c). It brings that P here at its first
 *           search or the next. An M that makes a P idle does it under the lock and sees stopping.
 * Why the stopper does not wait for ever   An M in the runtime comes to g0, and searches for work
 *           at most once. From an M in user code some sweep takes the P, unless the end of the run
 *           has abandoned that M together with its P (PROTOCOL abandon, sched/run/abandon.c): an M
 *           with m.retake ABANDONED gets no request. But the ender marks all Ms in one critical
 *           section of sched.lock, the stopper's M among them. Then it waits for the stopper, which
 *           is in the runtime, and step 3 lets the stopper give up. A stopper that is the monitor
 *           or a foreign thread cannot meet this case: the ender has waited for these threads
 *           before.
 * Not stopped   User code of an M that has lost its P runs on: PROTOCOL freeze (sched/run/freeze.c)
 *           can stop it next. Foreign threads run on: they use the queues under sched.lock.
 * Rejected  A barrier per goroutine (there may be a million).
 * Tests     flow/sched/inspect/test_inspect.c, flow/sched/run/test_stop_world.c, sim scenarios
 *           sched_stop*, sched_end, take_stop, abandon_stopper; mutants
 *           take-stop-does-not-sweep, abandon-stopper-goes-on.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/run/world.h"

#include "base/assert.h"
#include "sched/idle.h"
#include "sched/preempt/preempt.h"
#include "sched/preempt/take.h"
#include "sched/run/abandon.h"
#include "sched/sched.h"
#include "sched/switch.h"
#include "sched/thread/netpoll.h"
#include "sched/thread/sleep.h"
#include "sched/thread/thread.h"
#include "sched/timer/timekeeper.h"
#include "weft.h"

enum { SWEEP_EVERY_NS = 100000 };

static void ask_all_locked(void)
{
        w_store_rlx(&w_sched.world.stopping, 1);                        /* guarded by the lock */
        for (uint32_t i = 0; i < w_n_procs(); i++)
                w_or_rlx(&w_sched.all_p[i]->attention, W_ATTENTION_STOP);       /* hint */
}

void w_world_p_stopped_locked(struct p *pp)
{
        w_store_rlx(&pp->status, P_STOPPED);                      /* guarded by the lock */
        if (--w_sched.world.n_to_stop == 0 && w_sched.world.stopper_sleeps) {
                w_sched.world.stopper_sleeps = false;
                w_note_wake(&w_sched.world.stopped);
        }
}

/* Takes world.lock and sched.lock. There is one stopper at a time. A goroutine that waits for
 * another stopper must not keep its P from stopping: it yields, which leads to g0 while the
 * attention word is set. At the end of the run some Ps have stopped for good and cannot be counted:
 * such a yield never returns. */
static void become_stopper_lock(void)
{
        for (;;) {
                w_need_p();
                if (w_lock_try(&w_sched.world.lock)) {
                        w_lock(&w_sched.lock);
                        if (!w_sched.world.ending)
                                return;
                        w_unlock(&w_sched.lock);
                        w_unlock(&w_sched.world.lock);
                }
                w_yield();
                w_os_yield();   /* goroutines locked to threads might wake each other in turn and
                                 * keep the other stopper from its last step for ever */
        }
}

/* Asks every M that still has a P, and takes the Ps of Ms in user code. */
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
                        w_world_p_stopped_locked(pp);
        }
        w_unlock(&w_sched.lock);
        w_take_end();
}

static bool all_stopped(void)
{
        w_lock(&w_sched.lock);
        bool all = w_sched.world.n_to_stop == 0;

        w_sched.world.stopper_sleeps = !all;
        w_unlock(&w_sched.lock);
        return all;
}

/* True: the run has abandoned the stopper's thread. Which Ms can still stop is not known then. */
static bool stopper_is_abandoned(void)
{
        const struct m *mp = w_m();

        return mp && w_m_is_abandoned(mp);
}

static void give_up(void)
{
        w_lock(&w_sched.lock);
        w_sched.world.stopper_sleeps = false;
        w_unlock(&w_sched.lock);
        w_unlock(&w_sched.world.lock);
}

/* Context: with both locks of become_stopper_lock(). Releases sched.lock. False: gave up, and has
 * released world.lock too. */
static bool stop_all_unlock(void)
{
        ask_all_locked();
        w_sched.world.n_to_stop = w_n_procs();
        if (w_p())
                w_world_p_stopped_locked(w_p());
        for (struct p *pp; (pp = w_idle_p_get_locked());)
                w_world_p_stopped_locked(pp);
        bool done = w_sched.world.n_to_stop == 0;

        w_unlock(&w_sched.lock);
        while (!done) {
                sweep();
                done = all_stopped() ||
                       w_note_sleep_until(&w_sched.world.stopped, w_os_now() + SWEEP_EVERY_NS);
                if (!done && stopper_is_abandoned()) {
                        give_up();
                        return false;
                }
        }
        w_note_clear(&w_sched.world.stopped);
        return true;
}

/* The caller has no P that another stopper would wait for, so it may sleep on world.lock. */
static bool stop_without_g(void)
{
        W_ASSERT(!w_p());
        w_lock(&w_sched.world.lock);
        w_lock(&w_sched.lock);
        if (!w_sched.world.ending)
                return stop_all_unlock();
        w_unlock(&w_sched.lock);
        w_unlock(&w_sched.world.lock);
        return false;
}

bool w_world_stop(void)
{
        struct g *gp = w_g();

        if (!gp)
                return stop_without_g();
        if (w_g_in_region(gp))          /* cannot yield to another stopper */
                w_g_refuse_wait(gp, "stop the world");
        become_stopper_lock();
        return stop_all_unlock();
}

/* Starts pp. Returns the list of Ps that need a thread, with pp in front if it has work. */
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
        if (w_sched.world.ending) {     /* the run ended meanwhile: every M stays where it is */
                w_unlock(&w_sched.lock);
                w_unlock(&w_sched.world.lock);
                return;
        }
        w_store_rlx(&w_sched.world.stopping, 0);                        /* guarded by the lock */
        for (uint32_t i = w_n_procs(); i-- > 0;)
                with_work = restart_locked(w_sched.all_p[i], with_work);
        w_unlock(&w_sched.lock);
        w_threads_for(with_work);
        w_unlock(&w_sched.world.lock);
        w_wake_one();
}

bool w_world_may_search(struct m *mp)
{
        if (W_LIKELY(!mp->p->looks_first))
                return false;
        mp->p->looks_first = false;
        w_lock(&w_sched.lock);
        bool ending = w_sched.world.ending;

        w_unlock(&w_sched.lock);
        return !ending;
}

bool w_world_stop_here(struct m *mp)
{
        w_lock(&w_sched.lock);
        if (!w_load_rlx(&w_sched.world.stopping)) {                     /* guarded by the lock */
                w_unlock(&w_sched.lock);
                return true;
        }
        if (mp->spinning) {
                mp->spinning = false;
                w_sub_rlx(&w_sched.n_spinning, 1);                /* guarded by the lock */
        }
        w_world_p_stopped_locked(w_p_release(mp));
        return w_thread_sleep_unlock(mp);
}

static void wake_all_to_end(struct list_node *list)
{
        for (struct list_node *n; (n = w_list_pop_front(list));) {
                struct m *mp = W_CONTAINER_OF(n, struct m, idle_link);

                mp->must_end = true;
                w_thread_wake(mp);
        }
}

static void tell_to_exit_locked(void)
{
        for (struct m *mp; (mp = w_sched.timekeeper.m ? w_timekeeper_take_locked()
                                                : w_netpoll_take_locked());)
                w_thread_enlist_locked(mp);
        wake_all_to_end(&w_sched.idle_m);
        wake_all_to_end(&w_sched.dedicated_m);
        w_sched.n_idle_m = w_sched.n_dedicated_asleep = 0;
}

void w_world_end(void)
{
        w_lock(&w_sched.lock);
        if (!w_sched.world.ending) {
                w_sched.world.ending = true;
                ask_all_locked();
                tell_to_exit_locked();
                w_preempt_end_locked();
        }
        w_unlock(&w_sched.lock);
}
