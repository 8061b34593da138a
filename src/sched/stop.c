/* sched/stop.c - stopping the world and starting it again; the end of a run.
 *
 * Called by   weft_check and the like (stop, start), exit of goroutine 1 (end), find (stop here).
 *
 * PROTOCOL stop
 *
 * Goal      at some point every P is with the stopper and no goroutine runs but the stopper's own;
 *           afterwards everything goes on, and no queued goroutine is forgotten.
 * Parties   stopper (a goroutine or none, one at a time: stop_lock), the other Ms, the end of the
 *           run.
 * Words     stopping (S), attention of each P (hint), n_to_stop, P status, all under sched.lock.
 * Stopper   1 lock: stopping := 1, attention on every P, own P and idle Ps -> STOPPED, count the
 *           rest; unlock   2 takes the Ps of those that are outside, PROTOCOL take (sched/take.c)
 *           3 the count is not 0: sleeps on `stopped`, for 100 us at most; again from 2
 * M         at its next visit to g0 (the attention word sends it there; the search looks at
 *           stopping first): lock; drop its count of looking; P -> STOPPED, n_to_stop - 1; last:
 *           wake the stopper; into the list of idle Ms, so that the start finds a thread for every
 *           P and has to create none; unlock; sleep as any M without a P
 * Start     lock: stopping := 0; a P that was taken goes back to its M if that is still where it
 *           was; others with work get a thread, those without go to the idle list; wake one
 * Why nobody slips through   an M gets a P only under sched.lock with stopping = 0, or from a P
 * that
 *           was in transit before (thread.c), which it brings here at its first look. Whoever
 *           leaves a P idle does so under the lock and sees stopping.
 * Not stopped   user code whose P was taken runs on, as do threads that are not weft's: what they
 *           do to the queues they do under sched.lock.
 * Rejected  a barrier per goroutine (there may be a million).
 * Tests     flow/test_inside.c, sim scenarios sched_stop, sched_end.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/assert.h"
#include "sched/keeper.h"
#include "sched/sched.h"
#include "sched/take.h"

#include "weft.h"

enum { SWEEP_EVERY_NS = 100000 };

static void ask_all_locked(void)
{
        w_store_rlx(&w_sched.stopping, 1);                        /* guarded by the lock */
        for (uint32_t i = 0; i < w_sched.n_procs; i++)
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
                weft_yield();
        }
}

/* Asks every M that still has a P, and takes it from those that are outside. */
static void sweep(void)
{
        w_take_begin();
        w_lock(&w_sched.lock);
        for (uint32_t i = 0; i < w_sched.n_procs; i++)
                (void)w_take_ask_locked(w_sched.all_p[i]);
        w_unlock(&w_sched.lock);
        w_take_barrier();
        w_lock(&w_sched.lock);
        for (uint32_t i = 0; i < w_sched.n_procs; i++) {
                struct p *pp = w_sched.all_p[i];
                if (pp->asked && w_take_finish_locked(pp, W_ANY_MARK))
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

void w_world_stop(void)
{
        struct g *gp = w_g();

        if (w_g_is_bound(gp))           /* could not make way for another stopper */
                w_g_refuse_wait(gp, "stop the world");
        become_stopper_lock();
        ask_all_locked();
        w_sched.n_to_stop = w_sched.n_procs;
        mark_stopped_locked(w_p());
        for (struct p *pp; (pp = w_idle_p_get_locked());)
                mark_stopped_locked(pp);
        bool done = w_sched.n_to_stop == 0;

        w_unlock(&w_sched.lock);
        while (!done) {
                sweep();
                done = all_stopped() ||
                       w_note_sleep_until(&w_sched.stopped, w_os_now() + SWEEP_EVERY_NS);
        }
        w_note_clear(&w_sched.stopped);
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
        for (uint32_t i = w_sched.n_procs; i-- > 0;)
                with_work = restart_locked(w_sched.all_p[i], with_work);
        w_unlock(&w_sched.lock);
        w_threads_for(with_work);
        w_unlock(&w_sched.stop_lock);
        w_wake_one();
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

static void order_to_end_locked(void)
{
        struct m *keeper = w_keeper_take_locked();

        if (keeper)
                w_thread_enlist_locked(keeper);
        for (struct list_node *n; (n = w_list_pop_front(&w_sched.idle_m));) {
                struct m *mp = W_CONTAINER_OF(n, struct m, idle_link);

                w_sched.n_idle_m--;
                mp->must_end = true;
                w_note_wake(&mp->note);
        }
}

void w_run_end(void)
{
        w_lock(&w_sched.lock);
        if (!w_sched.ending) {
                w_sched.ending = true;
                ask_all_locked();
                order_to_end_locked();
        }
        w_unlock(&w_sched.lock);
}
