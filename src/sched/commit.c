/* sched/commit.c - step 5, second half: publishing a goroutine that has left its stack.
 *
 * Called by   switch.c, right after the switch, on the next goroutine's stack or on g0.
 * Protocols   cites park (sched/switch.c).
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/commit.h"

#include "base/window.h"
#include "sched/sched.h"

void w_commit_nothing(struct m *mp, const struct commit *c)
{
        (void)mp, (void)c;
}

/* A yield puts as much into the queues as it takes out, so with every P busy nobody is woken. But
 * between the taking and this the queue may have looked empty to the last looker: with a P idle
 * somebody must look again, or the goroutine waits for as long as the other one computes. The fence
 * is the submitter's of PROTOCOL idle: without it both might miss each other. */
void w_commit_yield(struct m *mp, const struct commit *c)
{
        if (W_UNLIKELY(w_sched.config.migrate || !mp->p)) {
                w_globq_publish(c->left, G_RUNNING);
                w_wake_one();           /* else the same M would take it back, or nobody */
                return;
        }
        w_g_move(c->left, G_RUNNING, G_RUNNABLE);
        w_queue_put(mp->p, c->left);
        if (w_n_procs() == 1)
                return;
        w_fence_full();                                           /* [ID1] */
        if (W_UNLIKELY(w_load_rlx(&w_sched.n_idle_p) != 0))       /* guarded by ID1 */
                w_wake_one();
}

void w_commit_park(struct m *mp, const struct commit *c)
{
        w_g_move(c->left, G_RUNNING, G_WAITING);
        W_WINDOW("park-before-unlock");
        if (W_LIKELY(c->unlock(c->left, c->arg)))
                return;
        if (mp->p) {
                w_g_move(c->left, G_WAITING, G_RUNNABLE);
                w_queue_put_next(mp->p, c->left);
        } else {
                w_globq_publish(c->left, G_WAITING);
        }
        w_wake_one();           /* who looked for work meanwhile saw none */
}

/* The parent may be stolen from here: that is the parallelism of child first. */
void w_commit_parent(struct m *mp, const struct commit *c)
{
        w_g_move(c->left, G_RUNNING, G_RUNNABLE);
        w_queue_parent(mp->p, c->left);
        w_wake_one();
}

void w_commit_child(struct m *mp, const struct commit *c)
{
        w_g_move(c->left, G_RUNNING, G_RUNNABLE);
        w_queue_parent(mp->p, c->left);
        w_queue_put_next(mp->p, c->arg);
        w_wake_one();
}

void w_commit_call(struct m *mp, const struct commit *c)
{
        c->fn(c->arg);
        mp->resume = c->left;           /* RUNNING throughout: it is in nobody else's hands */
}
