/* sched/run/embed.c - a run in the background: the thread that starts it stays what it is.
 *
 * Called by   user code: weft_start, weft_stop.
 * Protocols   cites foreign (sched/run/foreign.c), world (sched/run/world.c).
 *
 * There is no m0 and no goroutine 1: every P is idle at first, and one thread sleeps. What calls
 * are made, and the stop, come from threads of the program. The id 1 is given to whoever is started
 * first, and means nothing.
 *
 * One stop: `running` goes 0 -> 1 when the start is done and 1 -> 0 by whoever stops, by CAS; who
 * loses finds that there is nothing to stop.
 *
 * Edges     [EM1] the run that was set up   start: running store-release -> stop: running
 *                 CAS-acquire
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/run/fork.h"
#include "sched/sched.h"

#include "weft.h"

#include <errno.h>      /* -Exxx */

static w_atomic_u32 running;            /* a  [EM1] a run that weft_start has begun */

static int start(const weft_config *cfg)
{
        struct run_config config;
        int               rc = w_config_read(&config, cfg);

        if (rc == 0)
                rc = w_run_set_up(&config, NULL);
        return rc;
}

W_EXPORT int weft_start(const weft_config *cfg)
{
        if (!w_run_claim())
                return -EBUSY;
        int rc = start(cfg);

        if (rc < 0) {
                w_run_unclaim();
                return rc;
        }
        w_run_open();
        w_store_rel(&running, 1);                                 /* [EM1] */
        return 0;
}

/* An M cannot wait for its own end. */
W_EXPORT int weft_stop(void)
{
        uint32_t one = 1;

        if (w_is_forked())              /* it would wait for threads of the parent */
                w_fork_refuse();
        if (w_m())
                return -EBUSY;
        if (!w_cas_acq(&running, &one, 0))                        /* [EM1] */
                return -ESHUTDOWN;
        if (w_sched.config.check)       /* WEFT_DEBUG=check=1 */
                (void)weft_check();
        w_run_end();
        int rc = w_run_close(NULL);

        w_run_unclaim();
        return rc;
}
