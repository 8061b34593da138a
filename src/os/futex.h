/* os/futex.h - CONTRACT: sleeping on a word of memory.
 *
 * The rules for every call are in os/os.h.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_OS_FUTEX_H
#define W_OS_FUTEX_H

#include "base/atomic.h"

/* Sleeps while *word == expected, until woken or until `deadline_at`. Returns 0 also if the word
 * differed from the start, and spuriously: callers must test their condition again. -ETIMEDOUT once
 * the deadline has passed. Private to the process. Async-signal-safe. */
int w_os_futex_wait(w_atomic_u32 *word, uint32_t expected, int64_t deadline_at);

/* Wakes at most n sleepers and returns how many. The word's memory may be gone already.
 * Async-signal-safe. */
int w_os_futex_wake(w_atomic_u32 *word, int n);

#endif
