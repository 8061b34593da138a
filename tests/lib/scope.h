/* tests/lib/scope.h - what the tests of scopes share.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTS_LIB_SCOPE_H
#define TESTS_LIB_SCOPE_H

#include "lib/sched.h"

/* Longer than any test lasts, shorter than for ever: there is a deadline, and it does not pass. */
#define SCOPE_LONG_TIME WEFT_SEC(3600)

void scope_open(weft_scope *s, int64_t timeout);

void scope_close(weft_scope *s, int expected);

int64_t scope_go(weft_scope *s, int (*fn)(void *), void *arg);

/* A child that parks until a scope ends the wait, and stores the result. */
int scope_park(void *result);

/* Computes until the deadline has passed, without a call that waits. */
void scope_compute_until(int64_t at);

/* Whether this goroutine has a token; takes it. */
bool scope_take_token(void);

#endif
