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

/* For what valgrind cannot do or must complain about. */
#define NOT_UNDER_VALGRIND(why) do {                                                            \
        if (test_under_valgrind())                                                              \
                test_skip(why);                                                                 \
} while (0)

/* Does the kernel's own access to the byte fail? Seen without dying of it. */
static inline bool kernel_faults_at(const void *addr)
{
        int ends[2];

        CHECK(pipe(ends) == 0);
        ssize_t n = syscall(SYS_write, ends[1], addr, 1);
        bool    faults = n < 0 && errno == EFAULT;
        CHECK(faults || n == 1);
        close(ends[0]);
        close(ends[1]);
        return faults;
}

/* A thousand signals a second against the calling thread, by a handler that does not restart
 * calls. The harness owns SIGALRM and its timer. */
struct storm {
        timer_t timer;
};

static volatile sig_atomic_t storm_strikes;

static inline void storm_strike(int sig)
{
        (void)sig;
        storm_strikes = storm_strikes + 1;
}

static inline void storm_start(struct storm *s)
{
        struct sigaction  action = { .sa_handler = storm_strike };
        struct sigevent   event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1 };
        struct itimerspec often = { { 0, 1000000 }, { 0, 1000000 } };

        event._sigev_un._tid = w_os_tid();
        CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
        CHECK(timer_create(CLOCK_MONOTONIC, &event, &s->timer) == 0);
        CHECK(timer_settime(s->timer, 0, &often, NULL) == 0);
}

/* ThreadSanitizer keeps signals back until the thread calls into libc. */
static inline int storm_seen(void)
{
        struct timespec none = { 0, 0 };

        nanosleep(&none, NULL);
        return storm_strikes;
}

static inline void storm_stop(struct storm *s)
{
        CHECK(timer_delete(s->timer) == 0);
}

#endif
