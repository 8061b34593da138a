/* sched/commit.c - step 5, second half: publishing a goroutine that has left its stack.
 *
 * Runs right after the switch, on the next goroutine's stack or on g0.
 * Protocols   cites park (sched/switch.c).
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/commit.h"

#include "base/window.h"
#include "sched/idle.h"
#include "sched/queue/globq.h"
#include "sched/queue/queue.h"
#include "sched/sched.h"

void w_commit_nothing(struct m *mp, const struct commit *c)
{
        (void)mp, (void)c;
}

/* A yield puts as much into the queues as it takes out, so with every P busy no M is woken. But the
 * last spinner may have scanned the queue between the two steps and found it empty. So with an idle
 * P an M must be woken, or the goroutine waits as long as the other one computes. The fence is the
 * one of PROTOCOL idle, Yield: without it yielder and spinner might miss each other. */
void w_commit_yield(struct m *mp, const struct commit *c)
{
        if (W_UNLIKELY(w_sched.config.migrate || !mp->p)) {
                w_globq_publish(c->left, G_RUNNING);
                w_wake_one();           /* else the same M would take it back, or no M would */
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
        w_wake_one();           /* a spinner may have scanned meanwhile and seen no work */
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
        mp->resume = c->left;           /* RUNNING throughout: no other thread can have it */
}
