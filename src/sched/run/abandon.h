/* sched/run/abandon.h - threads that a run abandons at its end. PROTOCOL abandon:
 * sched/run/abandon.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_RUN_ABANDON_H
#define W_SCHED_RUN_ABANDON_H

#include "sched/sched.h"

/* Waits for the threads to end, for shutdown_ms at most. Returns how many were abandoned.
 * Afterwards an abandoned thread touches no memory of weft except the record of its M. Context: the
 * end of a run; all threads have been asked to end, and the monitor has ended. */
W_MUST_CHECK uint32_t w_abandon_await(void);

/* True once a thread of this process was abandoned: signals may still arrive for it. */
bool w_abandon_any(void);

/* Forgets the goroutines of abandoned threads, and keeps their stacks. Context: all other threads
 * have ended. */
void w_abandon_keep_stacks(void);

/* True: the run has abandoned mp, the M of the calling thread. */
bool w_m_is_abandoned(const struct m *mp);

/* For enter.c: stops an abandoned thread at its next entry. */
W_NORETURN void w_abandon_sleep(struct m *mp);

#endif
