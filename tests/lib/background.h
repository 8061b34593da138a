/* tests/lib/background.h - what the tests of a runtime in the background share.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTS_LIB_BACKGROUND_H
#define TESTS_LIB_BACKGROUND_H

#include "lib/sync.h"

extern w_atomic_u32 background_n_ran;

void background_count(void *arg);

void background_start(void);

void background_stop(void);

#endif
