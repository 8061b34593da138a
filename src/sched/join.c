/* sched/join.c - waiting for the end of a goroutine.
 *
 * Called by   user code.
 * Protocols   cites ids (sched/ids.c), park (sched/switch.c).
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/sched.h"

#include "weft.h"

#include <errno.h>      /* -Exxx */

static bool unlock_bucket(struct g *gp, void *arg)
{
        (void)gp;
        w_unlock(arg);
        return true;
}

static int join(int64_t id)
{
        struct g    *target = NULL;
        struct lock *held = NULL;

        switch (w_id_find(id, &target, &held)) {
        case W_ID_NEVER_GIVEN:
                return -ESRCH;
        case W_ID_HAS_ENDED:
                return 0;
        case W_ID_ALIVE:
                break;
        }
        struct joiner me = { .waiting = w_g(), .id = id };

        w_id_join_locked(target, &me);
        w_park(W_WAIT_JOIN, unlock_bucket, held);
        return 0;
}

W_EXPORT int weft_join(int64_t id)
{
        struct g *gp = w_g();

        if (!gp)                /* a goroutine of a run that ends waits for ever */
                return w_run_is_on() ? -EPERM : -ESHUTDOWN;
        if (gp->id == id)
                return -EDEADLK;
        W_ENTER();
        int rc = join(id);

        W_LEAVE();
        return rc;
}
