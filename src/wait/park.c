/* wait/park.c - one token per goroutine: park waits for it, unpark hands it over.
 *
 * Called by   user code, unpark from any thread.
 * Protocols   owns park-unpark; cites wake (wait/wake.c), scope-tree (scope/tree.c).
 *
 * PROTOCOL park-unpark
 *
 * Goal      park returns once for each token; a token that comes first is kept; two are one; a park
 *           that a scope ends leaves the token alone.
 * Parties   owner (the goroutine), committer of its park, giver (any thread).
 * Words     g.token: NONE, PARKED, TOKEN, or the address of the waiter of a park in a scope.
 * Owner     1 TOKEN: go to 3   2 w_park   3 exchange NONE [UP1]
 *  in a scope 2a CAS NONE -> waiter [UP2]; TOKEN found: go to 3   2b sleeps as all waits do
 *           2c ended by the scope: CAS waiter -> NONE; TOKEN found: it stays, and the owner has the
 *           lock of its id once, so that the giver is done with the waiter
 * Committer CAS NONE -> PARKED [UP2]; TOKEN found: the park does not happen
 * Giver     with the lock of the id: exchange TOKEN [UP1][UP2]; the old value was a waiter: claims
 *           it. Then, if it was PARKED or the claim was won: readies the owner
 * Edges     [UP1] what the giver did before   give: token xchg-acqrel -> owner: token xchg-acqrel
 *           [UP2] saved registers, WAITING, waiter   commit or owner: token CAS-release -> give:
 *           token xchg-acqrel
 * Why one wake   only the giver whose exchange finds PARKED, or the waiter and wins it, wakes, and
 *           nobody sets either again before the owner has run.
 * Why no giver is overlooked   the owner itself takes the token, after it was woken, and so
 *           acquires from every giver up to then. If the waking giver took it for the owner, a
 *           second giver in between would be merged with the first, but what it wrote before need
 *           not be seen.
 * Tests     flow/sched/test_unpark.c, flow/scope/test_scope.c, explore scenarios unpark*, sim
 *           scenarios sched_park and scope_*, mutants unpark-*, sched-* and scope-*.
 *
 * SPDX-License-Identifier: MIT
 */
#include "wait/wait.h"

#include "base/assert.h"
#include "scope/tree.h"

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

/* Nobody finds w through the token any more when this returns. */
static void retract(struct g *gp, struct wait *w)
{
        uintptr_t    seen = (uintptr_t)&w->waiter;
        struct g    *self = NULL;
        struct lock *held = NULL;

        if (w_cas_rlx(&gp->token, &seen, NONE))                   /* guarded: it was never found */
                return;
        if (w_id_find(gp->id, &self, &held) == W_ID_ALIVE)
                w_unlock(held);
}

/* 0: there is a token to be taken. */
static int park_in_scope(struct g *gp)
{
        struct wait w;
        uintptr_t   seen = NONE;
        int         rc = 0;

        w_wait_begin(&w, W_FOREVER, W_CANCELLABLE);
        W_ASSERT(!w.waiter.sole);       /* no lock keeps the giver away until the commit */
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

        if (!gp)                /* a goroutine of a run that ends parks for ever */
                return w_run_is_on() ? -EPERM : -ESHUTDOWN;
        W_ENTER();
        int rc = park(gp);

        W_LEAVE();
        return rc;
}

/* Gives the token. What to wake once the lock of the id is released is *sleeper, or the goroutine
 * itself: true. */
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
        if (parked)             /* nobody else may wake it now, and it cannot end before */
                w_ready(gp);
        else if (sleeper)
                w_wake_up(sleeper);
        W_LEAVE();
        w_foreign_exit();
        return alive ? 0 : -ESRCH;
}
