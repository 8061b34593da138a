/* sched/run/abandon.h - threads that do not come back when their run ends. PROTOCOL abandon:
 * sched/run/abandon.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_RUN_ABANDON_H
#define W_SCHED_RUN_ABANDON_H

#include "sched/sched.h"

/* The end of a run, with everyone asked to end and the monitor gone: waits for the threads, for
 * shutdown_ms at most. How many are left behind: from here on they touch nothing of weft's but
 * their own records. */
W_MUST_CHECK uint32_t w_abandon_await(void);

/* True once some thread of this process was left behind: signals may still come for it. */
bool w_abandon_any(void);

/* Their goroutines are forgotten, and their stacks stay when all others go. Nobody else is left. */
void w_abandon_keep_stacks(void);

/* mp, the calling thread's, is one of them. */
bool w_m_is_abandoned(const struct m *mp);

/* enter.c: for such a thread, at its next entry. */
W_NORETURN void w_abandon_sleep(struct m *mp);

#endif
