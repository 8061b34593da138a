/* time/sleep.c - weft_sleep: a wait for the clock alone.
 *
 * Protocols   cites timers (sched/timer/timers.c), park (sched/switch.c), wake (wait/wake.c).
 *
 * Without a scope only the timer can end the sleep, so the sleep needs no wake word: the commit
 * arms the timer, when the goroutine is off its stack, and the timer's claim always wins.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/assert.h"
#include "sched/preempt/take.h"
#include "scope/tree.h"
#include "wait/wait.h"

#include "sched/switch.h"
#include "weft.h"

#include <errno.h>      /* -Exxx */

struct nap {
        struct timer timer;
        struct g    *gp;
        int64_t      at;
};

static struct g *claim_nap(struct timer *t)
{
        return W_CONTAINER_OF(t, struct nap, timer)->gp;
}

static bool commit_nap(struct g *gp, void *arg)
{
        struct nap *nap = arg;

        (void)gp;
        bool armed = w_timer_arm(&nap->timer, nap->at);         /* then gp may run elsewhere */

        W_ASSERT(armed);
        return armed;
}

/* False: there is no memory for the timer. */
static bool nap_until(struct g *gp, int64_t at)
{
        struct nap nap = { .timer.claim = claim_nap, .gp = gp, .at = at };

        w_need_p();             /* the commit, which must not fail, arms the timer in its heap */
        if (w_timer_reserve() < 0)
                return false;
        w_park(W_WAIT_SLEEP, commit_nap, &nap);
        return true;
}

static void unlock_nothing(void *arg)
{
        (void)arg;
}

/* For a caller in a scope, or a foreign thread. */
static int wait_until(int64_t at)
{
        struct wait w;
        int         rc = w_call_check();

        if (rc < 0)
                return rc;
        w_wait_begin(&w, at, W_CANCELLABLE);
        rc = w_wait_error(&w, w_wait_park(&w, W_WAIT_SLEEP, unlock_nothing, NULL));
        w_wait_end(&w);
        return rc == -ETIME ? 0 : rc;
}

/* Without memory for a timer the wait ends early. The loop then waits again, and yields to other
 * goroutines in between. */
static int sleep_until(int64_t at)
{
        for (;;) {
                struct g *gp = w_g();
                int       rc = 0;

                if (W_UNLIKELY(!gp || w_scope_current(gp)))
                        rc = wait_until(at);
                else if (W_LIKELY(nap_until(gp, at)))
                        return 0;
                if (rc < 0 || w_os_now() >= at)
                        return rc;
                w_yield();
        }
}

W_EXPORT int weft_sleep(int64_t ns)
{
        if (!w_call_begin())
                return -ESHUTDOWN;
        W_ENTER();
        int rc = w_call_check();

        if (rc == 0 && ns > 0)
                rc = sleep_until(w_time_after(w_os_now(), ns));
        else if (rc == 0)
                w_yield();
        W_LEAVE();
        w_call_end();
        return rc;
}
