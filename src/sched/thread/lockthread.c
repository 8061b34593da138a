/* sched/thread/lockthread.c - a goroutine that is locked to its thread: it runs there and nowhere
 * else.
 *
 * Called by   user code (lock, unlock); switch (it leaves), ready (it is woken), schedule (found).
 * Protocols   owns lockthread; cites threads (sched/thread/thread.c), park (sched/switch.c), idle
 *             (sched/idle.c), take (sched/preempt/take.c), thread-request
 *             (sched/thread/template.c).
 *
 * PROTOCOL lockthread
 *
 * Goal      a locked goroutine runs on its M only; its M runs nothing else; while it waits others
 *           have the P; when it ends locked the thread ends with it. Who is not locked pays
 *           nothing.
 * Parties   goroutine G and its M; waker (makes G runnable); finder (an M that took G out of the
 *           global queue).
 * Words     g.locked, with the M and the depth in the cold part; m.locked_g; m.kept and
 *           W_ATTENTION_DEDICATED on the P that the M holds; m.next_p and m.next_g, orders, and
 *           dedicated_m, under sched.lock; the state WAITING_PINNED.
 * G leaves  the attention word sends it to g0, where another commit takes the place of the usual
 *           one: it waits as WAITING_PINNED, or goes to the global queue. So G never stands in the
 *           queue of a P, and who goes straight from one goroutine to the next never meets it.
 * M         on g0, under sched.lock: 1 orders are there already: hands its P off, goes on with them
 *           2 no orders: into dedicated_m, hands its P off, PROTOCOL take, and sleeps   3 woken
 *           with orders: runs next_g on next_p
 * Waker     finds WAITING_PINNED where w_ready expects WAITING. Under sched.lock: a P is idle: it
 *           and G are the M's orders; else G goes to the global queue, as a submission
 * Finder    under sched.lock: its P and G are the M's orders; goes to sleep, or takes another P
 * Orders    under sched.lock: next_p, next_g; the M is in dedicated_m: out of it, and woken. It is
 *           not: it is on its way there and will see them.
 * Why G is given once   whoever gives orders holds G: the waker made it runnable, the finder took
 *           it out of the queue. So there is nobody else, and no second order before G has run.
 * Why nobody sleeps on orders   the M enters dedicated_m under the lock under which orders are
 *                               given.
 * The end of the run wakes everyone in dedicated_m; afterwards no orders are given, and an M that
 * has
 *           some stops with its P instead of running G.
 * Stopping  orders are a P in transit: it stops when G next comes to g0, or is taken from it.
 * Taken     an M whose P was taken while G was outside goes on without, as any; if G queues itself
 *           for a P a finder gives it one.
 * The end of G   clears g.locked before the record is anybody else's, and the M is must_exit: it
 *                hands
 *           its P off and ends. m0 does not end; it sleeps until the run does, and no need is so
 *           great that it would run anything.
 * Rejected  a flag that every direct switch tests (one more load there); giving the M the idle P
 *           only by way of a looker, as Go does (a second thread switch).
 * Tests     flow/sched/thread/test_lock_thread.c, flow/sched/thread/test_lock_thread_end.c, sim
 *           scenarios pin_*, mutants pin-*.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/thread/lockthread.h"

#include "base/assert.h"
#include "base/window.h"
#include "sched/commit.h"
#include "sched/sched.h"

#include "weft.h"

/* ---- Orders ---------------------------------------------------------------------------------- */

/* gp is the caller's. Releases sched.lock. */
static void order_unlock(struct g *gp, struct p *pp)
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
        W_WINDOW("pin-ordered");
        if (asleep)
                w_note_wake(&mp->note);
}

/* gp is locked, is RUNNABLE or waits, and is the caller's, who has still to wake somebody: it may
 * have gone to the global queue. State and queue change at one moment, as weft_check sees it. */
static void submit(struct g *gp)
{
        w_lock(&w_sched.lock);
        if (w_lockthread_waits(gp))
                w_g_move(gp, G_WAITING_LOCKED, G_RUNNABLE);
        struct p *pp = w_load_rlx(&w_sched.stopping) ? NULL : w_idle_p_get_locked();  /* guarded */

        if (pp) {
                order_unlock(gp, pp);
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
        if (w_sched.ending) {           /* back: mp will stop with its P, or not find it again */
                w_globq_put_locked(gp);
                w_unlock(&w_sched.lock);
                return true;
        }
        w_p_count(&mp->p->stats.handoffs, 1);
        order_unlock(gp, w_p_release(mp));
        return true;
}

/* True if the run ends: gp will not run any more, and the M finds that out. */
static bool drop_at_end(struct g *gp)
{
        if (W_LIKELY(!w_load_rlx(&w_sched.stopping)))             /* hint: it stops later */
                return false;
        w_lock(&w_sched.lock);
        bool ending = w_sched.ending;

        if (ending)
                w_globq_put_locked(gp);
        w_unlock(&w_sched.lock);
        return ending;
}

struct g *w_lockthread_next(struct m *mp)
{
        struct g *gp = mp->next_g;

        mp->next_g = NULL;
        return drop_at_end(gp) ? w_find(mp) : gp;
}

/* ---- Leaving --------------------------------------------------------------------------------- */

/* The one who gets the P of this M may find somebody else first, so others must look too. */
static void commit_yield(struct m *mp, const struct commit *c)
{
        (void)mp;
        w_globq_publish(c->left, G_RUNNING);
        w_wake_one();
}

static void commit_park(struct m *mp, const struct commit *c)
{
        w_g_move(c->left, G_RUNNING, G_WAITING_LOCKED);
        W_WINDOW("pin-before-unlock");
        if (c->unlock(c->left, c->arg))
                return;
        if (!mp->p) {
                w_globq_publish(c->left, G_WAITING_LOCKED);
                w_wake_one();
                return;
        }
        w_g_move(c->left, G_WAITING_LOCKED, G_RUNNABLE);
        w_become(mp, c->left);
        mp->resume = c->left;           /* it has a P, so it goes on at once */
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

/* gp is the one that mp runs; NULL: no more. */
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

W_EXPORT void weft_lock_thread(void)
{
        struct g *gp = w_g();

        W_CHECK(gp, "weft_lock_thread called outside a goroutine");
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

W_EXPORT void weft_unlock_thread(void)
{
        struct g *gp = w_g();

        W_CHECK(gp, "weft_unlock_thread called outside a goroutine");
        W_ENTER();
        W_CHECK(gp->locked, "goroutine %ld unlocks a thread that it has not locked",
                (long)gp->id);
        if (--w_g_cold(gp)->n_thread_locks == 0) {
                gp->locked = 0;
                bind(w_m(), NULL);
        }
        W_LEAVE();
}
