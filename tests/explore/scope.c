/* tests/explore/scope.c - PROTOCOL scope-tree: a cancellation is seen and ends a wait; a canceller,
 * or the last child, does not touch the scope afterwards.
 *
 * SPDX-License-Identifier: MIT
 */
#include "goroutines.h"
#include "scenarios.h"

#include "scope/tree.h"

#include "weft.h"

#include <errno.h>

static weft_scope scope;
static weft_sem   sem;
static int        data, got;

static struct scope *inner(void) { return (struct scope *)(void *)&scope; }

/* Goroutine 1 is in the scope. */
static void setup(void)
{
        goroutines_reset();
        weft_sem_init(&sem, 0);
        data = got = 0;
        goroutine_begin(1);
        EXPLORE_CHECK(weft_scope_open(&scope, WEFT_FOREVER) == 0);
}

static void setup_child(void)
{
        setup();
        inner()->n_running = 1;
}

/* A later access to the scope is an error. */
static void close_and_unmap(void)
{
        EXPLORE_CHECK(weft_scope_close(&scope) == 0);
        UNMAP(&inner()->done_at);
}

static void cancel(void)
{
        foreign_begin();
        w_plain_store(&data, 1);
        weft_scope_cancel(&scope);
}

/* 0: not cancelled yet; 1: cancelled. */
static void ask(void)
{
        goroutine_begin(1);
        int rc = weft_cancelled();

        EXPLORE_CHECK(rc == 0 || rc == -ECANCELED);
        got = rc < 0;
        if (got)
                EXPLORE_CHECK(w_plain_load(&data) == 1);
}

static int got_result(void) { return got; }

/* Waits for a permit, in the scope. */
static void wait_in_scope(void)
{
        goroutine_begin(1);
        int rc = weft_sem_acquire(&sem);

        EXPLORE_CHECK(rc == 0 || rc == -ECANCELED);
        got = rc < 0;
        if (got) {
                EXPLORE_CHECK(w_plain_load(&data) == 1);
                close_and_unmap();
        }
}

/* A permit that came too late stays in the semaphore; a permit that was in time is gone. */
static int permit_result(void)
{
        EXPLORE_CHECK((weft_sem_try_acquire(&sem) == 0) == got);
        return got;
}

static void release(void)
{
        foreign_begin();
        weft_sem_release(&sem);
}

static void end_child(void)
{
        foreign_begin();
        w_plain_store(&data, 1);
        w_scope_child_end(inner());
}

static void wait_for_child(void)
{
        goroutine_begin(1);
        close_and_unmap();
        EXPLORE_CHECK(w_plain_load(&data) == 1);
}

const struct explore_scenario scope_scenarios[] = {
        { "scope-ask", "one cancels, one asks whether it was",
          { { "canceller", cancel }, { "observer", ask } }, setup, got_result,
          .required = SEEN(0) | SEEN(1), .bound = ANY },
        { "scope-cancel", "a goroutine waits and closes the scope, one cancels",
          { { "canceller", cancel }, { "member", wait_in_scope } }, setup, got_result,
          .allowed = SEEN(1), .bound = 5 },
        { "scope-either", "a goroutine waits for a permit, one cancels, one releases",
          { { "canceller", cancel }, { "releaser", release }, { "member", wait_in_scope } },
          setup, permit_result, .required = SEEN(0) | SEEN(1), .bound = 2, .stale = 2 },
        { "scope-child", "a goroutine closes, the last child ends",
          { { "child", end_child }, { "closer", wait_for_child } }, setup_child, .bound = ANY },
        { .name = NULL },
};
