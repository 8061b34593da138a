/* tests/lib/sync.h - what the tests of mutex, rwmutex, cond, semaphore, wait group and once
 * share.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTS_LIB_SYNC_H
#define TESTS_LIB_SYNC_H

#include "lib/sched.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

/* n goroutines run fn(arg); returns when all have ended. */
void sync_together(uint32_t n, void (*fn)(void *), void *arg);

/* Starts a goroutine; it waits when this returns. */
int64_t sync_go_waiting(void (*fn)(void *), void *arg);

/* Moves *fd to another number, so that only the test uses it. The lowest free number goes to the
 * next caller, which may be the monitor: it opens files about threads that seem to be stuck. */
void sync_renumber(int *fd, int number);

enum { SYNC_PRIVATE_NUMBER = 500 };

struct sync_thread {
        pthread_t thread;
        void    (*fn)(void *);
        void     *arg;
};

/* Runs fn(arg) on a foreign thread. */
void sync_thread_start(struct sync_thread *t, void (*fn)(void *), void *arg);

void sync_thread_join(struct sync_thread *t);

/* Runs one of them: in a goroutine, or on a foreign thread. The caller, a goroutine, then blocks
 * its own thread until the foreign thread has ended. */
void sync_run_in(bool thread, void (*in_goroutine)(void *), void (*in_thread)(void *));

/* A foreign thread calls call(arg), which waits; the run ends meanwhile. */
struct sync_across {
        struct sync_thread thread;
        int              (*call)(void *arg);
        void              *arg;
        int                rc;
};

/* What the call returned. */
int sync_call_across_the_end(int (*call)(void *), void *arg);

/* rc = call(arg) in a scope that a child cancels while it waits. */
struct sync_cancelled {
        int      (*call)(void *arg);
        void      *arg;
        int64_t    waiter;
        weft_scope scope;
        int        rc;
};

int sync_call_cancelled(int (*call)(void *), void *arg);

/* rc = call(arg) in a scope that has expired, or expires soon. */
int sync_call_timed(int (*call)(void *), void *arg, int64_t ns);

#endif
