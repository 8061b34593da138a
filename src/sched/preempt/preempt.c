/* sched/preempt/preempt.c - goroutines that compute without calling weft take turns on the Ps.
 *
 * Called by   retake (a P was taken), find, idle, take and sysmon (a P is free), run.
 * Protocols   owns preempt; cites take (sched/preempt/take.c), idle (sched/idle.c).
 *
 * Who computes on and on loses its P (sched/monitor/retake.c), and then its thread is held where it
 * is, in a signal handler: else more threads would run than there are Ps. Held threads stand in a
 * queue of their own, and get a P in their turn like goroutines that are ready: after the P's own
 * queue and the global one, and now and then before them, but not within 10 ms of such a turn's
 * end. No context is switched in the handler, and nothing moves to another thread at an arbitrary
 * instruction.
 *
 * PROTOCOL preempt
 *
 * Goal      no more threads run user code than there are Ps, but for short whiles; nobody is held
 *           while a P is idle, nor for ever; who is held holds no lock of weft's.
 * Parties   M (its handler, sched/preempt/preempt_handler.c); granter (has a P in its hands, and
 *           sched.lock); giver of PROTOCOL take.
 * Words     m.grant: NONE, not listed. GONE: listed, or about to be; not held. WAIT: listed, held.
 *           CLAIMED: not listed, about to go on. GIVEN: not listed, goes on.
 *           held: a stack of Ms, pushed by handlers, emptied by granters. hogs: the queue, under
 *           sched.lock.  n_held, a hint.  n_grants, n_starved.  m.flag, n_idle_p.
 * Monitor   asks before it takes the P of one that computes, and waits up to 5 ms for it to be
 *           held, up to 20 ms while it gets no CPU. It is so with its P then, and loses that next;
 *           or, if nobody takes it, goes on. n_starved + 1 if one that has a P gets no CPU.
 *           Arms the timer of whose flag is LOST: it came back for a call that needs no P
 * M         outside, and its flag TAKEN or LOST, or it was asked: 1 its goroutine RUNNING ->
 *           PREEMPTED
 *           2 grant NONE -> GONE and its record on the stack [HG2], unless it is listed still; GONE
 *           -> WAIT; fails: it was taken off, again   3 [HG1] full fence   4 neither of the two
 *           any more, or an idle P and one of its own: 6 at once; an idle P: calls the monitor,
 *           a granter then (PROTOCOL sysmon, sched/monitor/sysmon.c)   5 sleeps until GIVEN [HG3]:
 *           grant := NONE; it has a P, unless the ender let it go; a new stay outside begins   6
 *           nobody was granted anything for 50 ms, and that is not for want of a CPU (n_starved;
 *           ten times at most): grant WAIT -> GONE, goes on without a P, and is not held for the
 *           next 10 ms of its CPU time; fails: 5
 * Granter   under sched.lock: 1 the stack to the end of the queue, oldest first [HG2]   2 takes out
 *           the first: grant GONE -> NONE, and the next; or WAIT -> CLAIMED   3 flag TAKEN or
 *           LOST -> NONE: m.p := the P; fails: the M has its P already, and the granter keeps this
 *           one   4 grant := GIVEN [HG3], wake
 * Leaver    of PROTOCOL idle: 1 n_idle_p + 1   2 [HG1] full fence   3 anyone with WAIT in the
 *           queue or on the stack: takes the P back and grants
 * Giver     1 flag TAKEN -> NONE   2 [HG1] full fence   3 grant WAIT -> CLAIMED: out of the queue,
 *           GIVEN, wake
 * Ender     of the run, under sched.lock: 1 preempt_off := 1   2 [HG1] full fence   3 everyone with
 *           WAIT goes on without a P: the end waits for them, and nobody gets a P any more
 * Edges     [HG1] grant <-> n_idle_p, flag,  M: CAS grant, fence, load <-> leaver, giver, ender:
 *                 preempt_off                  store, fence, load grant
 *           [HG2] the record            push: CAS-release on held -> granter: xchg-acquire
 *           [HG3] m.p                   granter: grant store-release -> M: load-acquire
 * Why nobody is held beside an idle P   [HG1]: the M sees the P and calls the monitor, or the
 *           leaver sees the M. It does not go on by itself: it cannot take the P in a handler, and
 *           any number of those that have lost theirs would run beside one that stays idle.
 * Why nobody is held for ever   each sleep is bounded, and only goes on if somebody was granted a P
 *           meanwhile, when the queue moves, or nobody could be, and that ten times. If those that
 *           run need what a held one has locked, they block, lose their Ps, and the first who gets
 *           such a P is one that is held.
 * Why it is granted once   only a CAS from WAIT leads to CLAIMED, and only the M leaves GIVEN.
 * Rejected  tgkill (interrupts calls of the kernel in threads that block); a switch in the handler
 *           (libraries that keep locks and thread-local state would move with it); 20 ms for each
 *           whatever happens (ten that compute would keep three processors busy at one P).
 * Tests     flow/sched/preempt/test_preempt.c, flow/sched/preempt/test_preempt_thread_count.c, sim
 *           scenarios hogs_*, mutants hogs-*.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/preempt/preempt.h"

#include "base/assert.h"
#include "base/window.h"
#include "sched/run/abandon.h"
#include "sched/preempt/take.h"

#include "weft.h"

enum { AT_ONCE_NS = 1, SLICE_NS = 10000000 };

/* ---- Making sure of the signal --------------------------------------------------------------- */

int w_preempt_start(void)
{
        w_list_init(&w_sched.preemptq);
        if (w_sched.config.preempt != WEFT_PREEMPT_ALL)
                return 0;
        int rc = w_os_preempt_watch(w_sched.config.preempt_signal, w_preempt_on_signal);

        if (rc < 0)
                return rc;
#if defined(W_TSAN)     /* delays signals until the thread calls something: nobody can be held */
        w_os_preempt_unwatch();
#else
        w_sched.watches_signal = w_sched.may_preempt = true;
#endif
        return 0;
}

/* For a thread that was left behind the signal may still come, and its default may be death. */
void w_preempt_stop(void)
{
        if (w_sched.watches_signal && !w_abandon_any())
                w_os_preempt_unwatch();
        w_sched.watches_signal = w_sched.may_preempt = false;
}

/* Somebody else has taken the signal: threads run on then, beside the others. The monitor says so,
 * without the lock: who reads what is said may be slow. */
static bool signal_is_ours(void)
{
        if (w_os_preempt_is_watched())
                return true;
        w_sched.may_preempt = false;
        return false;
}

void w_preempt_report_once(void)
{
        if (w_sched.may_preempt || !w_sched.watches_signal || w_sched.reported_signal)
                return;
        w_sched.reported_signal = true;
        w_say("the handler of signal %d was replaced: goroutines that compute run beside others",
              w_sched.config.preempt_signal);
}

/* No timer to be had: likewise. */
void w_preempt_arm_locked(struct m *mp, bool computes)
{
        W_ASSERT(w_lock_held(W_LOCK_sched));
        if (!w_sched.may_preempt || !signal_is_ours())
                return;
        if (!mp->timer.made &&
            w_os_cpu_timer_make(&mp->timer, (int)w_load_rlx(&mp->tid)) < 0)     /* guarded: out */
                return;
        w_os_cpu_timer_arm(&mp->timer, computes ? AT_ONCE_NS : SLICE_NS);
}

/* With the lock, and pp its own, mp does not end meanwhile. */
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

/* Not who is in the queue still: it went on by itself, and has its quantum. */
static bool computes_without_p_locked(struct m *mp)
{
        uint32_t retake = w_load_rlx(&mp->retake) & ~(uint32_t)W_RETAKE_FENCED;       /* hint */
        uint32_t where = w_load_rlx(&mp->where);                    /* hint: the handler decides */

        return mp->lost_p && retake == W_RETAKE_LOST && w_where_is_user(where) &&
               !(where & (W_IN_REGION | W_IN_NOPREEMPT)) &&
               w_load_rlx(&mp->grant) == W_GRANT_NONE;            /* hint */
}

/* As long as it is one of those, with the lock, it does not end: it passes the lock first. */
void w_preempt_arm_lost(int64_t now)
{
        if (!w_sched.may_preempt || now < w_sched.arm_lost_at)
                return;
        w_sched.arm_lost_at = now + SLICE_NS;
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

static struct m *of(struct list_node *n)
{
        return W_CONTAINER_OF(n, struct m, preempt_link);
}

void w_preempt_push(struct m *mp)
{
        struct m *top = w_load_rlx(&w_sched.preempted_stack);             /* guarded by the CAS */

        do {
                w_store_rlx(&mp->preempt_next, top);              /* guarded by HG2 */
        } while (!w_cas_rel(&w_sched.preempted_stack, &top, mp));         /* [HG2] */
}

/* The newest comes first: each is put before the one that was pushed after it. */
static void enlist_preempted_locked(void)
{
        struct list_node *at = &w_sched.preemptq;

        if (!w_load_rlx(&w_sched.preempted_stack))                        /* hint: HG1 orders it */
                return;
        struct m *mp = w_xchg_acq(&w_sched.preempted_stack, NULL);        /* [HG2] */

        for (; mp; mp = w_load_rlx(&mp->preempt_next)) {          /* guarded by HG2 */
                w_list_insert_before(at, &mp->preempt_link);
                at = &mp->preempt_link;
        }
}

static bool grant_move(struct m *mp, enum m_grant from, enum m_grant to)
{
        uint32_t seen = from;

        return w_cas_acqrel(&mp->grant, &seen, to);               /* [HG3] */
}

/* mp has been taken out of the queue. It may change between GONE and WAIT at any time. */
static bool claim(struct m *mp)
{
        for (;;) {
                if (grant_move(mp, W_GRANT_WAITING, W_GRANT_CLAIMED))
                        return true;
                if (grant_move(mp, W_GRANT_QUEUED, W_GRANT_NONE))
                        return false;
        }
}

static struct m *claim_oldest_locked(void)
{
        enlist_preempted_locked();
        for (struct list_node *n; (n = w_list_pop_front(&w_sched.preemptq));)
                if (claim(of(n)))
                        return of(n);
        return NULL;
}

static void let_go(struct m *mp)
{
        w_add_rlx(&w_sched.n_grants, 1);                          /* counter */
        w_store_rel(&mp->grant, W_GRANT_GRANTED);                   /* [HG3] */
        W_WINDOW("hog-given");
        w_os_futex_wake(&mp->grant, 1);
}

bool w_preempt_any_locked(void)
{
        W_ASSERT(w_lock_held(W_LOCK_sched));
        enlist_preempted_locked();
        W_LIST_EACH(n, &w_sched.preemptq)
                if (w_load_acq(&of(n)->grant) == W_GRANT_WAITING)    /* [HG3] */
                        return true;
        return false;
}

/* ---- Granting -------------------------------------------------------------------------------- */

bool w_preempt_grant_locked(struct p *pp)
{
        W_ASSERT(w_lock_held(W_LOCK_sched) && !w_load_rlx(&w_sched.stopping));  /* guarded */
        for (struct m *mp; (mp = claim_oldest_locked());) {
                bool given = w_give_to_preempted_locked(pp, mp);

                let_go(mp);
                if (given)
                        return true;
        }
        return false;
}

void w_preempt_release_locked(struct m *mp)
{
        w_fence_full();                                           /* [HG1] */
        if (!grant_move(mp, W_GRANT_WAITING, W_GRANT_CLAIMED))
                return;
        enlist_preempted_locked();
        w_list_unlink(&mp->preempt_link);
        let_go(mp);
}

void w_preempt_end_locked(void)
{
        W_ASSERT(w_lock_held(W_LOCK_sched));
        w_store_rlx(&w_sched.preempt_off, 1);                       /* guarded by HG1 */
        w_fence_full();                                           /* [HG1] */
        for (struct m *mp; (mp = claim_oldest_locked());)
                let_go(mp);
}

void w_preempt_forget_locked(struct m *mp)
{
        W_ASSERT(w_lock_held(W_LOCK_sched));
        if (w_load_rlx(&mp->grant) == W_GRANT_NONE)               /* own word: its thread's end */
                return;
        enlist_preempted_locked();
        w_list_unlink(&mp->preempt_link);
        w_store_rlx(&mp->grant, W_GRANT_NONE);                    /* guarded by the lock */
}

/* They may have gone on by themselves since somebody was seen. */
static bool give_away_locked(struct m *mp)
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
        bool any = !w_load_rlx(&w_sched.stopping) && w_preempt_any_locked();       /* guarded */
        bool given = any && give_away_locked(mp);

        w_unlock(&w_sched.lock);
        return given;
}

/* Who is held while the P is in neither place has seen no idle one: a leaver looks again. */
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
        bool served = !w_load_rlx(&w_sched.stopping) && serve_idle_locked();    /* guarded */
        bool missed = !served && w_load_rlx(&w_sched.need_spinning);      /* guarded by ID2 */

        w_unlock(&w_sched.lock);
        if (missed)             /* somebody saw no idle P while it was in nobody's list */
                w_wake_one();
        return served;
}
