/* sched/run/foreign.h - calls of threads that the runtime did not create.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_RUN_FOREIGN_H
#define W_SCHED_RUN_FOREIGN_H

#include "sched/run/run.h"

W_MUST_CHECK bool w_foreign_enter_slow(void);
void w_foreign_exit_slow(void);
/* At the end of the run, with the phase ENDING: returns when no foreign thread is in a call. */
void w_foreign_await(void);

/* Called around a call that a foreign thread may make: the run stays up until w_foreign_exit.
 * False: no runtime runs, and w_foreign_exit must not be called. See PROTOCOL foreign
 * (sched/run/foreign.c). */
W_MUST_CHECK W_INLINE bool w_foreign_enter(void)
{
        return W_LIKELY(w_m() != NULL) ? w_run_is_on() : w_foreign_enter_slow();
}

W_INLINE void w_foreign_exit(void)
{
        if (W_UNLIKELY(!w_m()))
                w_foreign_exit_slow();
}

#endif
