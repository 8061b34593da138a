/* sched/preempt/preempt.c - goroutines that compute without calling weft take turns on the Ps.
 *
 * Protocols   owns preempt; cites take (sched/preempt/take.c), idle (sched/idle.c), sysmon
 *             (sched/monitor/sysmon.c).
 *
 * An M loses its P if its goroutine computes for long (sched/monitor/retake.c). Then its thread is
 * stopped where it is, in a signal handler; otherwise more threads would run than there are Ps. The
 * preempted M waits in a queue and gets a P in its turn, like a runnable goroutine. Its turn comes
 * after the P's own queue and the global queue. Now and then the preempted M comes before these
 * queues, but not within 10 ms of the end of such a turn. The handler switches no context, and
 * nothing moves to another thread at an arbitrary instruction.
 *
 * PROTOCOL preempt
 *
 * Goal      No more threads run user code than there are Ps, except for short times. No M stays
 *           preempted while a P is idle, nor for ever. A preempted M holds no lock of the runtime.
 * Parties   M, in its signal handler (sched/preempt/preempt_handler.c); monitor; granter, which has
 *           a P and sched.lock; releaser of PROTOCOL idle; giver of PROTOCOL take; stopper, which
 *           ends the run.
 * Words     m.grant   NONE      not in the queue
 *                     QUEUED    in the queue, or about to be; the thread runs
 *                     WAITING   in the queue; the thread is stopped
 *                     CLAIMED   out of the queue; a P is about to be granted
 *                     GRANTED   out of the queue; the thread goes on
 *           sched.preempt.stack: Ms that handlers push and granters take off.  sched.preempt.queue,
 *           under sched.lock.  n, a hint; n_grants, n_starved, off.  m.retake, n_idle_p.
 * Monitor   1. Asks an M that computes to stop, before it takes the P.
 *           2. Waits for the stop up to 5 ms, or up to 20 ms while the M gets no CPU. The M stops
 *              with its P and loses the P next. If the P is not taken, the M goes on.
 *           3. n_starved + 1 if an M that has a P gets no CPU.
 *           4. Arms the timer of each M that computes in state LOST: such an M has entered for a
 *              call that needs no P, and has left again.
 * M         In user code, with m.retake TAKEN or LOST, or asked to stop:
 *           1. Goroutine RUNNING -> PREEMPTED.
 *           2. Unless still queued: grant NONE -> QUEUED, and push the M on the stack [HG2]. Then
 *              QUEUED -> WAITING. CAS fails: a granter took the M out of the queue; do step 2
 *              again.
 *           3. [HG1] full fence.
 *           4. No reason to stop any more, or a P is idle and the M still has its own: go to 6 at
 *              once. A P is idle and the M has none: request a round of the monitor, which then is
 *              a granter (PROTOCOL sysmon).
 *           5. Sleep until GRANTED [HG3]. grant := NONE; start a new epoch in user code. The M has
 *              a P, unless the stopper released it.
 *           6. No M was granted a P for 50 ms, and not for lack of a CPU (n_starved changed; ten
 *              times in a row at most): grant WAITING -> QUEUED. The M goes on without a P, and is
 *              not stopped for its next 10 ms of CPU time. CAS fails: go to 5.
 * Granter   Under sched.lock:
 *           1. Moves the stack to the end of the queue, oldest M first [HG2].
 *           2. Takes out the first M. grant QUEUED -> NONE: takes the next M. WAITING -> CLAIMED:
 *              goes on with this M.
 *           3. m.retake TAKEN or LOST -> NONE: m.p := the P. CAS fails: the M has its P already,
 *              and the granter keeps this P.
 *           4. grant := GRANTED [HG3]; wakes the thread.
 * Releaser  1. n_idle_p + 1.
 *           2. [HG1] full fence.
 *           3. An M in the queue or on the stack is WAITING: takes the P back and grants it.
 * Giver     1. m.retake TAKEN -> NONE.
 *           2. [HG1] full fence.
 *           3. grant WAITING -> CLAIMED: takes the M out of the queue; GRANTED; wakes the thread.
 * Stopper   Under sched.lock:
 *           1. off := 1.
 *           2. [HG1] full fence.
 *           3. Every WAITING M goes on without a P. The end of the run waits for these Ms, and no M
 *              gets a P any more.
 * Edges     [HG1] grant <-> n_idle_p,   M: CAS grant, fence, load <-> releaser, giver, stopper:
 *                 retake, off           store, fence, load grant
 *           [HG2] the M's record        push: CAS-release on the stack -> granter: xchg-acquire
 *           [HG3] m.p                   granter: grant store-release -> M: load-acquire
 * Why no M stays preempted beside an idle P   By [HG1] the M sees the P and requests a round of the
 *           monitor, or the releaser sees the M. The M does not go on by itself: a handler cannot
 *           take a P, and any number of Ms without a P would run beside one P that stays idle.
 * Why no M stays preempted for ever   Each sleep is bounded. Another sleep follows if an M was
 *           granted a P meanwhile: then the queue moves. Otherwise another sleep follows only if
 *           the Ms with a P got no CPU, ten times at most. If running Ms need a lock of the program
 *           that a preempted M holds, they block and lose their Ps. The first such P is granted to
 *           a preempted M.
 * Why an M is granted one P   Only a CAS from WAITING leads to CLAIMED, and only the M itself
 *           leaves GRANTED.
 * Rejected  tgkill: it interrupts system calls of threads that block. A context switch in the
 *           handler: the code that was stopped would move to another thread, and libraries keep
 *           locks and thread-local state. In step 6 a wait of 20 ms whatever happens: ten
 *           goroutines that compute would keep three CPUs busy with one P.
 * Tests     flow/sched/preempt/test_preempt.c, flow/sched/preempt/test_preempt_thread_count.c, sim
 *           scenarios preempt_*, mutants preempt-*.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/preempt/preempt.h"

#include "base/assert.h"
#include "base/window.h"
#include "sched/idle.h"
#include "sched/preempt/take.h"
#include "sched/run/abandon.h"
#include "sched/sched.h"
#include "weft.h"

enum { AT_ONCE_NS = 1, SLICE_NS = 10000000 };

/* ---- Making sure of the signal --------------------------------------------------------------- */

int w_preempt_start(void)
{
        w_list_init(&w_sched.preempt.queue);
        if (w_sched.config.preempt != WEFT_PREEMPT_ALL)
                return 0;
        int rc = w_os_preempt_watch(w_sched.config.preempt_signal, w_preempt_on_signal);

        if (rc < 0)
                return rc;
#if defined(W_TSAN)     /* delays signals until the thread makes a call: no M can be preempted */
        w_os_preempt_unwatch();
#else
        w_sched.preempt.watches_signal = w_sched.preempt.allowed = true;
#endif
        return 0;
}

/* An abandoned thread may still receive the signal. Its default action may end the process. */
void w_preempt_stop(void)
{
        if (w_sched.preempt.watches_signal && !w_abandon_any())
                w_os_preempt_unwatch();
        w_sched.preempt.watches_signal = w_sched.preempt.allowed = false;
}

/* False: the program has replaced the handler. Then Ms that compute run on beside other Ms. The
 * monitor reports that without the lock, because the reader of stderr may be slow. */
static bool has_signal(void)
{
        if (w_os_preempt_is_watched())
                return true;
        w_sched.preempt.allowed = false;
        return false;
}

void w_preempt_report_once(void)
{
        if (w_sched.preempt.allowed || !w_sched.preempt.watches_signal ||
            w_sched.preempt.reported_signal)
                return;
        w_sched.preempt.reported_signal = true;
        w_say("the handler of signal %d was replaced by the program; goroutines that compute can "
              "no longer be preempted",
              w_sched.config.preempt_signal);
}

/* If mp can get no timer, it runs on. */
void w_preempt_arm_locked(struct m *mp, bool computes)
{
        W_ASSERT(w_lock_held(W_LOCK_sched));
        if (!w_sched.preempt.allowed || !has_signal())
                return;
        if (!mp->timer.made &&
            w_os_cpu_timer_make(&mp->timer, (int)w_load_rlx(&mp->tid)) < 0)     /* guarded: out */
                return;
        w_os_cpu_timer_arm(&mp->timer, computes ? AT_ONCE_NS : SLICE_NS);
}

/* mp does not end meanwhile: the lock is held, and mp has pp. */
void w_preempt_ask(struct p *pp, struct m *mp)
{
        w_lock(&w_sched.lock);
        if (w_load_rlx(&pp->m) == mp) {                           /* guarded by the lock */
                w_store_rlx(&mp->preempt_wanted, 1);                 /* hint */
                w_preempt_arm_locked(mp, true);
        }
        w_unlock(&w_sched.lock);
}

void w_preempt_unask(struct m *mp)
{
        w_store_rlx(&mp->preempt_wanted, 0);                         /* hint */
}

/* An M that is still in the queue went on by itself, and may use up its 10 ms. */
static bool computes_without_p_locked(struct m *mp)
{
        uint32_t retake = w_load_rlx(&mp->retake) & ~(uint32_t)W_RETAKE_FENCED;       /* hint */
        uint32_t where = w_load_rlx(&mp->where);                    /* hint: the handler decides */

        return mp->lost_p && retake == W_RETAKE_LOST && w_where_is_user(where) &&
               !(where & (W_IN_REGION | W_IN_NOPREEMPT)) &&
               w_load_rlx(&mp->grant) == W_GRANT_NONE;            /* hint */
}

/* An M that computes without a P does not end while the lock is held: it takes the lock first. */
void w_preempt_arm_lost(int64_t now)
{
        if (!w_sched.preempt.allowed || now < w_sched.sysmon.arm_lost_at)
                return;
        w_sched.sysmon.arm_lost_at = now + SLICE_NS;
        w_lock(&w_sched.lock);
        if (w_sched.n_lost)
                W_LIST_EACH(n, &w_sched.all_m) {
                        struct m *mp = W_CONTAINER_OF(n, struct m, all_link);

                        if (computes_without_p_locked(mp))
                                w_preempt_arm_locked(mp, true);
                }
        w_unlock(&w_sched.lock);
}

/* ---- The queue ------------------------------------------------------------------------------- */

static struct m *m_of_link(struct list_node *n)
{
        return W_CONTAINER_OF(n, struct m, preempt_link);
}

void w_preempt_push(struct m *mp)
{
        struct m *top = w_load_rlx(&w_sched.preempt.stack);             /* guarded by the CAS */

        do {
                w_store_rlx(&mp->preempt_next, top);              /* guarded by HG2 */
        } while (!w_cas_rel(&w_sched.preempt.stack, &top, mp));         /* [HG2] */
}

/* The stack begins with the newest M: each M is put before the M that was pushed after it. */
static void enlist_preempted_locked(void)
{
        struct list_node *at = &w_sched.preempt.queue;

        if (!w_load_rlx(&w_sched.preempt.stack))                        /* hint: HG1 orders it */
                return;
        struct m *mp = w_xchg_acq(&w_sched.preempt.stack, NULL);        /* [HG2] */

        for (; mp; mp = w_load_rlx(&mp->preempt_next)) {          /* guarded by HG2 */
                w_list_insert_before(at, &mp->preempt_link);
                at = &mp->preempt_link;
        }
}

/* mp has been taken out of the queue. It may move between QUEUED and WAITING at any time. */
static bool claim(struct m *mp)
{
        for (;;) {
                if (w_grant_move(mp, W_GRANT_WAITING, W_GRANT_CLAIMED))
                        return true;
                if (w_grant_move(mp, W_GRANT_QUEUED, W_GRANT_NONE))
                        return false;
        }
}

static struct m *claim_oldest_locked(void)
{
        enlist_preempted_locked();
        for (struct list_node *n; (n = w_list_pop_front(&w_sched.preempt.queue));)
                if (claim(m_of_link(n)))
                        return m_of_link(n);
        return NULL;
}

static void wake_granted(struct m *mp)
{
        w_add_rlx(&w_sched.preempt.n_grants, 1);                          /* counter */
        w_store_rel(&mp->grant, W_GRANT_GRANTED);                   /* [HG3] */
        W_WINDOW("preempt-granted");
        w_os_futex_wake(&mp->grant, 1);
}

bool w_preempt_any_locked(void)
{
        W_ASSERT(w_lock_held(W_LOCK_sched));
        enlist_preempted_locked();
        W_LIST_EACH(n, &w_sched.preempt.queue)
                if (w_load_acq(&m_of_link(n)->grant) == W_GRANT_WAITING)  /* [HG3] */
                        return true;
        return false;
}

/* ---- Granting -------------------------------------------------------------------------------- */

bool w_preempt_grant_locked(struct p *pp)
{
        W_ASSERT(w_lock_held(W_LOCK_sched) && !w_load_rlx(&w_sched.world.stopping));  /* guarded */
        for (struct m *mp; (mp = claim_oldest_locked());) {
                bool given = w_give_to_preempted_locked(pp, mp);

                wake_granted(mp);
                if (given)
                        return true;
        }
        return false;
}

void w_preempt_release_locked(struct m *mp)
{
        w_fence_full();                                           /* [HG1] */
        if (!w_grant_move(mp, W_GRANT_WAITING, W_GRANT_CLAIMED))
                return;
        enlist_preempted_locked();
        w_list_unlink(&mp->preempt_link);
        wake_granted(mp);
}

void w_preempt_end_locked(void)
{
        W_ASSERT(w_lock_held(W_LOCK_sched));
        w_store_rlx(&w_sched.preempt.off, 1);                       /* guarded by HG1 */
        w_fence_full();                                           /* [HG1] */
        for (struct m *mp; (mp = claim_oldest_locked());)
                wake_granted(mp);
}

void w_preempt_forget_locked(struct m *mp)
{
        W_ASSERT(w_lock_held(W_LOCK_sched));
        if (w_load_rlx(&mp->grant) == W_GRANT_NONE)               /* own word: its thread ends */
                return;
        enlist_preempted_locked();
        w_list_unlink(&mp->preempt_link);
        w_store_rlx(&mp->grant, W_GRANT_NONE);                    /* guarded by the lock */
}

/* The preempted Ms may have gone on by themselves since w_preempt_any_locked(). */
static bool grant_own_p_locked(struct m *mp)
{
        struct p *pp = w_p_release(mp);

        if (w_preempt_grant_locked(pp))
                return true;
        w_p_acquire(mp, pp);
        return false;
}

bool w_preempt_serve(struct m *mp)
{
        w_lock(&w_sched.lock);
        bool any = !w_load_rlx(&w_sched.world.stopping) && w_preempt_any_locked();  /* guarded */
        bool given = any && grant_own_p_locked(mp);

        w_unlock(&w_sched.lock);
        return given;
}

/* An M that is preempted while pp is out of the idle list sees no idle P. Therefore this function
 * looks again after it has put pp back, as a releaser does. */
static bool serve_idle_locked(void)
{
        while (w_preempt_any_locked()) {
                struct p *pp = w_idle_p_get_locked();

                if (!pp)
                        return false;
                if (w_preempt_grant_locked(pp))
                        return true;
                w_idle_p_put_locked(pp);
                w_fence_full();                                   /* [HG1][ID2] */
        }
        return false;
}

uint32_t w_preempt_serve_idle(void)
{
        if (W_LIKELY(!w_preempt_any()) || !w_load_rlx(&w_sched.n_idle_p))           /* hint */
                return 0;
        w_lock(&w_sched.lock);
        bool served = !w_load_rlx(&w_sched.world.stopping) && serve_idle_locked();    /* guarded */
        bool missed = !served && w_load_rlx(&w_sched.need_spinning);      /* guarded by ID2 */

        w_unlock(&w_sched.lock);
        if (missed)             /* a submitter saw no idle P while pp was out of the list */
                w_wake_one();
        return served;
}
