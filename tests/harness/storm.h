/* tests/harness/storm.h - with TEST_STORM=1 every test runs in a storm of signals.
 *
 * About a thousand times a second every thread of the test is hit by a signal. Its handler does
 * nothing and does not ask for system calls to be restarted. Another process sends it, so that the
 * test has no additional thread or descriptor.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTS_HARNESS_STORM_H
#define TESTS_HARNESS_STORM_H

/* Until the calling process ends. Context: it has one thread. Nothing if TEST_STORM is not set. */
void test_storm_begin(void);

/* Between the two calls no thread is hit. For calls that a signal would end in any case, such as a
 * close(2) that lingers. A thread that waits in the kernel meanwhile is hit at the end. Any
 * thread. */
void test_storm_pause(void);
void test_storm_resume(void);

/* The calling thread is hit no more. */
void test_storm_spare(void);

#endif
