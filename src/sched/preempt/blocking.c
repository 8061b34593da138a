/* sched/preempt/blocking.c - blocking regions: code that declares that it may block its thread.
 *
 * Protocols   cites take (sched/preempt/take.c), where (sched/preempt/enter.c).
 *
 * A region begins and ends with a few plain stores. The P stays with the M, and is taken only if
 * the region lasts and the P is needed (sched/monitor/retake.c). Then the goroutine continues
 * without a P. When the region ends, the goroutine takes a P or waits for a P. In a region the
 * goroutine cannot leave its thread: calls that wait are refused, and a yield only yields the CPU
 * of the thread.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/assert.h"
#include "sched/commit.h"
#include "sched/preempt/take.h"
#include "sched/sched.h"
#include "sched/switch.h"
#include "weft.h"

#include <errno.h>      /* -EINVAL */

/* Called in the runtime, as `end` is. `where` is the value of m.where, and the result is the new
 * value. It is passed in a register: storing and loading it at each step would take longer than
 * everything else here. */
W_INLINE uint32_t begin(struct m *mp, uint32_t where)
{
        if (mp->n_regions++ == 0) {
                w_g_move(mp->curg, G_RUNNING, G_REGION);
                where |= W_IN_REGION;
        }
        return where;
}

W_INLINE uint32_t end(struct m *mp, uint32_t where)
{
        if (--mp->n_regions == 0) {
                w_g_move(mp->curg, G_REGION, G_RUNNING);
                where &= ~(uint32_t)W_IN_REGION;
        }
        return where;
}

W_EXPORT void weft_block_begin(void)
{
        struct m *mp = w_m();

        if (!mp || !mp->curg)
                return;         /* a foreign thread may always block */
        uint32_t before = w_enter_on(mp);

        w_leave_as(mp, before, begin(mp, before | W_IN_RUNTIME));
}

/* Takes a P if the M has lost its P, and yields if that was asked for. Otherwise a goroutine that
 * does nothing but short regions would never yield. */
static W_NOINLINE void go_on(void)
{
        w_need_p();
        w_give_turn();
}

static W_NOINLINE void go_on_and_leave(struct m *mp, uint32_t before, uint32_t where)
{
        w_store_rlx(&mp->where, where);                             /* own word */
        go_on();
        w_leave(before);
}

/* Only weft_blocking ends a region that weft_blocking began. */
W_EXPORT void weft_block_end(void)
{
        struct m *mp = w_m();

        if (!mp || !mp->curg)
                return;
        uint32_t before = w_enter_on(mp);

        W_CHECK(mp->n_regions > mp->on_g0,
                "goroutine %ld ends a blocking region that it has not begun", (long)mp->curg->id);
        uint32_t where = end(mp, before | W_IN_RUNTIME);

        if (W_LIKELY(mp->p && !w_p_is_to_yield(mp->p)) || mp->n_regions)
                w_leave_as(mp, before, where);
        else
                go_on_and_leave(mp, before, where);
}

/* ---- On the thread's own stack --------------------------------------------------------------- */

/* Runs on g0, for a goroutine that is suspended on its own stack meanwhile. */
void w_commit_blocking(struct m *mp, const struct commit *c)
{
        struct commit call = *c;

        mp->in_commit = false;
        mp->curg = call.left;
        mp->on_g0 = true;
        mp->curg->nopreempt = true;     /* so that w_park refuses a wait on this stack */
        w_leave_as(mp, 0, begin(mp, w_load_rlx(&mp->where)));      /* own word */
        call.fn(call.arg);
        (void)w_enter_on(mp);
        w_store_rlx(&mp->where, end(mp, w_load_rlx(&mp->where)));   /* own word */
        mp->on_g0 = false;
        mp->curg->nopreempt = w_g_cold(mp->curg)->n_nopreempt > 0;
        call.left->saved_errno = *mp->errno_at;
        mp->resume = call.left;
}

static void call_blocking(void (*fn)(void *), void *arg)
{
        weft_block_begin();
        fn(arg);
        weft_block_end();
}

W_EXPORT int weft_blocking(void (*fn)(void *), void *arg)
{
        struct m *mp = w_m();

        if (!fn)
                return -EINVAL;
        if (!mp || !mp->curg || mp->on_g0) {
                call_blocking(fn, arg);   /* a foreign thread, or already on g0 */
                return 0;
        }
        W_ENTER();
        w_call_on_g0(w_commit_blocking, fn, arg);
        go_on();
        W_LEAVE();
        return 0;
}
