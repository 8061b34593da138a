/* tests/lib/sync.c - what the tests of mutex, rwmutex, cond, semaphore, wait group and once
 * share.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/sync.h"

void sync_together(uint32_t n, void (*fn)(void *), void *arg)
{
        int64_t *ids = calloc(n, sizeof(*ids));

        CHECK(ids);
        for (uint32_t i = 0; i < n; i++)
                ids[i] = sched_go(fn, arg);
        for (uint32_t i = 0; i < n; i++)
                sched_join(ids[i]);
        free(ids);
}

int64_t sync_go_waiting(void (*fn)(void *), void *arg)
{
        int64_t id = sched_go(fn, arg);

        sched_await_parked(id);
        return id;
}

void sync_renumber(int *fd, int number)
{
        CHECK_EQ(dup3(*fd, number, O_CLOEXEC), number);
        CHECK_EQ(close(*fd), 0);
        *fd = number;
}

static void *sync_thread_main(void *arg)
{
        struct sync_thread *t = arg;

        t->fn(t->arg);
        return NULL;
}

void sync_thread_start(struct sync_thread *t, void (*fn)(void *), void *arg)
{
        t->fn = fn;
        t->arg = arg;
        CHECK_EQ(pthread_create(&t->thread, NULL, sync_thread_main, t), 0);
}

void sync_thread_join(struct sync_thread *t)
{
        CHECK_EQ(pthread_join(t->thread, NULL), 0);
}

void sync_run_in(bool thread, void (*in_goroutine)(void *), void (*in_thread)(void *))
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

static void sync_across_thread(void *arg)
{
        struct sync_across *a = arg;

        a->rc = a->call(a->arg);
}

static void sync_across_main(void *arg)
{
        struct sync_across *a = arg;

        sync_thread_start(&a->thread, sync_across_thread, a);
        w_os_sleep_until(w_os_now() + 2000000);
}

int sync_call_across_the_end(int (*call)(void *), void *arg)
{
        struct sync_across a = { .call = call, .arg = arg, .rc = 1 };

        sched_run(sync_across_main, &a);
        sync_thread_join(&a.thread);
        return a.rc;
}

static int sync_cancel_child(void *arg)
{
        struct sync_cancelled *c = arg;

        sched_await_parked(c->waiter);
        weft_scope_cancel(&c->scope);
        return 0;
}

int sync_call_cancelled(int (*call)(void *), void *arg)
{
        struct sync_cancelled c = { .call = call, .arg = arg, .waiter = weft_id() };

        CHECK_EQ(weft_scope_open(&c.scope, WEFT_FOREVER), 0);
        CHECK(weft_scope_go(&c.scope, sync_cancel_child, &c) > 0);
        c.rc = call(arg);
        CHECK_EQ(weft_scope_close(&c.scope), 0);
        return c.rc;
}

int sync_call_timed(int (*call)(void *), void *arg, int64_t ns)
{
        weft_scope scope;

        CHECK_EQ(weft_scope_open(&scope, ns), 0);
        int rc = call(arg);

        CHECK_EQ(weft_scope_close(&scope), 0);
        return rc;
}
