/* sched/thread/lockthread.c - a goroutine that is locked to its thread runs there and nowhere else.
 *
 * PROTOCOL lockthread
 *
 * Goal      A locked goroutine runs on its M only, and its M runs nothing else. While the goroutine
 *           waits, other Ms have the P. If it ends locked, the thread ends with it. Goroutines that
 *           are not locked pay nothing.
 * Parties   goroutine G and its M; waker (makes G runnable); finder (an M that took G out of the
 *           global queue).
 * Words     g.locked, with the M and the depth in the cold part; m.locked_g; the state
 *           WAITING_LOCKED; m.dedicated, and W_ATTENTION_DEDICATED on the P that the M holds; the
 *           handoff m.next_p and m.next_g, and dedicated_m, under sched.lock.
 * G leaves  The attention word sends G to g0, where another commit replaces the usual commit. G
 *           waits as WAITING_LOCKED, or goes to the global queue. So G is never in the queue of a
 *           P, and a direct switch from one goroutine to the next never meets a locked goroutine.
 * M         on g0, under sched.lock:
 *           1. There is a handoff already: hand its own P off, continue with the handoff.
 *           2. No handoff: go into dedicated_m, hand the P off (PROTOCOL take,
 *              sched/preempt/take.c), sleep.
 *           3. Woken with a handoff: run next_g on next_p.
 * Waker     finds WAITING_LOCKED where w_ready expects WAITING. Under sched.lock:
 *           1. A P is idle: hand that P and G to the M.
 *           2. No P is idle: put G into the global queue, as a submission.
 * Finder    1. Under sched.lock: hand its own P and G to the M.
 *           2. Sleep, or take another P.
 * Handoff   under sched.lock:
 *           1. Write next_p and next_g.
 *           2. The M is in dedicated_m: take it out and wake it. The M is not in dedicated_m: it is
 *              on its way there and will see the handoff.
 * Why G is handed off once   The giver of a handoff owns G: the waker made it runnable, the finder
 *           took it out of the queue. There is no other owner, so there is no second handoff before
 *           G has run.
 * Why the M does not sleep on a handoff   It enters dedicated_m under the lock under which the
 *           handoff is written.
 * End of the run   wakes every M in dedicated_m. Afterwards no handoff is given, and an M that has
 *           one stops with its P instead of running G.
 * Stopping  A handoff is a P in transit: it stops when G next comes to g0, or is taken from G.
 * Taken     If the P is taken while G is in user code, G and its M go on without a P, as any M
 *           does. If G queues itself for a P, a finder gives it a P.
 * End of G  G clears g.locked before its record can be reused for another goroutine. The M is
 *           must_exit: it hands its P off and ends. m0 does not end; it sleeps until the run ends,
 *           and runs nothing even if no other thread is available.
 * Rejected  A flag that every direct switch tests (one more load there). Giving the M the idle P
 *           through a spinner, as Go does (a second thread switch).
 * Tests     flow/sched/thread/test_lockthread.c, flow/sched/thread/test_lockthread_end.c, sim
 *           scenarios lockthread_*, mutants lockthread-*.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/thread/lockthread.h"

#include "base/assert.h"
#include "base/window.h"
#include "sched/commit.h"
#include "sched/idle.h"
#include "sched/queue/globq.h"
#include "sched/sched.h"
#include "sched/schedule.h"
#include "sched/switch.h"
#include "weft.h"

/* ---- Handoff --------------------------------------------------------------------------------- */

/* Hands pp and gp, which the caller owns, to the M that gp is locked to. Releases sched.lock. */
static void hand_to_m_unlock(struct g *gp, struct p *pp)
{
        struct m *mp = w_g_cold(gp)->locked_m;
        bool      asleep = !w_list_empty(&mp->idle_link);

        W_ASSERT(mp->locked_g == gp && !mp->next_p && !mp->next_g);
        mp->next_p = pp;
        mp->next_g = gp;
        mp->next_spinning = false;
        if (asleep) {
                w_list_unlink(&mp->idle_link);
                w_sched.n_dedicated_asleep--;
        }
        w_unlock(&w_sched.lock);
        W_WINDOW("lockthread-handed-off");
        if (asleep)
                w_note_wake(&mp->note);
}

/* gp is locked, is RUNNABLE or waits, and the caller owns it. gp may go to the global queue, so the
 * caller must wake an M afterwards. weft_check sees state and queue change at one moment. */
static void submit(struct g *gp)
{
        w_lock(&w_sched.lock);
        if (w_lockthread_waits(gp))
                w_g_move(gp, G_WAITING_LOCKED, G_RUNNABLE);
        bool      stopping = w_load_rlx(&w_sched.world.stopping);    /* guarded */
        struct p *pp = stopping ? NULL : w_idle_p_get_locked();

        if (pp) {
                hand_to_m_unlock(gp, pp);
                return;
        }
        w_globq_put_locked(gp);
        w_unlock(&w_sched.lock);
}

bool w_lockthread_ready(struct g *gp)
{
        if (!w_lockthread_waits(gp))
                return false;
        submit(gp);
        return true;
}

void w_lockthread_sort_out_slow(struct queue *batch)
{
        struct queue others = { 0 };

        for (struct queue_node *n; (n = w_queue_pop(batch));) {
                struct g *gp = W_CONTAINER_OF(n, struct g, link);

                if (gp->locked)
                        submit(gp);
                else
                        w_queue_push(&others, n);
        }
        *batch = others;
        w_wake_one();
}

bool w_lockthread_give(struct m *mp, struct g *gp)
{
        if (mp->locked_g == gp)
                return false;
        w_lock(&w_sched.lock);
        if (w_sched.world.ending) {     /* mp will stop with its P, or not find gp */
                w_globq_put_locked(gp);
                w_unlock(&w_sched.lock);
                return true;
        }
        w_p_count(&mp->p->stats.handoffs, 1);
        hand_to_m_unlock(gp, w_p_release(mp));
        return true;
}

/* True: the run ends. gp will not run any more, and the M sees that when it searches. */
static bool drop_at_end(struct g *gp)
{
        if (W_LIKELY(!w_load_rlx(&w_sched.world.stopping)))             /* hint: it stops later */
                return false;
        w_lock(&w_sched.lock);
        bool ending = w_sched.world.ending;

        if (ending)
                w_globq_put_locked(gp);
        w_unlock(&w_sched.lock);
        return ending;
}

struct g *w_lockthread_next(struct m *mp)
{
        struct g *gp = mp->next_g;

        mp->next_g = NULL;
        return drop_at_end(gp) ? w_schedule_find(mp) : gp;
}

/* ---- Leaving --------------------------------------------------------------------------------- */

/* The M that gets the P of this M may find another goroutine first. So another M must search
 * too. */
static void commit_yield(struct m *mp, const struct commit *c)
{
        (void)mp;
        w_globq_publish(c->left, G_RUNNING);
        w_wake_one();
}

static void commit_park(struct m *mp, const struct commit *c)
{
        w_g_move(c->left, G_RUNNING, G_WAITING_LOCKED);
        W_WINDOW("lockthread-before-unlock");
        if (c->unlock(c->left, c->arg))
                return;
        if (!mp->p) {
                w_globq_publish(c->left, G_WAITING_LOCKED);
                w_wake_one();
                return;
        }
        w_g_move(c->left, G_WAITING_LOCKED, G_RUNNABLE);
        w_become(mp, c->left);
        mp->resume = c->left;           /* mp has a P: the goroutine continues at once */
}

static void commit_exit(struct m *mp, const struct commit *c)
{
        c->left->locked = 0;
        w_lock(&w_sched.lock);
        mp->locked_g = NULL;
        mp->must_exit = true;
        w_sched.n_locked--;
        w_unlock(&w_sched.lock);
        w_commit_exit(mp, c);
}

void w_lockthread_leave(struct m *mp)
{
        struct commit *c = &mp->commit;

        if (c->run == w_commit_park)
                c->run = commit_park;
        else if (c->run == w_commit_yield)
                c->run = commit_yield;
        else if (c->run == w_commit_exit)
                c->run = commit_exit;
}

/* ---- Public ---------------------------------------------------------------------------------- */

/* Locks gp, which mp runs, to mp. NULL: ends the lock. */
static void bind(struct m *mp, struct g *gp)
{
        w_lock(&w_sched.lock);
        mp->locked_g = gp;
        w_sched.n_locked += gp ? 1 : -1u;
        w_m_dedicate_locked(mp, gp || mp->is_main);
        w_unlock(&w_sched.lock);
        if (mp->p)
                w_p_set_dedicated(mp->p, mp->dedicated);
}

W_EXPORT void weft_thread_lock(void)
{
        struct g *gp = w_g();

        W_CHECK(gp, "weft_thread_lock called outside a goroutine");
        W_ENTER();
        struct g_cold *cold = w_g_cold(gp);

        if (!gp->locked) {
                cold->n_thread_locks = 0;
                cold->locked_m = w_m();
                gp->locked = 1;
                bind(w_m(), gp);
        }
        W_CHECK(++cold->n_thread_locks != 0, "goroutine %ld locks its thread too often",
                (long)gp->id);
        W_LEAVE();
}

W_EXPORT void weft_thread_unlock(void)
{
        struct g *gp = w_g();

        W_CHECK(gp, "weft_thread_unlock called outside a goroutine");
        W_ENTER();
        W_CHECK(gp->locked, "goroutine %ld unlocks a thread that it has not locked",
                (long)gp->id);
        if (--w_g_cold(gp)->n_thread_locks == 0) {
                gp->locked = 0;
                bind(w_m(), NULL);
        }
        W_LEAVE();
}
