/* tests/lib/os.h - what the tests of os/linux share.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTS_LIB_OS_H
#define TESTS_LIB_OS_H

#include "base/sanitizer.h"
#include "harness/test.h"
#include "os/inject.h"
#include "os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Evaluates a call and checks that it left errno alone, whatever it returned. */
#define KEEPS_ERRNO(stmt) do {                                                                  \
        errno = 4711;                                                                           \
        stmt;                                                                                   \
        CHECK_EQ(errno, 4711);                                                                  \
} while (0)

#if defined(W_DEBUG)
#define NEEDS_INJECTION() ((void)0)
#else
#define NEEDS_INJECTION() test_skip("release builds have no fault injection")
#define w_inject_once(kind, k, error) ((void)(kind), (void)(k), (void)(error))
#define w_inject_from(kind, k, error) ((void)(kind), (void)(k), (void)(error))
#define w_inject_off() ((void)0)
#define w_inject_calls(kind) ((void)(kind), 0u)
#define w_inject_hits() 0u
#endif

/* For actions that valgrind cannot do or must report. */
#define NOT_UNDER_VALGRIND(why) do {                                                            \
        if (test_under_valgrind())                                                              \
                test_skip(why);                                                                 \
} while (0)

/* Does the kernel's own access to the byte fail? Checked without a signal. */
bool os_kernel_faults_at(const void *addr);

/* A thousand signals a second against the calling thread, by a handler that does not restart
 * calls. The harness owns SIGALRM and its timer. */
struct os_storm {
        timer_t timer;
};

void os_storm_signal(int sig);

void os_storm_start(struct os_storm *s);

/* ThreadSanitizer delays signals until the thread calls into libc. */
int os_storm_seen(void);

void os_storm_stop(struct os_storm *s);

#endif
