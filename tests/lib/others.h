/* tests/lib/others.h - goroutines that stay in user code, and others that run beside them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTS_LIB_OTHERS_H
#define TESTS_LIB_OTHERS_H

#include "lib/sync.h"

enum { OTHERS_PINGERS = 8, OTHERS_PINGS = 20, OTHERS_STUCK_MAX = 8 };

extern w_atomic_u32 others_done, others_n_pings;

void others_ping(void *arg);

uint32_t others_more_than_ps(void);

/* Goroutine 1 starts n goroutines that run fn, which stays in user code until others_done is set,
 * and some that ping. others_done is set when the pings are done. */
void others_go_on(void (*fn)(void *), void *arg, uint32_t n);

#endif
