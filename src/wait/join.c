/* wait/join.c - waiting for the end of a goroutine.
 *
 * Protocols   cites ids (sched/ids.c), wake (wait/wake.c).
 *
 * SPDX-License-Identifier: MIT
 */
#include "wait/join.h"

#include "wait/wait.h"

#include "weft.h"

#include <errno.h>      /* -Exxx */

static bool claim(struct joiner *joiner)
{
        struct join_waiter *jw = W_CONTAINER_OF(joiner, struct join_waiter, joiner);

        return w_wake_claim(jw->waiter, jw->verdict) == W_CLAIM_WON;
}

static void gather(struct joiner *joiner, struct queue *woken)
{
        w_wake_gather(W_CONTAINER_OF(joiner, struct join_waiter, joiner)->waiter, woken);
}

/* -EAGAIN: the goroutine is alive, and *held is locked. Else what the join returns. */
static int find_lock(int64_t id, struct g **target, struct lock **held)
{
        struct g *gp = w_g();

        if (gp && gp->id == id)
                return -EDEADLK;
        switch (w_id_find(id, target, held)) {
        case W_ID_NEVER_GIVEN:
                return -ESRCH;
        case W_ID_HAS_ENDED:
                return 0;
        case W_ID_ALIVE:
                break;
        }
        return -EAGAIN;
}

int w_join_look(int64_t id)
{
        struct g    *target;
        struct lock *held;
        int          rc = find_lock(id, &target, &held);

        if (rc == -EAGAIN)
                w_unlock(held);
        return rc;
}

int w_join_begin_lock(struct join_waiter *jw, int64_t id, struct lock **held)
{
        struct g *target;
        int       rc = find_lock(id, &target, held);

        if (rc != -EAGAIN)
                return rc;
        jw->joiner.id = id;
        jw->joiner.claim = claim;
        jw->joiner.gather = gather;
        w_id_join_locked(target, &jw->joiner);
        return rc;
}

static void unlock_id(void *lock)
{
        w_unlock(lock);
}

static int join(int64_t id)
{
        struct lock       *held;
        struct wait        w;
        struct join_waiter me = { .waiter = &w.waiter, .verdict = W_VERDICT_OTHER };
        int                rc = w_call_check();

        if (rc < 0)
                return rc;
        w_wait_begin(&w, W_FOREVER, W_CANCELLABLE);
        rc = w_join_begin_lock(&me, id, &held);
        if (rc == -EAGAIN) {
                uint32_t verdict = w_wait_park(&w, W_WAIT_JOIN, unlock_id, held);

                rc = 0;
                if (verdict != W_VERDICT_OTHER) {
                        w_id_unjoin(&me.joiner);
                        rc = w_wait_error(&w, verdict);
                }
        }
        w_wait_end(&w);
        return rc;
}

W_EXPORT int weft_join(int64_t id)
{
        if (!w_call_begin())
                return -ESHUTDOWN;
        W_ENTER();
        int rc = join(id);

        W_LEAVE();
        w_call_end();
        return rc;
}
