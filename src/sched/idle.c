/* sched/idle.c - step 8: spinning, releasing a P, waking an M for new work.
 *
 * PROTOCOL idle
 *
 * Goal      Runnable work never waits beside an idle P without a spinner. No more Ms spin than are
 *           useful.
 * Parties   submitter (any thread), spinner (an M that holds a P and searches), releaser (an M that
 *           found no work and releases its P), sleeper (a releaser that goes to sleep).
 * Words     n_spinning: how many Ms spin. n_idle_p: how many Ps are idle. need_spinning: a
 *           submitter found no idle P; it only spares releasers the scan of all queues. The queues.
 *           next_at of each heap of timers: a timer that is due is work; a later one concerns
 *           sleepers only.
 * Submit one goroutine
 *           1. Publish it to a queue.
 *           2. Full fence [ID1].
 *           3. n_spinning > 0: done. A spinner will find it.
 *           4. n_idle_p == 0: set need_spinning, full fence [ID2], read n_idle_p again. Still 0:
 *              done. The next releaser sees need_spinning.
 *           5. CAS n_spinning 0 -> 1; lost: done. Under sched.lock take an idle P, then start a
 *              spinning M on it. No idle P left: under the lock set need_spinning, undo the CAS.
 * Submit many, with a P (sched/ready.c)
 *           1. Under sched.lock take the idle Ps; publish one goroutine for each to the global
 *              queue.
 *           2. Put the rest into the own ring; overflow goes to the global queue.
 *           3. Start an M for each P taken. It does not spin: there is work for it.
 *           4. Act as the submitter of one goroutine: another P may have become idle meanwhile.
 *           Without a P all goroutines go to the global queue in step 1; then steps 3 and 4.
 * Yield     takes a goroutine out of the queue and puts its own in; a scan in between finds
 *           nothing.
 *           1. Put its own goroutine into the queue.
 *           2. Full fence [ID1].
 *           3. n_idle_p > 0: act as a submitter.
 * Release a P, under sched.lock
 *           1. The global queue is not empty: keep the P and search again.
 *           2. Put the P into the idle list, n_idle_p + 1.
 *           3. Full fence [ID2].
 *           4. need_spinning is set and the M did not spin: take a P back and search. The same if
 *              an M is preempted: PROTOCOL preempt (sched/preempt/preempt.c).
 *           5. Without the lock: an M that did not spin, because enough Ms did, finds n_spinning 0:
 *              it scans as in Stop spinning, from step 2. An M that hands its P off, PROTOCOL take
 *              (sched/preempt/take.c), has not searched and does not sleep; it does this step too,
 *              and reads every next_at.
 * Stop spinning
 *           With work found: n_spinning - 1, then act as a submitter. The M may have been the only
 *           spinner, and there may be more work.
 *           Without work: release the P, then
 *           1. n_spinning - 1.
 *           2. Full fence [ID1].
 *           3. Scan all queues. Work found and a P idle: take the P and search again.
 * Sleep     has passed one of these fences. Read every next_at: PROTOCOL timekeeper
 *           (sched/timer/timekeeper.c). A timer is due and a P idle: take the P and search again.
 * Edges     [ID1] queues <-> n_spinning         submitter's fence <-> spinner's fence
 *                 queues <-> n_idle_p           yielder's fence <-> spinner's fence, or the fence
 *                                               of an M that hands its P off
 *           [ID2] need_spinning <-> n_idle_p    submitter's fence <-> releaser's fence
 * Why nothing is lost   ID1: of submitter and spinner, the party with the later fence sees the
 *           first step of the other. So the submitter sees that no M spins, or the spinner sees the
 *           work. ID2: the submitter sees the releaser's idle P, or the releaser sees
 *           need_spinning. An M that clears need_spinning scans everything afterwards, so it sees
 *           what was published before the word was set. If no thread is available for that scan,
 *           the next releaser scans. Without need_spinning nothing is lost either: every P that
 *           becomes idle was released by an M that scanned afterwards, or that saw a spinner.
 * Not covered   the global queue: every releaser reads it under sched.lock.
 * Rejected  one thread per ready (thrashing); handing the goroutine over (loses locality).
 * Tests     sim scenarios sched_idle, sched_foreign, sched_leave, sched_many*, mutants sched-*,
 *           flow/sched/test_parallel.c, flow/sched/test_wake_batch.c; windows spin-to-idle,
 *           batch-shared.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/idle.h"

#include "base/assert.h"
#include "base/window.h"
#include "sched/monitor/sysmon.h"
#include "sched/preempt/preempt.h"
#include "sched/sched.h"
#include "sched/thread/sleep.h"
#include "sched/thread/thread.h"

/* ---- Ps in the idle list --------------------------------------------------------------------- */

static void count_idle_p(uint32_t n)
{
        w_store_rlx(&w_sched.n_idle_p, n);                        /* guarded by ID2 and the lock */
}

void w_idle_p_put_locked(struct p *pp)
{
        W_ASSERT(w_lock_held(W_LOCK_sched));
        W_ASSERT(w_p_has_no_work(pp));
        w_store_rlx(&pp->status, P_IDLE);                         /* guarded by the lock */
        pp->idle_next = w_sched.idle_p;
        w_sched.idle_p = pp;
        count_idle_p(w_load_rlx(&w_sched.n_idle_p) + 1);          /* own word: under the lock */
}

struct p *w_idle_p_get_locked(void)
{
        struct p *pp = w_sched.idle_p;

        W_ASSERT(w_lock_held(W_LOCK_sched));
        if (!pp)
                return NULL;
        w_sched.idle_p = pp->idle_next;
        pp->idle_next = NULL;
        w_sysmon_awaken_locked();
        count_idle_p(w_load_rlx(&w_sched.n_idle_p) - 1);          /* own word: under the lock */
        return pp;
}

/* Moves the P to the front of the list, then takes it. */
struct p *w_idle_p_get_timed_locked(void)
{
        struct p **first = &w_sched.idle_p;

        W_ASSERT(w_lock_held(W_LOCK_sched));
        if (!*first)
                return NULL;
        for (struct p **at = &(*first)->idle_next; *at; at = &(*at)->idle_next)
                if (w_timers_next_at(&(*at)->timers) < w_timers_next_at(&(*first)->timers))
                        first = at;
        struct p *pp = *first;

        *first = pp->idle_next;
        pp->idle_next = w_sched.idle_p;
        w_sched.idle_p = pp;
        return w_idle_p_get_locked();
}

/* ---- Spinning -------------------------------------------------------------------------------- */

void w_spin_begin(struct m *mp)
{
        W_ASSERT(!mp->spinning && mp->p);
        mp->spinning = true;
        w_add_rlx(&w_sched.n_spinning, 1);                        /* guarded by ID1 */
        w_store_rlx(&w_sched.need_spinning, 0);                   /* guarded by ID2 */
}

static void spin_end(struct m *mp)
{
        W_ASSERT(mp->spinning);
        mp->spinning = false;
        uint32_t before = w_sub_rlx(&w_sched.n_spinning, 1);      /* guarded by ID1 */

        W_CHECK(before > 0, "negative number of spinning threads");
}

void w_spin_end_found(struct m *mp)
{
        spin_end(mp);
        w_wake_one();
}

/* ---- Waking ---------------------------------------------------------------------------------- */

static W_NOINLINE void wake_slow(void)
{
        uint32_t none = 0;

        if (!w_cas_rlx(&w_sched.n_spinning, &none, 1))            /* guarded by ID1 */
                return;
        w_lock(&w_sched.lock);
        bool      stopping = w_load_rlx(&w_sched.world.stopping);    /* hint */
        struct p *pp = stopping ? NULL : w_idle_p_get_locked();

        if (!pp) {
                w_store_rlx(&w_sched.need_spinning, 1);           /* guarded by the lock */
                w_sub_rlx(&w_sched.n_spinning, 1);                /* guarded by ID1 */
        }
        w_unlock(&w_sched.lock);
        if (pp)
                w_thread_for(pp, true);
}

void w_wake_one_slow(void)
{
        w_fence_full();                                           /* [ID1] */
        if (w_load_rlx(&w_sched.n_spinning) != 0)                 /* guarded by ID1 */
                return;
        if (w_load_rlx(&w_sched.n_idle_p) == 0) {                 /* guarded by ID2 */
                if (w_load_rlx(&w_sched.need_spinning))           /* guarded by ID2 */
                        return;
                w_store_rlx(&w_sched.need_spinning, 1);           /* guarded by ID2 */
                w_fence_full();                                   /* [ID2] */
                if (w_load_rlx(&w_sched.n_idle_p) == 0)           /* guarded by ID2 */
                        return;         /* the next releaser will see need_spinning */
        }
        wake_slow();
}

/* ---- Releasing and sleeping ----------------------------------------------------------------- */

/* Releases the P. False: there was a reason not to, and mp still holds a P. */
static bool release_p(struct m *mp)
{
        w_lock(&w_sched.lock);
        if (w_load_rlx(&w_sched.world.stopping) || w_sched.globq.n) {   /* hint */
                w_unlock(&w_sched.lock);
                return false;
        }
        w_idle_p_put_locked(w_p_release(mp));
        w_fence_full();                                           /* [ID2][HG1] */
        bool wanted = !mp->spinning && w_load_rlx(&w_sched.need_spinning);      /* guarded by ID2 */
        bool preempted = w_preempt_any_locked();

        if (wanted || preempted)
                w_p_acquire(mp, w_idle_p_get_locked());
        w_unlock(&w_sched.lock);
        if (wanted)
                w_spin_begin(mp);
        return !wanted && !preempted;
}

bool w_any_queue_has_work(void)
{
        if (w_load_rlx(&w_sched.n_globq) != 0)                    /* guarded by ID1 */
                return true;
        for (uint32_t i = 0; i < w_n_p(); i++)
                if (!w_p_has_no_work(w_sched.all_p[i]))
                        return true;
        return false;
}

/* The last scan, without a P. An M that was not allowed to spin may skip it if another M spins:
 * that M scans all queues before it stops. True: mp has a P again and spins. */
static bool scan_again(struct m *mp)
{
        bool was_spinning = mp->spinning;

        if (was_spinning)
                spin_end(mp);
        W_WINDOW("spin-to-idle");
        w_fence_full();                                           /* [ID1] */
        if (!was_spinning && w_load_rlx(&w_sched.n_spinning) != 0) /* guarded by ID1 */
                return false;
        if (!w_any_queue_has_work())
                return false;
        w_lock(&w_sched.lock);
        bool      stopping = w_load_rlx(&w_sched.world.stopping);    /* hint */
        struct p *pp = stopping ? NULL : w_idle_p_get_locked();

        w_unlock(&w_sched.lock);
        if (!pp)
                return false;
        w_p_acquire(mp, pp);
        w_spin_begin(mp);
        return true;
}

bool w_idle(struct m *mp)
{
        if (!release_p(mp))
                return true;
        if (scan_again(mp))
                return true;
        w_g_check_last();
        return w_thread_sleep(mp);
}
