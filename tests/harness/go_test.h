/* tests/harness/go_test.h - a test with a body that runs as goroutine 1.
 *
 *   GO_TEST(a_yield_returns) { weft_yield(); CHECK_EQ(weft_id(), 1); }
 *
 * The body runs inside sched_run: with what the environment says, and the run must succeed.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTS_HARNESS_GO_TEST_H
#define TESTS_HARNESS_GO_TEST_H

#include "harness/test.h"

/* In lib/sched.c, beside sched_run. */
void sched_run_body(void (*body)(void));

#define GO_TEST(id)                                                                             \
        static void test_go_##id(void);                                                         \
        TEST(id)                                                                                \
        {                                                                                       \
                sched_run_body(test_go_##id);                                                   \
        }                                                                                       \
        static void test_go_##id(void)

#endif
