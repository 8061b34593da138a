/* Once: one call, all callers return after it, also if it ends by weft_exit; with and without a
 * runtime.
 *
 * test: procs=1,2,4
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/sync.h"

static weft_once    once = WEFT_ONCE_INIT, inner = WEFT_ONCE_INIT;
static uint32_t     n_calls;            /* plain: ordered by the once */
static w_atomic_u32 n_returned;

static void count(void *arg)
{
        (void)arg;
        n_calls++;
}

static void never(void *arg)
{
        (void)arg;
        CHECK_MSG(false, "called a second time");
}

TEST(it_works_without_a_runtime)
{
        weft_once zero = { 0 };

        weft_once_do(&zero, count, NULL);
        CHECK_EQ(n_calls, 1);
        weft_once_do(&zero, never, NULL);
        weft_once_do(&zero, NULL, NULL);        /* nothing would be called */
}

static void slow_count(void *arg)
{
        for (int i = 0; i < 100; i++)
                weft_yield();
        count(arg);
}

static void ask(void *arg)
{
        (void)arg;
        weft_once_do(&once, slow_count, NULL);
        CHECK_EQ(n_calls, 1);
        w_add_rlx(&n_returned, 1);
}

GO_TEST(all_return_after_the_one_call)
{
        struct sync_thread threads[2];

        for (int i = 0; i < 2; i++)
                sync_thread_start(&threads[i], ask, NULL);
        sync_together(10, ask, NULL);
        for (int i = 0; i < 2; i++)
                sync_thread_join(&threads[i]);
        CHECK_EQ(w_load_rlx(&n_returned), 12);
}

TEST(threads_wait_without_a_runtime)
{
        struct sync_thread threads[4];

        for (int i = 0; i < 4; i++)
                sync_thread_start(&threads[i], ask, NULL);
        for (int i = 0; i < 4; i++)
                sync_thread_join(&threads[i]);
        CHECK_EQ(w_load_rlx(&n_returned), 4);
}

/* ---- Nested, and ended by weft_exit ---------------------------------------------------------- */

static void outer_fn(void *arg)
{
        weft_once_do(&inner, arg ? *(void (**)(void *))arg : count, NULL);
        n_calls++;
}

GO_TEST(one_once_may_use_another)
{
        weft_once_do(&once, outer_fn, NULL);
        CHECK_EQ(n_calls, 2);
}

static void count_and_exit(void *arg)
{
        slow_count(arg);
        weft_exit();
}

static void ask_exiting(void *arg)
{
        void (*fn)(void *) = count_and_exit;

        (void)arg;
        weft_once_do(&once, outer_fn, &fn);
        CHECK_EQ(n_calls, 1);                   /* the caller that ran it has exited */
        w_add_rlx(&n_returned, 1);
}

GO_TEST(a_function_that_ends_by_weft_exit_counts_as_done)
{
        sync_together(10, ask_exiting, NULL);
        CHECK_EQ(w_load_rlx(&n_returned), 9);
        weft_once_do(&once, never, NULL);
        weft_once_do(&inner, never, NULL);
}

static void exit_later(void *arg)
{
        (void)arg;
        weft_once_do(&once, count, NULL);
        weft_exit();                            /* after the call: the exit has nothing to finish */
}

GO_TEST(an_exit_after_the_call_does_nothing_more)
{
        sync_together(3, exit_later, NULL);
        CHECK_EQ(n_calls, 1);
}
