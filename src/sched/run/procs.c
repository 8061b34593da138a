/* sched/run/procs.c - more Ps or fewer while goroutines run, and how many threads there may be.
 *
 * PROTOCOL resize
 *
 * Goal      Between one goroutine and the next the number of Ps changes. No queued goroutine, timer
 *           or count is lost, and no thread touches memory that is gone.
 * Parties   resizer (the stopper of the world: a goroutine, or a thread without a goroutine);
 *           readers (every thread that reads Ps).
 * Words     n_procs       all_p[0 .. n_procs) are in use; changes under sched.lock
 *           n_p           how many records exist, >= n_procs. all_p[i] for i < n_p never changes
 *                         again. The Ps from n_procs on are DEAD: no M, nothing in their queues,
 *                         heap empty and closed, no caches. Their counters still count.
 *           steal_order, runq.alone   agree with n_procs
 *           follows       below, "Following the machine"
 * Resizer   1. Stop the world: the resizer has every P, no M searches for work, no timer fires.
 *           2. Add or remove Ps, as below.
 *           3. Set n_procs, steal_order, alone.
 *           4. Start the world: the new Ps are idle. Wake one M.
 * Add Ps    1. Make records, then n_p [RZ1].
 *           2. Revive each P: caches. No memory: bury the revived Ps again; nothing has changed.
 *           3. Open their heaps.
 * Remove Ps
 *           1. Close the heaps of the Ps that go. Their timers move to the resizer's own P, or to
 *              P 0. No memory: open the heaps again. It does not matter which heap has a timer.
 *           2. The resizer's own P goes: take P 0 instead.
 *           3. Under sched.lock move their queues to the head of the global queue: `next`, then
 *              parents, then the ring. An M that has lost such a P does not get it back, and is
 *              preempted if it computes on: PROTOCOL preempt (sched/preempt/preempt.c).
 *           4. Return the caches.
 * Readers   With a P, under sched.lock, or as the stopper: n_procs is exact. An M gets a P under
 *           sched.lock with the world running, or its P is given back by TK2 of PROTOCOL take. Both
 *           come after step 3 of the resizer.
 *           Without any of these (the monitor, threads that arm timers without a P, the last scan
 *           of a spinner, counts): read all records that exist. In a DEAD P there is nothing to
 *           find.
 * Edges     [RZ1] the record, all_p[i]   resizer: n_p store-release -> reader: n_p load-acquire
 * Why no work is missed   A spinner's last scan may come while a queue is being moved. Then its P
 *           was idle and the resizer has it. After the start P 0, or the resizer's own P, takes
 *           from the global queue in its turn. Step 4 wakes an M to search if another P is idle.
 *           The submitter of work on a new P comes after step 1 of Add Ps. So a spinner that passes
 *           its fence later (ID1) sees n_p too.
 * Why no timer is missed   A thread without a P may have chosen the heap of a P that goes. If it
 *           has the lock of the heap before the move, its timer moves. If it has the lock after the
 *           move, it sees a closed heap.
 * Why the counts are right   Births and ends that a removed P counted stay in its record. PROTOCOL
 *           live reads n_p again before it sums the births: if it saw an end, one of these records
 *           has the birth.
 * Why the monitor's data need no care   A sample is about one M at one epoch in user code. An M
 *           that loses a removed P is in another epoch before it has a P again. pp.asked is set and
 *           cleared under lock `take`. The stopper takes that lock too, unless all Ps are idle;
 *           then no request succeeds.
 * Rejected  Freeing records: an M that has lost its P, a thief and the monitor remember them. A
 *           goroutine of the runtime that resizes for threads without a goroutine: it would count
 *           as a goroutine, and there may be no memory for it. If the run ended first, its caller
 *           would have to be told.
 * Tests     flow/sched/run/test_procs.c, flow/sched/run/test_procs_follow.c, sim scenarios
 *           resize_*, mutants resize-*.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/run/procs.h"

#include "base/assert.h"
#include "base/window.h"
#include "sched/monitor/sysmon.h"
#include "sched/preempt/preempt.h"
#include "sched/queue/globq.h"
#include "sched/run/foreign.h"
#include "sched/run/world.h"
#include "sched/sched.h"
#include "sched/switch.h"
#include "weft.h"

#include <errno.h>      /* -Exxx */

struct resize {
        int  n;                 /* the number of Ps requested */
        bool follow;            /* follow the machine from now on */
        bool only_followed;     /* do nothing if the program has set a number */
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

/* Opens the heaps last: an open heap may have timers, and these must not be lost. */
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

/* The P that gets the timers of removed Ps: the resizer's own P if that stays, else P 0. */
static struct p *receiver(uint32_t n)
{
        struct p *own = w_p();

        return own && own->id < n ? own : w_sched.all_p[0];
}

static int close_heaps(uint32_t old, uint32_t n)
{
        struct timers *to = &receiver(n)->timers;

        for (uint32_t i = n; i < old; i++) {
                if (w_timers_close(&w_sched.all_p[i]->timers, to) == 0)
                        continue;
                open_heaps(n, i);
                return -ENOMEM;
        }
        return 0;
}

/* Moves the queue of pp to the global queue, in the order in which its owner would have run it. */
static void move_queue_locked(struct p *pp)
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

/* The M that had pp runs on without a P. It was not asked to stop, and no P leads the monitor to it
 * any more. So its timer is armed: it is preempted if it computes for another slice. */
static void drop_last_owner_locked(struct p *pp)
{
        struct m *mp = pp->taken_from;

        pp->taken_from = NULL;
        if (mp && mp->lost_p == pp)
                w_preempt_arm_locked(mp, false);
}

/* The calling M continues with pp. The world is stopped, so no other M has pp. */
static void move_to(struct p *pp)
{
        struct m *mp = w_m();

        (void)w_p_release(mp);
        w_p_acquire(mp, pp);
        drop_last_owner_locked(pp);
        w_store_rlx(&pp->status, P_STOPPED);                      /* own word */
}

static int remove_ps(uint32_t old, uint32_t n)
{
        int rc = close_heaps(old, n);

        if (rc < 0)
                return rc;
        w_lock(&w_sched.lock);
        if (w_p() && w_p() != receiver(n))
                move_to(receiver(n));
        for (uint32_t i = old; i-- > n;) {
                drop_last_owner_locked(w_sched.all_p[i]);
                move_queue_locked(w_sched.all_p[i]);
                W_ASSERT(w_p_has_no_work(w_sched.all_p[i]));
        }
        w_unlock(&w_sched.lock);
        W_WINDOW("resize-queues-given");
        bury_from(n, old);
        return 0;
}

/* ---- More or fewer --------------------------------------------------------------------------- */

void w_procs_apply(uint32_t n)
{
        w_visit_steps_build(&w_sched.steal_order, n);
        for (uint32_t i = 0; i < n; i++)
                w_sched.all_p[i]->runq.alone = n == 1;
        w_lock(&w_sched.lock);
        w_store_rlx(&w_sched.n_procs, n);                         /* guarded by the lock */
        w_unlock(&w_sched.lock);
}

/* Context: the world is stopped; on a large stack. */
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

        /* Only a stopper changes the two words, so both had these values at some moment. */
        if (!r.follow && !w_load_rlx(&w_sched.follows) && (uint32_t)n == w_n_procs())   /* hint */
                return n;
        return resize_world(&r);
}

int w_procs_set_found(int n)
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

/* Returns the old limit. n 0 changes nothing. */
static int limit_threads_locked(int n)
{
        int old = (int)w_sched.threads.max;

        if (n == 0)
                return old;
        if ((uint32_t)n < w_sched.n_m)
                return -EINVAL;
        w_sched.threads.max = (uint32_t)n;
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

/* ---- Following the machine ------------------------------------------------------------------- */

/* Two things may change while a program runs: the CPUs that its threads may use, and the CPU limits
 * of its cgroup and of the cgroups around that. They are checked only if no number was set: neither
 * by the code, nor by WEFT_PROCS, nor by weft_procs since.
 *
 * The monitor itself stops the world and changes the number. That needs no goroutine, so none is
 * counted, and none remains if the run ends meanwhile. With every P idle the monitor sleeps, and
 * checks when a P is used again. */
enum { CHECK_EVERY_NS = 1000000000 };

/* Reads the CPUs of the monitor's thread, because a program may bind its other threads to CPUs.
 * Before the monitor exists: the CPUs of the caller, from which the monitor inherits. */
int w_procs_found(void)
{
        int cpus = w_os_cpu_count(w_sysmon_tid()), quota = w_os_cpu_quota();

        if (quota > 0 && quota < cpus)
                cpus = quota;
        return cpus < W_PROCS_MAX ? cpus : W_PROCS_MAX;
}

void w_procs_follow_begin(int64_t now)
{
        w_sched.sysmon.follow_at = now + CHECK_EVERY_NS;
}

/* Tries again in a second if there was no memory. */
uint32_t w_procs_follow(int64_t now)
{
        if (W_LIKELY(now < w_sched.sysmon.follow_at))
                return 0;
        w_sched.sysmon.follow_at = now + CHECK_EVERY_NS;
        if (!w_load_rlx(&w_sched.follows))                        /* hint: checked again */
                return 0;
        int n = w_procs_found();

        return (uint32_t)n != w_n_procs() && w_procs_set_found(n) > 0;
}
