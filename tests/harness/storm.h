/* tests/harness/storm.h - with TEST_STORM=1 every test runs in a storm of signals.
 *
 * About a thousand times a second every thread of the test is hit by a signal whose handler does
 * nothing and does not ask for system calls to be restarted. It is sent by another process, so that
 * the test has no thread and no descriptor more.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTS_HARNESS_STORM_H
#define TESTS_HARNESS_STORM_H

/* Until the calling process ends. Context: it has one thread. Nothing if TEST_STORM is not set. */
void test_storm_begin(void);

/* In between nobody is hit, for what a signal would end whatever anyone does about it: a close(2)
 * that lingers. Who waits in the kernel meanwhile is hit at the end of it. Any thread. */
void test_storm_pause(void);
void test_storm_resume(void);

/* The calling thread is hit no more. */
void test_storm_spare(void);

#endif
