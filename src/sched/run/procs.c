/* sched/run/procs.c - more Ps or fewer while goroutines run, and how many threads there may be.
 *
 * Called by   user code; follow (the machine has changed); run (the first count).
 * Calls       world.c, p.c for the records, timers.c for the heaps.
 *
 * PROTOCOL resize
 *
 * Goal      between one goroutine and the next the number of Ps is another: nothing queued, no
 *           timer and no count is lost, and nobody touches memory that is gone.
 * Parties   resizer (the stopper of the world: a goroutine, or a thread without one); everyone who
 *           looks at Ps.
 * Words     n_procs: all_p[0 .. n_procs) are in use.  n_p >= n_procs: so many records were made.
 *           all_p[i], for i < n_p, never changes again; the others are DEAD: no M, nothing in their
 *           queues, heap empty and closed, no caches. Their counters count.  steal_order,
 *           runq.alone: say the same as n_procs.  follows: see sched/run/follow.c.
 * Resizer   1 stops the world: every P is in its hands, nobody looks for work, nobody fires
 *           more: 2 makes records, n_p [RZ1]   3 revives each: caches. No memory: those that were
 *           revived are buried, nothing has changed   4 opens their heaps
 *           fewer: 2 closes the heaps of those that go; their timers move to its own P, or to P 0.
 *           No memory: opens them again; it does not matter in which heap a timer is   3 is its own
 *           P one of them: takes P 0 instead   4 under sched.lock their queues go to the head of
 *           the global queue, `next` first, then parents, then the ring; who had one of them when
 *           it was taken does not get it back, and is held if it computes on (PROTOCOL preempt,
 *           sched/preempt/preempt.c)   5 returns the caches
 *           6 n_procs, steal_order, alone   7 starts the world: new ones are idle; wakes one
 * Readers   with a P, or under sched.lock, or the stopper: n_procs is exact. An M gets a P under
 *           sched.lock with the world running, or is given it back, by TK2 of PROTOCOL take; either
 *           way after 6. n_procs changes under sched.lock.
 *           without either: the monitor, threads that arm timers without a P, a looker's last look,
 *           counts. They go over all records that were made: who is DEAD has nothing to be found.
 * Edges     [RZ1] the record, all_p[i]   resizer: n_p store-release -> n_p load-acquire
 * Why no work is overlooked   a looker's last look may come while a queue is on its way: then its P
 *           was idle and is the resizer's. After the start P 0 or the resizer's own looks at the
 *           global queue in its turn, and step 7 wakes one to look if any other is idle.
 *           Work on a new P: who put it there is a submitter after 2, so a looker whose fence is
 *           later (ID1) sees n_p too.
 * Why no timer is overlooked   a thread without a P that chose the heap of a P that goes has its
 *           lock before the mover, and the timer moves; or after, and sees that it is closed.
 * Why the counts are right   births and ends of those who go stay in their records. PROTOCOL live
 *           reads n_p anew before the births: an end that was seen has its birth in one of these.
 * Why the monitor's notes need no care   `watch` is about one M at one place outside. It loses its
 *           P for good when that goes, and is at another place before it has one again. `asked`
 *           ends where it began: under lock `take`, which the stopper takes too unless all are
 *           idle, and then none is asked with success.
 * Rejected  freeing records (an M whose P was taken, a thief and the monitor remember them); a
 *           goroutine of weft's own that resizes for threads without one (it would count as one,
 *           may find no memory, and its caller would have to be told if the run ends first).
 * Tests     flow/sched/run/test_procs.c, flow/sched/run/test_procs_follow.c, sim scenarios
 *           resize_*, mutants resize-*.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/assert.h"
#include "base/window.h"
#include "sched/preempt/preempt.h"
#include "sched/sched.h"

#include "weft.h"

#include <errno.h>      /* -Exxx */

struct resize {
        int  n;                 /* what is asked for */
        bool follow;            /* and from now on what the machine has */
        bool only_followed;     /* nothing is to be done if somebody has set a number */
        int  old;               /* result */
};

/* ---- More ------------------------------------------------------------------------------------ */

static void bury_from(uint32_t first, uint32_t end)
{
        for (uint32_t i = first; i < end; i++)
                w_p_bury(w_sched.all_p[i]);
}

static void open_heaps(uint32_t first, uint32_t end)
{
        for (uint32_t i = first; i < end; i++)
                w_timers_open(&w_sched.all_p[i]->timers);
}

/* Heaps are opened last: from then on they may have timers, which could not be lost any more. */
static int add_ps(uint32_t old, uint32_t n)
{
        int rc = w_ps_make(n);

        for (uint32_t i = old; rc == 0 && i < n; i++) {
                struct p *pp = w_sched.all_p[i];

                rc = w_p_revive(pp);
                if (rc < 0)
                        bury_from(old, i);
                else
                        w_or_rlx(&pp->attention, W_ATTENTION_STOP);     /* hint */
        }
        if (rc == 0)
                open_heaps(old, n);
        return rc;
}

/* ---- Fewer ----------------------------------------------------------------------------------- */

/* The P that the timers of others go to; the resizer's own if that stays. */
static struct p *heir(uint32_t n)
{
        struct p *own = w_p();

        return own && own->id < n ? own : w_sched.all_p[0];
}

static int close_heaps(uint32_t old, uint32_t n)
{
        struct timers *to = &heir(n)->timers;

        for (uint32_t i = n; i < old; i++) {
                if (w_timers_close(&w_sched.all_p[i]->timers, to) == 0)
                        continue;
                open_heaps(n, i);
                return -ENOMEM;
        }
        return 0;
}

/* In the order in which its owner would have run them. */
static void give_queue_locked(struct p *pp)
{
        struct queue batch = { 0 };
        struct g    *gp = w_runq_pop_next(&pp->runq);

        if (gp)
                w_queue_push(&batch, &gp->link);
        while ((gp = w_parents_pop(&pp->parents)))
                w_queue_push(&batch, &gp->link);
        while ((gp = w_runq_pop_ring(&pp->runq)))
                w_queue_push(&batch, &gp->link);
        pp->next_is_parent = false;
        w_globq_put_first_locked(&batch);
}

/* Who had pp goes on without. It was not asked, and no P leads the monitor to it any more: if it
 * computes for another slice its thread is to be held. */
static void forget_last_owner_locked(struct p *pp)
{
        struct m *mp = pp->taken_from;

        pp->taken_from = NULL;
        if (mp && mp->lost_p == pp)
                w_preempt_arm_locked(mp, false);
}

/* The calling M goes on with another P, which is its own already: the world is stopped. */
static void move_to(struct p *pp)
{
        struct m *mp = w_m();

        (void)w_p_release(mp);
        w_p_acquire(mp, pp);
        forget_last_owner_locked(pp);
        w_store_rlx(&pp->status, P_STOPPED);                      /* own word */
}

static int remove_ps(uint32_t old, uint32_t n)
{
        int rc = close_heaps(old, n);

        if (rc < 0)
                return rc;
        w_lock(&w_sched.lock);
        if (w_p() && w_p() != heir(n))
                move_to(heir(n));
        for (uint32_t i = old; i-- > n;) {
                forget_last_owner_locked(w_sched.all_p[i]);
                give_queue_locked(w_sched.all_p[i]);
                W_ASSERT(w_p_has_no_work(w_sched.all_p[i]));
        }
        w_unlock(&w_sched.lock);
        W_WINDOW("resize-queues-given");
        bury_from(n, old);
        return 0;
}

/* ---- Either ---------------------------------------------------------------------------------- */

void w_procs_apply(uint32_t n)
{
        w_visit_steps_build(&w_sched.steal_order, n);
        for (uint32_t i = 0; i < n; i++)
                w_sched.all_p[i]->runq.alone = n == 1;
        w_lock(&w_sched.lock);
        w_store_rlx(&w_sched.n_procs, n);                         /* guarded by the lock */
        w_unlock(&w_sched.lock);
}

/* With the world stopped; on a large stack. */
static void resize(void *arg)
{
        struct resize *r = arg;
        uint32_t       old = w_n_procs(), n = (uint32_t)r->n;
        int            rc = 0;

        r->old = (int)old;
        if (r->only_followed && !w_load_rlx(&w_sched.follows))    /* guarded: one stopper */
                return;
        if (n > old)
                rc = add_ps(old, n);
        else if (n < old)
                rc = remove_ps(old, n);
        if (rc < 0) {
                r->old = rc;
                return;
        }
        if (n != old)
                w_procs_apply(n);
        w_store_rlx(&w_sched.follows, r->follow);                 /* guarded: one stopper */
}

static int resize_world(struct resize *r)
{
        if (!w_world_stop())
                return -ESHUTDOWN;
        w_on_g0(resize, r);
        w_world_start();
        return r->old;
}

int w_procs_set(int n)
{
        struct resize r = { .n = n == WEFT_PROCS_AUTO ? w_procs_found() : n,
                            .follow = n == WEFT_PROCS_AUTO };

        /* Only a stopper changes either, so this is so at one moment at least. */
        if (!r.follow && !w_load_rlx(&w_sched.follows) && (uint32_t)n == w_n_procs())   /* hint */
                return n;
        return resize_world(&r);
}

int w_procs_follow(int n)
{
        return resize_world(&(struct resize){ .n = n, .follow = true, .only_followed = true });
}

/* ---- Public ---------------------------------------------------------------------------------- */

W_EXPORT int weft_procs(int n)
{
        if (n != WEFT_PROCS_AUTO && (n < 0 || n > W_PROCS_MAX))
                return -EINVAL;
        if (!w_foreign_enter())
                return -ESHUTDOWN;
        W_ENTER();
        int old = n == 0 ? (int)w_n_procs() : w_procs_set(n);

        W_LEAVE();
        w_foreign_exit();
        return old;
}

/* The old limit; 0 as n changes nothing. */
static int limit_threads_locked(int n)
{
        int old = (int)w_sched.max_threads;

        if (n == 0)
                return old;
        if ((uint32_t)n < w_sched.n_m)
                return -EINVAL;
        w_sched.max_threads = (uint32_t)n;
        return old;
}

W_EXPORT int weft_max_threads(int n)
{
        if (n != 0 && (n < W_THREADS_MIN || n > W_THREADS_MAX))
                return -EINVAL;
        if (!w_foreign_enter())
                return -ESHUTDOWN;
        W_ENTER();
        w_lock(&w_sched.lock);
        int old = limit_threads_locked(n);

        w_unlock(&w_sched.lock);
        W_LEAVE();
        w_foreign_exit();
        return old;
}
