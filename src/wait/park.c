/* wait/park.c - one token per goroutine: park waits for it, unpark hands it over.
 *
 * Protocols   owns park-unpark; cites wake (wait/wake.c), scope-tree (scope/tree.c).
 *
 * PROTOCOL park-unpark
 *
 * Goal      park returns once for each token. A token that comes before the park is kept. Two
 *           tokens are merged into one. A park that a scope ends leaves the token alone.
 * Parties   owner (the goroutine), committer of its park, giver (any thread).
 * Words     g.token
 *             NONE          no token, and the owner does not wait
 *             PARKED        the owner waits outside any scope
 *             TOKEN         a token is there
 *             an address    the waiter of a park in a scope
 * Owner
 *   1. token is TOKEN: go to 3.
 *   2. w_park.
 *   3. Exchange NONE [UP1].
 * Owner in a scope, in place of step 2
 *   2a. CAS NONE -> waiter [UP2]. TOKEN found: go to 3.
 *   2b. Park as all waits do.
 *   2c. Ended by the scope: CAS waiter -> NONE. TOKEN found: leave it, and take the lock of the
 *       owner's id once, so that the giver is done with the waiter.
 * Committer
 *   1. CAS NONE -> PARKED [UP2]. TOKEN found: the park does not happen.
 * Giver
 *   1. Under the lock of the id: exchange TOKEN [UP1][UP2]. The old value was a waiter: claim it.
 *   2. The old value was PARKED, or the claim was won: ready the owner.
 * Edges     [UP1] what the giver did before   give: token xchg-acqrel -> owner: token xchg-acqrel
 *           [UP2] saved registers, WAITING, waiter   commit or owner: token CAS-release -> give:
 *           token xchg-acqrel
 * Why one wake   a giver wakes the owner only if its exchange finds PARKED, or finds the waiter and
 *           wins its claim. Neither value is stored again before the owner has run.
 * Why no giver is overlooked   the owner itself takes the token, after it was woken. It therefore
 *           acquires from every giver up to then. Suppose that the waking giver took the token for
 *           the owner. A second giver in between would then be merged with the first, but the owner
 *           might not see what the second giver wrote before.
 * Tests     flow/sched/test_unpark.c, flow/scope/test_scope.c, explore scenarios unpark*, sim
 *           scenarios sched_park and scope_*, mutants unpark-*, sched-* and scope-*.
 *
 * SPDX-License-Identifier: MIT
 */
#include "wait/wait.h"

#include "base/assert.h"
#include "scope/tree.h"

#include "sched/ready.h"
#include "sched/run/foreign.h"
#include "sched/run/run.h"
#include "sched/switch.h"
#include "weft.h"

#include <errno.h>      /* -Exxx */

enum { NONE, PARKED, TOKEN, FIRST_WAITER };

static bool commit_parked(struct g *gp, void *arg)
{
        uintptr_t seen = NONE;

        (void)arg;
        return w_cas_rel(&gp->token, &seen, PARKED);              /* [UP2] */
}

/* ---- In a scope ------------------------------------------------------------------------------ */

static void unlock_nothing(void *arg)
{
        (void)arg;
}

/* When this returns, no giver finds w through the token any more. */
static void retract(struct g *gp, struct wait *w)
{
        uintptr_t    seen = (uintptr_t)&w->waiter;
        struct g    *self = NULL;
        struct lock *held = NULL;

        if (w_cas_rlx(&gp->token, &seen, NONE))                   /* guarded: no giver found it */
                return;
        if (w_id_find(gp->id, &self, &held) == W_ID_ALIVE)
                w_unlock(held);
}

/* 0: a token is there; the caller takes it. */
static int park_in_scope(struct g *gp)
{
        struct wait w;
        uintptr_t   seen = NONE;
        int         rc = 0;

        w_wait_begin(&w, W_FOREVER, W_CANCELLABLE);
        W_ASSERT(!w.waiter.sole);       /* no lock keeps givers away until the commit */
        if (w_cas_rel(&gp->token, &seen, (uintptr_t)&w.waiter)) { /* [UP2] */
                uint32_t verdict = w_wait_park(&w, W_WAIT_PARK, unlock_nothing, NULL);

                if (verdict != W_VERDICT_OTHER) {
                        retract(gp, &w);
                        rc = w_wait_error(&w, verdict);
                }
        }
        w_wait_end(&w);
        return rc;
}

/* ---- Public ---------------------------------------------------------------------------------- */

static int park(struct g *gp)
{
        int rc = w_call_check();

        if (rc < 0)
                return rc;
        if (w_load_rlx(&gp->token) != TOKEN) {                    /* guarded by the CAS */
                if (W_LIKELY(!w_scope_current(gp)))
                        w_park(W_WAIT_PARK, commit_parked, NULL);
                else
                        rc = park_in_scope(gp);
        }
        if (rc == 0)
                w_xchg_acqrel(&gp->token, NONE);                  /* [UP1] */
        return rc;
}

W_EXPORT int weft_park(void)
{
        struct g *gp = w_g();

        if (!gp)                /* a goroutine of an ending run parks for ever, below */
                return w_run_is_on() ? -EPERM : -ESHUTDOWN;
        W_ENTER();
        int rc = park(gp);

        W_LEAVE();
        return rc;
}

/* Stores the token. True: the caller must ready the goroutine itself once the lock of the id is
 * released. Else it must wake *sleeper then, unless that is NULL. */
static bool give(struct g *gp, struct waiter **sleeper)
{
        uintptr_t was = w_xchg_acqrel(&gp->token, TOKEN);         /* [UP1][UP2] */

        if (was < FIRST_WAITER)
                return was == PARKED;
        struct waiter *w = (struct waiter *)was;

        if (w_wake_claim(w, W_VERDICT_OTHER) == W_CLAIM_WON)
                *sleeper = w;
        return false;
}

W_EXPORT int weft_unpark(int64_t id)
{
        struct g      *gp = NULL;
        struct lock   *held = NULL;
        struct waiter *sleeper = NULL;
        bool           parked = false;

        if (!w_foreign_enter())
                return -ESHUTDOWN;
        W_ENTER();
        bool alive = w_id_find(id, &gp, &held) == W_ID_ALIVE;

        if (alive) {
                parked = give(gp, &sleeper);
                w_unlock(held);
        }
        if (parked)             /* only this thread may wake gp, and gp cannot end before */
                w_ready(gp);
        else if (sleeper)
                w_wake_up(sleeper);
        W_LEAVE();
        w_foreign_exit();
        return alive ? 0 : -ESRCH;
}
