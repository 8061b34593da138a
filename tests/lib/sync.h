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
static inline void sync_together(uint32_t n, void (*fn)(void *), void *arg)
{
        int64_t *ids = calloc(n, sizeof(*ids));

        CHECK(ids);
        for (uint32_t i = 0; i < n; i++)
                ids[i] = sched_go(fn, arg);
        for (uint32_t i = 0; i < n; i++)
                sched_join(ids[i]);
        free(ids);
}

/* A goroutine that is known to wait when this returns. */
static inline int64_t sync_go_waiting(void (*fn)(void *), void *arg)
{
        int64_t id = sched_go(fn, arg);

        sched_await_parked(id);
        return id;
}

/* Another number for *fd, so that it is known who uses that: the lowest that is free goes to
 * whoever asks first, and that may be the monitor, which reads of threads that seem to be stuck. */
static inline void sync_renumber(int *fd, int number)
{
        CHECK_EQ(dup3(*fd, number, O_CLOEXEC), number);
        CHECK_EQ(close(*fd), 0);
        *fd = number;
}

enum { SYNC_OWN_NUMBER = 500 };

struct sync_thread {
        pthread_t thread;
        void    (*fn)(void *);
        void     *arg;
};

static inline void *sync_thread_main(void *arg)
{
        struct sync_thread *t = arg;

        t->fn(t->arg);
        return NULL;
}

/* fn(arg) on a thread that weft has not made. */
static inline void sync_thread_start(struct sync_thread *t, void (*fn)(void *), void *arg)
{
        t->fn = fn;
        t->arg = arg;
        CHECK_EQ(pthread_create(&t->thread, NULL, sync_thread_main, t), 0);
}

static inline void sync_thread_join(struct sync_thread *t)
{
        CHECK_EQ(pthread_join(t->thread, NULL), 0);
}

/* Runs one of them: in a goroutine, or on a thread that weft has not made, for which the caller, a
 * goroutine, then blocks its own. */
static inline void sync_run_in(bool thread, void (*in_goroutine)(void *), void (*in_thread)(void *))
{
        struct sync_thread t;

        if (!thread) {
                sched_join(sched_go(in_goroutine, NULL));
                return;
        }
        sync_thread_start(&t, in_thread, NULL);
        weft_block_begin();
        sync_thread_join(&t);
        weft_block_end();
}

/* A thread that weft has not made calls call(arg), which waits; the run ends meanwhile. */
struct sync_across {
        struct sync_thread thread;
        int              (*call)(void *arg);
        void              *arg;
        int                rc;
};

static inline void sync_across_thread(void *arg)
{
        struct sync_across *a = arg;

        a->rc = a->call(a->arg);
}

static inline void sync_across_main(void *arg)
{
        struct sync_across *a = arg;

        sync_thread_start(&a->thread, sync_across_thread, a);
        w_os_sleep_until(w_os_now() + 2000000);
}

/* What the call returned. */
static inline int sync_call_across_the_end(int (*call)(void *), void *arg)
{
        struct sync_across a = { .call = call, .arg = arg, .rc = 1 };

        sched_run(sync_across_main, &a);
        sync_thread_join(&a.thread);
        return a.rc;
}

/* rc = call(arg) in a scope that a child cancels while it waits. */
struct sync_cancelled {
        int      (*call)(void *arg);
        void      *arg;
        int64_t    waiter;
        weft_scope scope;
        int        rc;
};

static inline int sync_cancel_child(void *arg)
{
        struct sync_cancelled *c = arg;

        sched_await_parked(c->waiter);
        weft_scope_cancel(&c->scope);
        return 0;
}

static inline int sync_call_cancelled(int (*call)(void *), void *arg)
{
        struct sync_cancelled c = { .call = call, .arg = arg, .waiter = weft_id() };

        CHECK_EQ(weft_scope_open(&c.scope, WEFT_FOREVER), 0);
        CHECK(weft_scope_go(&c.scope, sync_cancel_child, &c) > 0);
        c.rc = call(arg);
        CHECK_EQ(weft_scope_close(&c.scope), 0);
        return c.rc;
}

/* rc = call(arg) in a scope whose time is over, or ends soon. */
static inline int sync_call_timed(int (*call)(void *), void *arg, int64_t ns)
{
        weft_scope scope;

        CHECK_EQ(weft_scope_open(&scope, ns), 0);
        int rc = call(arg);

        CHECK_EQ(weft_scope_close(&scope), 0);
        return rc;
}

#endif
