/* tests/flow/arch/coroutine.h - fibers on one thread with resume and yield, for tests in C and C++.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTS_FLOW_COROUTINE_H
#define TESTS_FLOW_COROUTINE_H

#ifdef __cplusplus
extern "C" {
#endif

struct coroutine;

/* fn(arg) runs when first resumed and ends by returning. */
struct coroutine *coroutine_new(void (*fn)(void *), void *arg);

/* Runs it until it yields or ends; 1 while there is more to run. Not from inside a coroutine. */
int coroutine_resume(struct coroutine *c);

/* Back to the resumer; only inside a coroutine. */
void coroutine_yield(void);

/* Ended or not. */
void coroutine_free(struct coroutine *c);

#ifdef __cplusplus
}
#endif
#endif
