/* tests/lib/freeze.h - for the tests of the world's second stop.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTS_LIB_FREEZE_H
#define TESTS_LIB_FREEZE_H

#include "lib/sync.h"

#include "sched/run/freeze.h"

/* TSan holds signals back until a thread calls something: nobody stands, what waits is seen. */
#if defined(W_TSAN)
enum { FREEZE_STANDS_AT_ALL = 0 };
#else
enum { FREEZE_STANDS_AT_ALL = 1 };
#endif

void freeze_need_kernel(void);

#endif
