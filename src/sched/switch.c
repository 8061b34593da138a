/* sched/switch.c - steps 4 and 5: from one goroutine to the next, and the commit in between.
 *
 * Built as arch/arch.h demands: no LTO, no sanitizer, baseline instruction set; nothing derived
 * from the thread lives across a switch. TSan does not see the accesses of this file, so it
 * contains the switches and what they need, and no protocol.
 *
 * A commit is the work that remains for a goroutine once it is off its stack (struct commit, m.h).
 * Every switch away sets one:
 *   w_park                  w_commit_park       commit.c
 *   yield                   w_commit_yield      commit.c
 *   w_switch_to_child       w_commit_parent     commit.c
 *   w_switch_queue_child    w_commit_child      commit.c
 *   w_switch_exit           w_commit_exit       exit.c
 *   w_on_g0                 w_commit_call       commit.c
 *   weft_blocking           w_commit_blocking   preempt/blocking.c
 *   w_execute               w_commit_nothing    commit.c
 *
 * PROTOCOL park
 *
 * Goal      A goroutine that waits can be woken from the moment its waker can find it. It never
 *           runs while its registers are not saved. A hand-off costs one switch.
 * Parties   parker (the goroutine), committer (the M, after the switch), waker.
 * Words     g.state; the lock or word of the object that the parker waits for (the caller's).
 * Park      1. Wakers find the parker only through an object whose lock it holds, or whose word it
 *              has not moved yet.
 *           2. Leave a commit with the M.
 *           3. Switch to the next goroutine if the P has one, else to g0.
 * Commit    1. RUNNING -> WAITING [GS1].
 *           2. unlock(g, arg): it releases the lock or moves the word. From here on g may run
 *              elsewhere; do not touch it.
 *           3. unlock returned false: g is WAITING and no waker can find it. Make it RUNNABLE and
 *              put it into `next`.
 * Wake      1. Take g out of the object under its lock, or win its word.
 *           2. w_ready: WAITING -> RUNNABLE. Any other state is fatal: it means two wakers.
 *           3. Queue g and wake an M.
 * Why safe  The waker reaches step 1 only after step 2 of the commit. That comes after the
 * registers
 *           were saved and the state was set. The lock (or word) hands both over.
 * Direct    The parker goes straight to another goroutine if its P needs no attention, it is not
 *           the 61st tick, and the P's own queue has a goroutine. Everything else (global queue,
 *           stealing, stopping, sleeping) is decided on g0.
 * Budget    The commit runs on the next goroutine's stack: no user code, no switch, and at most 768
 *           bytes. The end of a joined goroutine needs most, with a full ring and sched.lock
 *           contended: 640 bytes as gcc -O2 builds it, 728 with randomize=1. A wake that finds an
 *           idle P and no idle M needs a new thread, and libc needs much stack for that. So the
 *           creation is deferred and done on g0 when the commit is over. w_park checks that no
 *           runtime lock is held but the one that unlock releases.
 * Rejected  Always through g0 (two switches). Publishing before the switch (the waker's M could run
 *           the goroutine while this M still stands on its stack).
 * Tests     flow/sched/test_go.c, flow/sched/test_unpark.c, sim scenarios sched_*.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/switch.h"

#include "base/assert.h"
#include "sched/commit.h"
#include "sched/exit.h"
#include "sched/preempt/nopreempt.h"
#include "sched/preempt/take.h"
#include "sched/queue/queue.h"
#include "sched/sched.h"
#include "sched/thread/lockthread.h"
#include "sched/thread/thread.h"
#include "weft.h"

/* ---- Leaving and arriving -------------------------------------------------------------------- */

W_INLINE struct g *pick_bound(struct p *pp)
{
        struct g *gp = w_queue_take_direct(pp);

        if (gp && W_UNLIKELY(!gp->stack))
                w_g_bind(pp, gp, 0);
        return gp;
}

/* Runs the commit of the goroutine that left. The M is the actor, whichever stack this is. */
W_INLINE void run_commit(struct m *mp)
{
        w_san_act_as(&mp->g0.san, 0);
        mp->in_commit = true;
        mp->commit.run(mp, &mp->commit);
        mp->in_commit = false;
}

/* The first thing after a switch to a goroutine. Returns the M, which may be another than before.
 * */
W_INLINE struct m *arrive(struct g *gp)
{
        struct m *mp = w_m();

        run_commit(mp);
        /* gp continues with what belongs to the M and the P */
        w_san_act_as(&gp->fiber.san, W_SAN_ORDERED);
        w_san_take_over(gp);
        *mp->errno_at = gp->saved_errno;
        if (W_UNLIKELY(mp->deferred_p != NULL))
                w_thread_create_deferred(mp);
        return mp;
}

/* A goroutine that only goes to g0 and back lets no other goroutine run: that is not counted. */
W_INLINE void count_switch(struct m *mp)
{
        if (W_LIKELY(mp->p != NULL))
                w_p_count(&mp->p->stats.switches, 1);
        else
                w_add_rlx(&w_sched.without_p.switches, 1);        /* counter */
}

W_INLINE struct fiber *leave_to(struct m *mp, struct g *gp, struct g *to)
{
        gp->saved_errno = *mp->errno_at;
        w_san_act_as(&mp->g0.san, W_SAN_ORDERED);
        if (!to) {
                if (W_UNLIKELY(mp->locked_g != NULL))
                        w_lockthread_leave(mp);
                mp->curg = NULL;
                return &mp->g0;
        }
        w_become(mp, to);
        return &to->fiber;
}

/* Returns the M on which gp continues. */
W_INLINE struct m *switch_away(struct m *mp, struct g *gp, struct g *to)
{
        count_switch(mp);
        struct fiber *target = leave_to(mp, gp, to);

        w_fiber_switch_inline(&gp->fiber, target, 0);
        return arrive(gp);
}

/* ---- Yield ----------------------------------------------------------------------------------- */

/* There is no goroutine to yield to, and nothing that g0 would have to do. */
static bool is_alone(struct p *pp)
{
        return !w_p_is_wanted(pp) && w_load_rlx(&w_sched.n_globq) == 0 &&         /* hint */
               w_p_has_no_work(pp) && w_timers_next_at(&pp->timers) == W_FOREVER;
}

static W_NOINLINE struct m *yield_unusually(uint32_t where)
{
        if (where & W_IN_REGION)
                w_os_yield();
        else if (where & W_IN_NOPREEMPT)
                w_nopreempt_yield();
        else
                w_need_p_slow();
        return w_m();
}

/* Returns the M on which the caller continues. */
W_INLINE struct m *yield(struct m *mp, uint32_t where)
{
        if (W_UNLIKELY(where & (W_IN_REGION | W_IN_NOPREEMPT)) || W_UNLIKELY(!mp->p))
                return yield_unusually(where);
        struct g *gp = mp->curg;
        struct g *to = pick_bound(mp->p);

        if (!to && is_alone(mp->p))
                return w_m();           /* returning mp would cost the other path a move */
        mp->commit = (struct commit){ .run = w_commit_yield, .left = gp };
        return switch_away(mp, gp, to);
}

W_NOIPA W_EXPORT void weft_yield(void)
{
        struct m *mp = w_m();

        if (!mp || !mp->curg) {
                w_os_yield();
                return;
        }
        w_leave_to_user(yield(mp, w_enter_from_user(mp)));
}

W_NOIPA void w_yield(void)
{
        struct m *mp = w_m();

        if (!mp || !mp->curg)
                w_os_yield();
        else
                (void)yield(mp, w_load_rlx(&mp->where));           /* own word */
}

/* For a goroutine whose M has no P: off this thread and into the global queue. */
W_NOIPA void w_switch_requeue_self(void)
{
        struct m *mp = w_m();

        mp->commit = (struct commit){ .run = w_commit_yield, .left = mp->curg };
        (void)switch_away(mp, mp->curg, NULL);
}

/* ---- Park, child first, exit ----------------------------------------------------------------- */

/* Without a P there is no next goroutine: the M sleeps on g0. */
W_NOIPA void w_park(enum wait_reason reason, bool (*unlock)(struct g *gp, void *arg), void *arg)
{
        struct m *mp = w_m();
        struct g *gp = mp->curg;

        if (W_UNLIKELY(gp->nopreempt)) {
                w_nopreempt_park(reason, unlock, arg);
                return;
        }
        W_CHECK(mp->thread.n_held <= 1, "goroutine %ld parks with %u runtime locks held",
                (long)gp->id, mp->thread.n_held);
        gp->reason = reason & W_REASON_MASK;
        struct p      *pp = mp->p;
        struct g_cold *cold = w_g_cold(gp);
        struct g      *to = NULL;

        if (W_LIKELY(pp != NULL)) {
                cold->since = (int64_t)w_load_rlx(&pp->clock);    /* hint: for a report, and free */
                w_p_count(&pp->stats.parks[reason], 1);
                to = pick_bound(pp);
        } else {
                cold->since = w_os_now();
                w_add_rlx(&w_sched.without_p.parks[reason], 1);   /* counter */
        }
        mp->commit = (struct commit){ .run = w_commit_park, .left = gp, .unlock = unlock,
                                      .arg = arg };
        (void)switch_away(mp, gp, to);
}

W_NOIPA void w_switch_to_child(struct g *child)
{
        struct m *mp = w_m();
        struct g *gp = mp->curg;

        if (!child->stack)
                w_g_bind(mp->p, child, 0);
        mp->commit = (struct commit){ .run = w_commit_parent, .left = gp };
        (void)switch_away(mp, gp, child);
}

W_NOIPA void w_switch_queue_child(struct g *child)
{
        struct m *mp = w_m();

        mp->commit = (struct commit){ .run = w_commit_child, .left = mp->curg, .arg = child };
        (void)switch_away(mp, mp->curg, NULL);
}

W_NOIPA W_NORETURN void w_switch_exit(struct g *to)
{
        struct m     *mp = w_m();
        struct g     *gp = mp->curg;
        struct fiber *target;

        if (to && !to->stack)
                w_g_bind(mp->p, to, 0);
        mp->commit = (struct commit){ .run = w_commit_exit, .left = gp };
        count_switch(mp);
        target = leave_to(mp, gp, to);
        w_fiber_switch_last_inline(&gp->fiber, target, 0);
}

/* ---- g0 -------------------------------------------------------------------------------------- */

/* Returns when a goroutine switches to g0, always on the same M. */
W_NOIPA void w_execute(struct m *mp, struct g *gp)
{
        if (!gp->stack)
                w_g_bind(mp->p, gp, 0);
        w_become(mp, gp);
        do {
                mp->curg = gp;
                mp->commit = (struct commit){ .run = w_commit_nothing };
                w_fiber_switch_inline(&mp->g0, &gp->fiber, 0);
                mp->resume = NULL;
                run_commit(mp);
                if (W_UNLIKELY(mp->deferred_p != NULL))
                        w_thread_create_deferred(mp);
                gp = mp->resume;
        } while (gp);
}

W_NOIPA void w_call_on_g0(void (*run)(struct m *mp, const struct commit *c), void (*fn)(void *),
                          void *arg)
{
        struct m *mp = w_m();

        struct g *gp = mp->curg;

        mp->commit = (struct commit){ .run = run, .left = gp, .fn = fn, .arg = arg };
        w_fiber_switch_inline(&gp->fiber, leave_to(mp, gp, NULL), 0);
        (void)arrive(gp);
}

void w_on_g0(void (*fn)(void *), void *arg)
{
        struct m *mp = w_m();

        if (!mp || !mp->curg || mp->on_g0)
                fn(arg);
        else
                w_call_on_g0(w_commit_call, fn, arg);
}

/* ---- The first frame ------------------------------------------------------------------------- */

W_NOIPA void w_goroutine_main(void *arg)
{
        struct g *gp = arg;

        w_fiber_begin(&gp->fiber);
        (void)arrive(gp);
        w_goroutine_run(gp);
}
