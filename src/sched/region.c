/* sched/region.c - blocking regions: code that says that it may block its thread.
 *
 * Called by   user code.
 * Protocols   cites take (sched/take.c), mark (sched/m.c).
 *
 * A region begins and ends with a few plain stores: the P stays where it is, and is taken only if
 * the region lasts and somebody needs it (sched/sysmon.c). Then its goroutine goes on without, and
 * gets a P again, or waits for one, when the region ends. Within one it is bound to its thread, so
 * calls that wait are refused, and a yield is the kernel's.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/assert.h"
#include "sched/commit.h"
#include "sched/sched.h"
#include "sched/take.h"

#include "weft.h"

#include <errno.h>      /* -EINVAL */

/* The outermost begins. Inside; leaves by itself. */
static void begin(struct m *mp)
{
        if (mp->n_regions++ == 0) {
                w_g_move(mp->curg, G_RUNNING, G_REGION);
                w_store_rlx(&mp->mark, w_load_rlx(&mp->mark) | W_MARK_REGION);    /* own word */
        }
}

static void end(struct m *mp)
{
        W_CHECK(mp->n_regions > 0, "goroutine %ld ends a blocking region that it has not begun",
                (long)mp->curg->id);
        if (--mp->n_regions == 0) {
                uint32_t mark = w_load_rlx(&mp->mark);            /* own word */

                w_store_rlx(&mp->mark, mark & ~(uint32_t)W_MARK_REGION);          /* own word */
                w_g_move(mp->curg, G_REGION, G_RUNNING);
        }
}

W_EXPORT void weft_block_begin(void)
{
        struct m *mp = w_m();

        if (!mp || !mp->curg)
                return;         /* a thread of the program may always block */
        uint32_t before = w_enter_on(mp);

        begin(mp);
        w_leave(before);
}

/* Who does nothing but short regions would never let others have their turn. */
static void go_on(void)
{
        w_need_p();
        struct p *pp = w_p();

        if (W_UNLIKELY(pp && w_load_rlx(&pp->attention) & W_ATTENTION_YIELD))     /* hint */
                weft_yield();
}

W_EXPORT void weft_block_end(void)
{
        struct m *mp = w_m();

        if (!mp || !mp->curg)
                return;
        uint32_t before = w_enter_on(mp);

        end(mp);
        if (mp->n_regions == 0)
                go_on();
        w_leave(before);
}

/* ---- On the thread's own stack --------------------------------------------------------------- */

/* On g0, in the name of the goroutine that waits on its own stack meanwhile. */
void w_commit_blocking(struct m *mp, const struct commit *c)
{
        struct commit call = *c;

        mp->in_commit = false;
        mp->curg = call.left;
        mp->on_g0 = true;
        begin(mp);
        w_leave(0);
        call.fn(call.arg);
        (void)w_enter();
        end(mp);
        mp->on_g0 = false;
        call.left->saved_errno = *mp->errno_at;
        mp->resume = call.left;
}

static void call_here(void (*fn)(void *), void *arg)
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
                call_here(fn, arg);     /* a thread of the program, or on its own stack already */
                return 0;
        }
        W_ENTER();
        w_call_on_g0(w_commit_blocking, fn, arg);
        go_on();
        W_LEAVE();
        return 0;
}
