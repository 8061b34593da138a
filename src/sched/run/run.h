/* sched/run/run.h - the steps of a run.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_RUN_RUN_H
#define W_SCHED_RUN_RUN_H

#include "sched/sched.h"

enum run_phase { RUN_OFF, RUN_STARTING, RUN_ON, RUN_ENDING, RUN_FORKED };
extern w_atomic_u32 w_run_phase;        /* a  [RN1] run.c [RN2][RN3] foreign.c */

/* False: no runtime runs, or it is stopping. */
bool w_run_is_on_slow(void);
W_INLINE bool w_run_is_on(void)
{
        return W_LIKELY(w_load_rlx(&w_run_phase) == RUN_ON) ||    /* hint: misuse at worst */
               w_run_is_on_slow();
}

/* Registers a hook for the end of the run, once per run. Context: any thread, a run is on. */
void w_run_at_end(struct run_end *hook);

#endif
