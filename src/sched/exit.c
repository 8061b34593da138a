/* sched/exit.c - the end of a goroutine: its stack and record are free once it is off them.
 *
 * Protocols   cites park (sched/switch.c), ids (sched/ids.c), live (sched/g.c).
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/exit.h"

#include "base/assert.h"
#include "sched/commit.h"
#include "sched/local.h"
#include "sched/preempt/take.h"
#include "sched/queue/queue.h"
#include "sched/ready.h"
#include "sched/run/hooks.h"
#include "sched/run/world.h"
#include "sched/sched.h"
#include "sched/switch.h"
#include "weft.h"

/* The records of joiners stand in frames that vanish once the joiner runs: unlink, then ready. */
static void ready_all(struct list_node *joiners)
{
        struct queue woken = { 0 };

        for (struct list_node *n; (n = w_list_pop_front(joiners));) {
                struct joiner *j = W_CONTAINER_OF(n, struct joiner, link);

                j->gather(j, &woken);
        }
        w_ready_many(&woken);
}

static struct scope_head *head_of(struct scope *s)
{
        return (struct scope_head *)(void *)s;
}

/* Frees the record of gp once its stack is free or inherited. */
static void end_record(struct p *pp, struct g *gp)
{
        struct list_node joiners;
        struct scope    *home = gp->scope;

        w_list_init(&joiners);
        w_g_count_ended(pp);       /* a joiner that wakes must not count it any more */
        w_id_end(gp, &joiners);
        w_g_move(gp, G_RUNNING, G_DEAD);
        w_g_put(pp, gp);
        if (W_UNLIKELY(!w_list_empty(&joiners)))
                ready_all(&joiners);
        if (W_UNLIKELY(home != NULL))
                head_of(home)->left(home);
}

void w_commit_exit(struct m *mp, const struct commit *c)
{
        struct p     *pp = mp->p;
        struct g     *gp = c->left;
        struct stack *stack = gp->stack;

        w_fiber_destroy(&gp->fiber);
        gp->stack = NULL;
        w_stack_unbind(&w_sched.stacks, &pp->stacks, stack);
        w_stack_unreserve(&w_sched.stacks, &pp->stacks, w_g_stack_size(gp));
        end_record(pp, gp);
}

/* A scope that is still open may stand in a frame that is gone: only its address is used. */
static void check_nothing_open(const struct g *gp)
{
        W_CHECK(!w_g_in_region(gp), "goroutine %ld ends inside a blocking region", (long)gp->id);
        W_CHECK(!gp->nopreempt, "goroutine %ld ends before weft_nopreempt_end", (long)gp->id);
        W_CHECK(gp->scope == w_g_cold(gp)->home, "goroutine %ld ends with scope %p open",
                (long)gp->id, (void *)gp->scope);
}

/* The last step of the goroutine itself. It has a P afterwards, and no user code follows. */
static void finish(struct g *gp, int result)
{
        check_nothing_open(gp);
        if (W_UNLIKELY(w_g_cold(gp)->locals != NULL)) {
                w_locals_destroy(gp);
                check_nothing_open(gp);         /* destructors are user code too */
        }
        if (W_UNLIKELY(result != 0))
                head_of(gp->scope)->failed(gp->scope, result);
        w_need_p();
}

/* True: `to`, which has no stack yet, may use the stack of gp, which ends on it. The sizes are
 * equal and nothing on the stack must survive. Under TSan each goroutine has a fiber of its own. */
static bool may_inherit(const struct g *gp, const struct g *to)
{
#if defined(W_TSAN)
        (void)gp, (void)to;
        return false;
#else
        return !to->stack && to->stack_kib == gp->stack_kib && w_cold_at(gp->stack)->extra == 0;
#endif
}

static void inherit(struct p *pp, struct g *gp, struct g *to)
{
        struct stack  *stack = gp->stack;
        struct g_start start = to->start;

        w_stack_pass_on(&w_sched.stacks, stack, to);
        w_stack_unreserve(&w_sched.stacks, &pp->stacks, w_g_stack_size(gp));
        w_cold_fill(w_cold_at(stack), &start);
        to->fiber.san = gp->fiber.san;
        to->fiber.own_fpenv = false;
        to->stack = stack;
        gp->stack = NULL;
}

/* The next goroutine has no stack yet, and gp no longer needs its own. So no switch is needed: the
 * calling frame runs `to` next on the same stack. gp is off the stack already, which is all that a
 * commit would wait for. */
static void succeed(struct m *mp, struct g *gp, struct g *to)
{
        struct p *pp = mp->p;

        inherit(pp, gp, to);
        w_become(mp, to);
        w_p_count(&pp->stats.switches, 1);
        *mp->errno_at = to->saved_errno;        /* not gp's, also if the next line goes to g0 */
        w_fiber_default_fpenv();
        end_record(pp, gp);
}

/* Returns the goroutine that continues on this stack. Does not return if there is none. */
static struct g *successor(struct g *gp)
{
        struct m *mp = w_m();
        struct g *to = w_queue_take_direct(mp->p);

        if (!to || !may_inherit(gp, to))
                w_switch_exit(to);
        succeed(mp, gp, to);
        return to;
}

/* When user code returns, the run may be over and gp's record gone. So nothing is read before the
 * entry, which does not return in that case. */
static void run_user(struct g *gp)
{
        struct g_cold *cold = w_g_cold(gp);
        bool           is_main = w_g_is_main(gp);
        int            result = 0;

        cold->home = gp->scope;
        w_leave_to_user(w_m());
        if (W_UNLIKELY(cold->home != NULL))
                result = cold->fn.in_scope(cold->arg);
        else
                cold->fn.plain(cold->arg);
        if (W_UNLIKELY(is_main) && w_sched.config.check)        /* WEFT_DEBUG=check=1 */
                (void)w_run_hooks.check();
        (void)w_enter_from_user(w_m());
        finish(gp, result);
        if (W_UNLIKELY(is_main))
                w_world_end();
}

/* Runs a goroutine from its first line to its last, then each successor on the same stack. m.where
 * says "user code" while user code runs. */
W_NORETURN void w_goroutine_run(struct g *gp)
{
        for (;;) {
                run_user(gp);
                gp = successor(gp);
        }
}

void w_unwind_push(struct g *gp, struct unwind *u)
{
        struct g_cold *cold = w_g_cold(gp);

        u->outer = cold->unwind;
        cold->unwind = u;
}

void w_unwind_pop(struct g *gp, struct unwind *u)
{
        struct g_cold *cold = w_g_cold(gp);

        W_ASSERT(cold->unwind == u);
        cold->unwind = u->outer;
}

static void unwind_all(struct g *gp)
{
        for (struct unwind *u; (u = w_g_cold(gp)->unwind);) {
                w_unwind_pop(gp, u);
                u->fn(u);
        }
}

W_EXPORT W_NORETURN void weft_exit(void)
{
        struct g *gp = w_g();

        W_CHECK(gp, "weft_exit called outside a goroutine");
        (void)w_enter();
        unwind_all(gp);
        finish(gp, 0);
        if (w_g_is_main(gp))
                w_g_main_exited();
        w_switch_exit(w_queue_take_direct(w_p()));
}
