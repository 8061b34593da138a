/* sched/unpark.c - one token per goroutine: park waits for it, unpark hands it over.
 *
 * Called by   user code, unpark from any thread.
 *
 * PROTOCOL unpark
 *
 * Goal      park returns once for each token; a token that comes first is kept; two are one.
 * Parties   owner (the goroutine), committer of its park, giver (any thread).
 * Words     g.token: NONE, PARKED, TOKEN.
 * Owner     1 TOKEN: go to 3   2 w_park   3 exchange NONE [UP1]
 * Committer CAS NONE -> PARKED [UP2]; TOKEN found: the park does not happen
 * Giver     exchange TOKEN [UP1][UP2]; the old value was PARKED: ready the owner
 * Edges     [UP1] what the giver did before   give: token xchg-acqrel -> owner: token xchg-acqrel
 *           [UP2] saved registers, WAITING   commit: token CAS-release -> give: token xchg-acqrel
 * Why one wake   only the giver whose exchange finds PARKED wakes, and nobody sets PARKED again
 *           before the owner has run.
 * Why no giver is overlooked   the owner itself takes the token, after it was woken, and so
 * acquires
 *           from every giver up to then. If the waking giver took it for the owner, a second giver
 *           in between would be merged with the first, but what it wrote before need not be seen.
 * Tests     flow/test_unpark.c, sim scenario sched_park, mutants sched-*.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/sched.h"

#include "weft.h"

#include <errno.h>      /* -Exxx */

enum { NONE, PARKED, TOKEN };

static bool commit_parked(struct g *gp, void *arg)
{
        uint32_t seen = NONE;

        (void)arg;
        return w_cas_rel(&gp->token, &seen, PARKED);              /* [UP2] */
}

W_EXPORT int weft_park(void)
{
        struct g *gp = w_g();

        if (!gp)                /* a goroutine of a run that ends parks for ever */
                return w_run_is_on() ? -EPERM : -ESHUTDOWN;
        W_ENTER();
        if (w_load_rlx(&gp->token) != TOKEN)                      /* guarded by the commit's CAS */
                w_park(W_WAIT_PARK, commit_parked, NULL);
        w_xchg_acqrel(&gp->token, NONE);                          /* [UP1] */
        W_LEAVE();
        return 0;
}

W_EXPORT int weft_unpark(int64_t id)
{
        struct g    *gp = NULL;
        struct lock *held = NULL;
        bool         parked = false;

        if (!w_guest_begin())
                return -ESHUTDOWN;
        W_ENTER();
        bool alive = w_id_find(id, &gp, &held) == W_ID_ALIVE;

        if (alive) {
                parked = w_xchg_acqrel(&gp->token, TOKEN) == PARKED;      /* [UP1][UP2] */
                w_unlock(held);
        }
        if (parked)             /* nobody else may wake it now, and it cannot end before */
                w_ready(gp);
        W_LEAVE();
        w_guest_end();
        return alive ? 0 : -ESRCH;
}
