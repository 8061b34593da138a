/* tests/flow/scope/test_scope.c - one scope: deadline, cancel, children, first error, status,
 * shield.
 *
 * test: procs=1,2,4
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/inject.h"
#include "lib/scope.h"

#include <errno.h>
#include <pthread.h>

/* ---- Cancel ---------------------------------------------------------------------------------- */

GO_TEST(cancel_wakes_a_child_that_sleeps)
{
        weft_scope s;
        int        result = 1;

        scope_open(&s, WEFT_FOREVER);
        CHECK_EQ(weft_cancelled(), 0);
        CHECK_EQ(weft_scope_status(&s), 0);
        int64_t id = scope_go(&s, scope_park, &result);

        sched_await_parked(id);
        weft_scope_cancel(&s);
        weft_scope_cancel(&s);
        CHECK_EQ(weft_cancelled(), -ECANCELED);
        CHECK_EQ(weft_scope_status(&s), -ECANCELED);
        CHECK_EQ(weft_scope_go(&s, scope_park, &result), -ECANCELED);
        scope_close(&s, 0);
        CHECK_EQ(result, -ECANCELED);
        CHECK_EQ(weft_cancelled(), 0);
        CHECK_EQ(weft_scope_status(&s), -ECANCELED);
        CHECK_EQ(weft_count(), 1);
}

static void cancel_it(void *scope)
{
        weft_scope_cancel(scope);
}

GO_TEST(cancel_from_a_goroutine_outside_wakes_the_opener)
{
        weft_scope s;

        scope_open(&s, SCOPE_LONG_TIME);
        int64_t id = sched_go(cancel_it, &s);

        CHECK_EQ(weft_park(), -ECANCELED);
        CHECK_EQ(weft_park(), -ECANCELED);
        scope_close(&s, 0);
        sched_join(id);
}

static void *cancel_from_thread(void *scope)
{
        struct timespec ms = { 0, 1000000 };

        nanosleep(&ms, NULL);
        weft_scope_cancel(scope);
        return NULL;
}

GO_TEST(cancel_from_a_foreign_thread)
{
        weft_scope s;
        pthread_t  thread;
        int        results[4];

        scope_open(&s, WEFT_FOREVER);
        for (int i = 0; i < 4; i++)
                scope_go(&s, scope_park, &results[i]);
        CHECK_EQ(pthread_create(&thread, NULL, cancel_from_thread, &s), 0);
        CHECK_EQ(weft_park(), -ECANCELED);
        scope_close(&s, 0);
        for (int i = 0; i < 4; i++)
                CHECK_EQ(results[i], -ECANCELED);
        CHECK_EQ(pthread_join(thread, NULL), 0);
}

/* ---- Deadlines ------------------------------------------------------------------------------- */

GO_TEST(a_deadline_ends_every_wait)
{
        weft_scope s;
        int        result = 1;
        int64_t    begin = w_os_now();

        scope_open(&s, WEFT_MS(3));
        if (weft_scope_go(&s, scope_park, &result) < 0)
                result = weft_cancelled();      /* a slow machine */
        CHECK_EQ(weft_park(), -ETIMEDOUT);
        CHECK(w_os_now() >= begin + WEFT_MS(3));
        CHECK_EQ(weft_cancelled(), -ETIMEDOUT);
        CHECK_EQ(weft_scope_status(&s), -ETIMEDOUT);
        CHECK_EQ(weft_scope_go(&s, scope_park, &result), -ETIMEDOUT);
        weft_scope_cancel(&s);                  /* too late to count */
        CHECK_EQ(weft_scope_status(&s), -ETIMEDOUT);
        CHECK_EQ(weft_park(), -ETIMEDOUT);
        scope_close(&s, 0);
        CHECK_EQ(result, -ETIMEDOUT);
}

GO_TEST(a_timeout_of_nothing_is_past_already)
{
        static const int64_t past[] = { 0, -1, INT64_MIN };

        for (size_t i = 0; i < W_ARRAY_LEN(past); i++) {
                weft_scope s;

                scope_open(&s, past[i]);
                CHECK_EQ(weft_cancelled(), -ETIMEDOUT);
                CHECK_EQ(weft_park(), -ETIMEDOUT);
                CHECK_EQ(weft_scope_go(&s, scope_park, NULL), -ETIMEDOUT);
                scope_close(&s, 0);
                CHECK_EQ(weft_scope_status(&s), -ETIMEDOUT);
        }
}

GO_TEST(an_enormous_timeout_does_not_wrap)
{
        weft_scope s;

        scope_open(&s, INT64_MAX - 1);
        CHECK_EQ(weft_cancelled(), 0);
        CHECK_EQ(weft_unpark(weft_id()), 0);
        CHECK_EQ(weft_park(), 0);
        scope_close(&s, 0);
        CHECK_EQ(weft_scope_status(&s), 0);
}

GO_TEST(a_deadline_that_passes_while_busy_ends_the_next_call)
{
        weft_scope s;

        CHECK_EQ(weft_unpark(weft_id()), 0);
        scope_open(&s, WEFT_MS(2));
        scope_compute_until(w_os_now() + WEFT_MS(2));
        CHECK_EQ(weft_park(), -ETIMEDOUT);      /* though there is a token */
        CHECK_EQ(weft_cancelled(), -ETIMEDOUT);
        scope_close(&s, 0);
        CHECK_EQ(weft_park(), 0);               /* the token stayed */
}

GO_TEST(a_cancellation_before_the_deadline_counts_for_good)
{
        weft_scope s;

        scope_open(&s, WEFT_MS(50));
        weft_scope_cancel(&s);
        if (weft_scope_status(&s) == -ECANCELED) {      /* not delayed before the cancel */
                scope_compute_until(w_os_now() + WEFT_MS(51));
                CHECK_EQ(weft_scope_status(&s), -ECANCELED);
                CHECK_EQ(weft_park(), -ECANCELED);
        }
        scope_close(&s, 0);
}

/* ---- Children -------------------------------------------------------------------------------- */

static int return_arg(void *arg)
{
        return (int)(intptr_t)arg;
}

static int exit_early(void *arg)
{
        (void)arg;
        weft_exit();
}

GO_TEST(a_childs_result_cancels_the_others)
{
        weft_scope s;
        int        result = 1;

        scope_open(&s, WEFT_FOREVER);
        sched_await_parked(scope_go(&s, scope_park, &result));
        sched_join(scope_go(&s, return_arg, NULL));
        sched_join(scope_go(&s, exit_early, NULL));
        CHECK_EQ(weft_cancelled(), 0);
        scope_go(&s, return_arg, (void *)(intptr_t)7);
        while (weft_cancelled() == 0)
                weft_yield();
        CHECK_EQ(weft_cancelled(), -ECANCELED);
        CHECK_EQ(weft_scope_status(&s), -ECANCELED);
        scope_close(&s, 7);
        CHECK_EQ(result, -ECANCELED);
}

/* Comes second: only once the scope is cancelled. */
static int fail_when_cancelled(void *arg)
{
        CHECK_EQ(weft_park(), -ECANCELED);
        return (int)(intptr_t)arg;
}

GO_TEST(close_returns_the_first_error)
{
        weft_scope s;

        scope_open(&s, WEFT_FOREVER);
        for (intptr_t i = 0; i < 5; i++)
                scope_go(&s, fail_when_cancelled, (void *)(-100 - i));
        scope_go(&s, return_arg, (void *)(intptr_t)-9);
        scope_close(&s, -9);

        scope_open(&s, WEFT_FOREVER);           /* an error after a cancel is reported too */
        scope_go(&s, fail_when_cancelled, (void *)(intptr_t)5);
        weft_scope_cancel(&s);
        scope_close(&s, 5);
}

static int64_t opener;

static int unpark_opener(void *arg)
{
        (void)arg;
        CHECK_EQ(weft_unpark(opener), 0);
        return 0;
}

GO_TEST(waits_in_a_scope_go_on_as_usual)
{
        weft_scope s;

        opener = weft_id();
        scope_open(&s, SCOPE_LONG_TIME);
        for (int i = 0; i < 50; i++) {
                scope_go(&s, unpark_opener, NULL);
                CHECK_EQ(weft_park(), 0);
        }
        scope_close(&s, 0);
        CHECK_EQ(weft_scope_status(&s), 0);
}

static void see_nothing(void *result)
{
        *(int *)result = weft_cancelled();
}

GO_TEST(a_plain_goroutine_is_in_no_scope)
{
        weft_scope s;
        int        result = 1;

        scope_open(&s, WEFT_FOREVER);
        weft_scope_cancel(&s);
        int64_t id = sched_go(see_nothing, &result);

        weft_shield_begin();                    /* join is a wait, too */
        sched_join(id);
        weft_shield_end();
        CHECK_EQ(result, 0);
        scope_close(&s, 0);
}

static w_atomic_u32 n_children;

static int count_and_park(void *arg)
{
        (void)arg;
        w_add_rlx(&n_children, 1);
        return weft_park() == -ECANCELED ? 0 : 1;
}

GO_TEST(ten_thousand_children_are_cancelled)
{
        weft_scope s;
        uint32_t   n = sched_scale(10000);

        scope_open(&s, WEFT_FOREVER);
        for (uint32_t i = 0; i < n; i++)
                scope_go(&s, count_and_park, NULL);
        sched_await(&n_children, n);
        weft_scope_cancel(&s);
        scope_close(&s, 0);
        CHECK_EQ(weft_count(), 1);
}

/* ---- No memory ------------------------------------------------------------------------------- */

#if defined(W_DEBUG)
static int park_uncounted(void *arg)
{
        (void)arg;
        return weft_park() == -ECANCELED ? 0 : 1;
}

GO_TEST(a_child_for_which_there_is_no_memory)
{
        weft_scope s;
        int64_t    id;

        scope_open(&s, WEFT_FOREVER);
        w_inject_from(W_CALL_MMAP, 1, ENOMEM);
        while ((id = weft_scope_go(&s, park_uncounted, NULL)) > 0)
                CHECK(id < 1000000);
        w_inject_off();
        CHECK_EQ(id, -ENOMEM);
        CHECK_EQ(weft_scope_status(&s), 0);
        weft_scope_cancel(&s);
        scope_close(&s, 0);             /* does not wait for the refused child */
        CHECK_EQ(weft_count(), 1);
}

#else

TEST(a_child_for_which_there_is_no_memory)
{
        test_skip("release builds have no fault injection");
}

#endif

/* ---- Bad arguments --------------------------------------------------------------------------- */

static void main_bad(void *arg)
{
        weft_scope s;

        (void)arg;
        CHECK_EQ(weft_scope_open(NULL, 1), -EINVAL);
        CHECK_EQ(weft_scope_close(NULL), -EINVAL);
        CHECK_EQ(weft_scope_status(NULL), -EINVAL);
        CHECK_EQ(weft_scope_go(NULL, return_arg, NULL), -EINVAL);
        weft_scope_cancel(NULL);
        scope_open(&s, WEFT_FOREVER);
        CHECK_EQ(weft_scope_go(&s, NULL, NULL), -EINVAL);
        scope_close(&s, 0);
}

TEST(bad_arguments)
{
        weft_scope s;

        CHECK_EQ(weft_scope_open(&s, 1), -ESHUTDOWN);
        CHECK_EQ(weft_scope_close(&s), -ESHUTDOWN);
        CHECK_EQ(weft_cancelled(), -ESHUTDOWN);
        sched_run(main_bad, NULL);
}
