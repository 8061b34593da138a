/* sched/exit.c - the end of a goroutine: its stack and record are free once it is off them.
 *
 * Called by   switch.c for the first frame (w_goroutine_run), user code (weft_exit).
 * Protocols   cites park (sched/switch.c), ids (sched/ids.c), live (sched/live.c).
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/assert.h"
#include "sched/commit.h"
#include "sched/sched.h"

#include "weft.h"

/* Records of joiners live in frames that are gone once their goroutine runs: unlink, then ready. */
static void ready_all(struct list_node *woken)
{
        for (struct list_node *n; (n = w_list_pop_front(woken));)
                w_ready(W_CONTAINER_OF(n, struct joiner, link)->waiting);
}

static void free_stack(struct p *pp, struct g *gp)
{
        struct stack *stack = gp->stack;

        w_fiber_destroy(&gp->fiber);
        gp->stack = NULL;
        w_stack_unbind(&w_sched.stacks, &pp->stacks, stack);
        w_stack_unreserve(&w_sched.stacks, &pp->stacks, w_g_stack_size(gp));
}

void w_commit_exit(struct m *mp, const struct commit *c)
{
        struct list_node woken;
        struct p        *pp = mp->p;
        struct g        *gp = c->left;

        w_list_init(&woken);
        free_stack(pp, gp);
        w_live_ended(pp);       /* who has joined it does not count it any more */
        w_id_end(gp, &woken);
        w_g_move(gp, G_RUNNING, G_DEAD);
        w_g_put(pp, gp);
        ready_all(&woken);
}

/* From the first line to the last. The mark is "outside" while user code runs. */
W_NORETURN void w_goroutine_run(struct g *gp)
{
        struct g_cold *cold = w_g_cold(gp);

        w_leave(0);
        cold->fn(cold->arg);
        if (gp->is_main && w_sched.config.check)        /* WEFT_DEBUG=check=1 */
                (void)weft_check();
        (void)w_enter();
        w_locals_destroy(gp);
        if (gp->is_main)
                w_run_end();
        w_exit();
}

W_EXPORT W_NORETURN void weft_exit(void)
{
        struct g *gp = w_g();

        W_CHECK(gp, "weft_exit called outside a goroutine");
        (void)w_enter();
        w_locals_destroy(gp);
        if (gp->is_main)
                w_live_main_left();
        w_exit();
}
