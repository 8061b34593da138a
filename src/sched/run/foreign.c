/* sched/run/foreign.c - threads of the program that call weft: while they do, the run stays.
 *
 * Called by   every public function, on a thread that is not an M; run (the end), user code
 *             (weft_attach, weft_detach).
 *
 * A guest needs no M and no P: what it does it does under the locks of the objects, whom it wakes
 * goes to the global queue, and when it waits it sleeps on a note in its own frame (wait/wait.c).
 * What it must be sure of is that the run is not taken down under it.
 *
 * PROTOCOL foreign
 *
 * Goal      a thread of the program that calls weft finds the run whole until its call is over.
 * Parties   visitor (a thread that is not an M), attached or not; ender (m0 at the end of weft_run,
 *           the caller of weft_stop). Ms are waited for anyway.
 * Words     phase; n_foreign_calls: calls of those that are not attached, static, so that a late
 *           wake of it is harmless. Of an attached thread: visiting, how deep it is in calls, its
 *           own. n_left: what the ender sleeps on for their sake, static. The list of those that
 *           are attached, under its lock.
 * Visitor   1 n_foreign_calls + 1   2 [RN2] full fence   3 phase is ON [RN3]: in; else as at the
 *           end end: n_foreign_calls - 1 [RN4]; it was the last: [RN2] full fence; phase is not ON:
 *           wake
 * Attached  1 visiting + 1   2 [RN2] compiler barrier   3 as above
 *           end: visiting - 1 [RN4], [RN2] compiler barrier; phase is not ON: n_left + 1 [RN5] and
 *           wake
 * Ender     1 phase := ENDING   2 [RN2] full fence   3 sleeps until n_foreign_calls is 0 [RN4]
 *           4 somebody is attached: [RN2] membarrier   5 n_left [RN5]; all in the list have 0 for
 *           visiting [RN4]: done; else sleeps while n_left is as it was, again from 5
 * Attaching under the lock into the list; the record is part of what a thread is given at its birth
 *           (w_os_foreign), so there is nothing to allocate. Detaching, or the end of the thread,
 *           takes it out; neither happens during a call, since no call runs user code.
 * Edges     [RN2] n_foreign_calls <-> phase   visitor's fence <-> ender's fence
 *                 visiting <-> phase     attached: store one, load the other <-> ender: store the
 *                                        other, membarrier, load the one
 *           [RN3] all that set_up made   start: phase store-release -> visitor: phase load-acquire
 *           [RN4] all that it did   visitor: n_foreign_calls sub-release, visiting store-release ->
 *                 ender: n_foreign_calls load-acquire, visiting load-acquire
 *           [RN5] visiting   attached: n_left add-release -> ender: n_left load-acquire
 * Why safe  whichever fence is later sees the other side's word: the visitor sees ENDING and
 *           leaves, or the ender sees it and waits. The membarrier is a fence in the middle of
 *           whatever an attached thread does: what it stored before is seen in 5, and what it loads
 *           afterwards is ENDING. Who attaches later than 4 looks has had the lock after the ender,
 *           and so sees ENDING at its first call.
 * Why the ender wakes   it found visiting not 0 after the barrier; so that store of 0 comes after
 *           it, and the look at the phase that follows finds ENDING. Likewise n_foreign_calls after
 *           its fence, and the fence of the one that made it 0.
 * In a child of fork   the list is begun anew with the thread that forked, if it was in there.
 * Without membarrier, and under TSan, which does not know it: attached threads pass a full fence in
 *           the place of each compiler barrier. Whether they do is decided when they attach.
 * Rejected  a record in memory of weft's (it would have to stay for ever, or be waited for); an M
 *           for each such thread (docs/decisions/012-a-guest-needs-no-m.md).
 * Tests     flow/sched/run/test_run.c, flow/sched/run/test_attach.c, sim scenarios guest_*, mutants
 *           guest-*.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/assert.h"
#include "base/window.h"
#include "sched/run/fork.h"
#include "sched/sched.h"

#include "weft.h"

static w_atomic_u32 n_foreign_calls;         /* a  [RN2][RN4] */
static w_atomic_u32 n_left;             /* a  [RN5] */

static struct {
        struct lock      lock;          /* class attached */
        struct list_node foreigners;        /* under lock: struct w_os_foreign */
        bool             watches_forks; /* under lock */
} attached = { W_LOCK_INIT(attached), { &attached.foreigners, &attached.foreigners }, false };

/* ---- Visits ---------------------------------------------------------------------------------- */

/* Between a store to `visiting` and a load of the phase. */
static void order_attached(const struct w_os_foreign *me)
{
        w_fence_compiler();                                       /* [RN2] */
        if (W_UNLIKELY(me->fenced))
                w_fence_full();                                   /* [RN2] */
}

static void visit_attached(struct w_os_foreign *me)
{
        uint32_t depth = w_load_rlx(&me->in_call);               /* own word */

        w_store_rlx(&me->in_call, depth + 1);                    /* guarded by RN2 */
        order_attached(me);
}

static void leave_attached(struct w_os_foreign *me)
{
        uint32_t depth = w_load_rlx(&me->in_call);               /* own word */

        W_ASSERT(depth > 0);
        w_store_rel(&me->in_call, depth - 1);                    /* [RN4] */
        order_attached(me);
        if (W_LIKELY(w_load_rlx(&w_run_phase) == RUN_ON))         /* guarded by RN2 */
                return;
        w_add_rel(&n_left, 1);                                    /* [RN5] */
        w_os_futex_wake(&n_left, 1);
}

static void leave_unattached(void)
{
        if (w_sub_rel(&n_foreign_calls, 1) != 1)                       /* [RN4] */
                return;
        w_fence_full();                                           /* [RN2] */
        if (W_UNLIKELY(w_load_rlx(&w_run_phase) != RUN_ON))       /* guarded by RN2 */
                w_os_futex_wake(&n_foreign_calls, 1);
}

/* The first look is a hint: without it threads that are being refused again and again would hold up
 * the end that refuses them. */
bool w_foreign_enter_slow(void)
{
        struct w_os_foreign *me = w_os_foreign();

        if (w_load_rlx(&w_run_phase) != RUN_ON) {                 /* hint: RN2 decides */
                if (w_is_forked())
                        w_fork_refuse();
                return false;
        }
        if (me->attached) {
                visit_attached(me);
        } else {
                w_add_rlx(&n_foreign_calls, 1);                        /* guarded by RN2 */
                w_fence_full();                                   /* [RN2] */
        }
        W_WINDOW("guest-before-look");
        if (w_load_acq(&w_run_phase) == RUN_ON)                   /* [RN3] */
                return true;
        w_foreign_exit_slow();
        return false;
}

void w_foreign_exit_slow(void)
{
        struct w_os_foreign *me = w_os_foreign();

        if (me->attached)
                leave_attached(me);
        else
                leave_unattached();
}

/* ---- The end of the run ---------------------------------------------------------------------- */

static bool needs_barrier(const struct w_os_foreign *foreign)
{
        return !foreign->fenced;
}

static bool is_in_a_call(const struct w_os_foreign *foreign)
{
        return w_load_acq(&foreign->in_call) != 0;                 /* [RN4] */
}

static bool any_attached(bool (*is_so)(const struct w_os_foreign *foreign))
{
        bool any = false;

        w_lock(&attached.lock);
        W_LIST_EACH(n, &attached.foreigners)
                any = any || is_so(W_CONTAINER_OF(n, struct w_os_foreign, link));
        w_unlock(&attached.lock);
        return any;
}

static void await_attached(void)
{
        if (any_attached(needs_barrier)) {
                int rc = w_os_membarrier();                       /* [RN2] */

                W_CHECK(rc == 0, "membarrier does not work any more (error %d)", -rc);
        }
        for (;;) {
                uint32_t n = w_load_acq(&n_left);                 /* [RN5] */

                if (!any_attached(is_in_a_call))
                        return;
                (void)w_os_futex_wait(&n_left, n, W_FOREVER);     /* we look again anyway */
        }
}

void w_foreign_await(void)
{
        w_fence_full();                                           /* [RN2] */
        for (uint32_t n; (n = w_load_acq(&n_foreign_calls)) != 0;)     /* [RN4] */
                (void)w_os_futex_wait(&n_foreign_calls, n, W_FOREVER);
        await_attached();
}

/* ---- Attaching ------------------------------------------------------------------------------- */

static void detach(struct w_os_foreign *me)
{
        W_ASSERT(w_load_rlx(&me->in_call) == 0);                 /* own word */
        w_lock(&attached.lock);
        w_list_unlink(&me->link);
        w_unlock(&attached.lock);
        me->attached = false;
}

/* A child of fork has one thread: what the others had in their stacks is gone, or will be. */
static void in_child(void)
{
        struct w_os_foreign *me = w_m() ? NULL : w_os_foreign();

        w_lock_init(&attached.lock, W_LOCK_attached);
        w_list_init(&attached.foreigners);
        if (!me || !me->attached)
                return;
        w_list_init(&me->link);
        w_list_push_back(&attached.foreigners, &me->link);
}

static bool hears_of_forks(void)
{
        w_lock(&attached.lock);
        attached.watches_forks = attached.watches_forks || w_os_fork_watch(in_child) == 0;
        bool hears = attached.watches_forks;

        w_unlock(&attached.lock);
        return hears;
}

/* With no means to hear of its end, or with that under way, a thread goes on as one that is not
 * attached: its record vanishes with it. */
W_EXPORT void weft_attach(void)
{
        struct w_os_foreign *me = w_m() ? NULL : w_os_foreign();

        if (!me || me->attached || me->ends)
                return;
        if (!hears_of_forks() || w_os_foreign_watch(W_OS_HOOK_ATTACHED, detach) < 0)
                return;
#if defined(W_TSAN)
        me->fenced = true;
#else
        me->fenced = w_os_membarrier_init() < 0;
#endif
        w_list_init(&me->link);
        w_lock(&attached.lock);
        w_list_push_back(&attached.foreigners, &me->link);
        w_unlock(&attached.lock);
        me->attached = true;
}

W_EXPORT void weft_detach(void)
{
        struct w_os_foreign *me = w_m() ? NULL : w_os_foreign();

        if (!me || !me->attached)
                return;
        detach(me);
        (void)w_os_foreign_watch(W_OS_HOOK_ATTACHED, NULL);
}
