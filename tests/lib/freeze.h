/* tests/lib/freeze.h - for the tests of PROTOCOL freeze.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTS_LIB_FREEZE_H
#define TESTS_LIB_FREEZE_H

#include "lib/sync.h"

#include "sched/run/freeze.h"

/* TSan delays signals until a thread makes a call: no thread freezes, only waits are seen. */
#if defined(W_TSAN)
enum { FREEZE_WORKS = 0 };
#else
enum { FREEZE_WORKS = 1 };
#endif

void freeze_need_kernel(void);

#endif
