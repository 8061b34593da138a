/* tests/crash/test_scope_misuse.c - scopes that are closed wrongly, or not at all.
 *
 * test: valgrind=no
 * The tests only fork and abort: valgrind takes long and finds nothing.
 *
 * SPDX-License-Identifier: MIT
 */
#include "harness/test.h"

#include "weft.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

static void run(void *fn)
{
        void (*body)(void *);

        memcpy(&body, fn, sizeof(body));
        (void)!weft_run(body, NULL);
}

static void expect(void (*body)(void *), const char *text)
{
        test_expect_death(run, (void *)&body, SIGABRT, text);
}

static void out_of_order(void *arg)
{
        weft_scope outer, inner;

        (void)arg;
        CHECK(weft_scope_open(&outer, WEFT_FOREVER) == 0);
        CHECK(weft_scope_open(&inner, WEFT_FOREVER) == 0);
        (void)weft_scope_close(&outer);
}

TEST(closing_out_of_order)
{
        expect(out_of_order, "closed out of order");
}

static void twice(void *arg)
{
        weft_scope s;

        (void)arg;
        CHECK(weft_scope_open(&s, WEFT_FOREVER) == 0);
        CHECK(weft_scope_close(&s) == 0);
        (void)weft_scope_close(&s);
}

TEST(closing_twice)
{
        expect(twice, "is not open");
}

static void never_opened(void *arg)
{
        weft_scope s;

        (void)arg;
        memset(&s, 0, sizeof(s));
        (void)weft_scope_close(&s);
}

TEST(closing_what_was_never_opened)
{
        expect(never_opened, "weft_scope_close: scope 0x");
}

static void cancel_closed(void *arg)
{
        weft_scope s;

        (void)arg;
        CHECK(weft_scope_open(&s, WEFT_FOREVER) == 0);
        CHECK(weft_scope_close(&s) == 0);
        weft_scope_cancel(&s);
}

TEST(cancelling_a_closed_scope)
{
        expect(cancel_closed, "weft_scope_cancel: scope 0x");
}

static void open_twice(void *arg)
{
        weft_scope s, between;

        (void)arg;
        CHECK(weft_scope_open(&s, WEFT_FOREVER) == 0);
        CHECK(weft_scope_open(&between, WEFT_FOREVER) == 0);
        (void)!weft_scope_open(&s, WEFT_FOREVER);
}

TEST(opening_twice)
{
        expect(open_twice, "is open already");
}

static void close_copy(void *arg)
{
        weft_scope s, copy;

        (void)arg;
        CHECK(weft_scope_open(&s, WEFT_FOREVER) == 0);
        copy = s;
        (void)weft_scope_close(&copy);
}

TEST(closing_a_copy)
{
        expect(close_copy, "is not open");
}

/* ---- Left open ------------------------------------------------------------------------------- */

static weft_scope left;

static void leave_open(void *arg)
{
        (void)arg;
        CHECK(weft_scope_open(&left, WEFT_FOREVER) == 0);
}

TEST(goroutine_1_ends_with_a_scope_open)
{
        expect(leave_open, "goroutine 1 ends with scope 0x");
}

static void spawn_leaver(void *arg)
{
        CHECK(weft_go(leave_open, arg) == 2);
        (void)weft_join(2);
}

TEST(a_goroutine_ends_with_a_scope_open)
{
        expect(spawn_leaver, "goroutine 2 ends with scope 0x");
}

static void exit_open(void *arg)
{
        weft_scope s;

        (void)arg;
        CHECK(weft_scope_open(&s, WEFT_FOREVER) == 0);
        weft_exit();
}

TEST(weft_exit_with_a_scope_open)
{
        expect(exit_open, "goroutine 1 ends with scope 0x");
}

static int child_leaves_open(void *arg)
{
        leave_open(arg);
        return 0;
}

static void spawn_child_leaver(void *arg)
{
        weft_scope s;

        (void)arg;
        CHECK(weft_scope_open(&s, WEFT_FOREVER) == 0);
        CHECK(weft_scope_go(&s, child_leaves_open, NULL) == 2);
        (void)weft_scope_close(&s);
}

TEST(a_child_ends_with_a_scope_open)
{
        expect(spawn_child_leaver, "goroutine 2 ends with scope 0x");
}

/* ---- By the wrong goroutine ------------------------------------------------------------------ */

static int close_parents(void *scope)
{
        (void)weft_scope_close(scope);
        return 0;
}

static void child_closes(void *arg)
{
        weft_scope s;

        (void)arg;
        CHECK(weft_scope_open(&s, WEFT_FOREVER) == 0);
        CHECK(weft_scope_go(&s, close_parents, &s) == 2);
        (void)weft_scope_close(&s);
}

TEST(a_child_closes_the_scope_it_is_in)
{
        expect(child_closes, "was opened by another goroutine");
}

static void go_outside(void *scope)
{
        (void)!weft_scope_go(scope, close_parents, scope);
}

static void outsider_starts(void *arg)
{
        weft_scope s;

        (void)arg;
        CHECK(weft_scope_open(&s, WEFT_FOREVER) == 0);
        CHECK(weft_go(go_outside, &s) == 2);
        (void)weft_join(2);
}

TEST(starting_a_child_from_outside)
{
        expect(outsider_starts, "the caller is not inside scope 0x");
}

static void end_no_shield(void *arg)
{
        (void)arg;
        weft_shield_end();
}

TEST(ending_a_shield_that_was_not_begun)
{
        expect(end_no_shield, "weft_shield_end without a shield");
}

/* ---- By foreign threads ---------------------------------------------------------------------- */

static void on_thread(void *(*body)(void *), void *arg)
{
        pthread_t thread;

        CHECK_EQ(pthread_create(&thread, NULL, body, arg), 0);
        CHECK_EQ(pthread_join(thread, NULL), 0);
}

static void *thread_leaves_open(void *arg)
{
        leave_open(arg);
        return NULL;
}

static void start_leaving_thread(void *arg)
{
        on_thread(thread_leaves_open, arg);
}

TEST(a_thread_ends_with_a_scope_open)
{
        expect(start_leaving_thread, "ends with scope 0x");
}

static void *thread_out_of_order(void *arg)
{
        out_of_order(arg);
        return NULL;
}

static void start_disorderly_thread(void *arg)
{
        on_thread(thread_out_of_order, arg);
}

TEST(a_thread_closes_out_of_order)
{
        expect(start_disorderly_thread, "closed out of order");
}

static void *thread_closes(void *scope)
{
        (void)weft_scope_close(scope);
        return NULL;
}

static void thread_closes_goroutines(void *arg)
{
        weft_scope s;

        (void)arg;
        CHECK(weft_scope_open(&s, WEFT_FOREVER) == 0);
        on_thread(thread_closes, &s);
}

TEST(a_thread_closes_the_scope_of_a_goroutine)
{
        expect(thread_closes_goroutines, "was opened by another goroutine or thread");
}

static void *open_and_let_close(void *arg)
{
        leave_open(arg);
        on_thread(thread_closes, &left);
        return NULL;
}

static void start_two_threads(void *arg)
{
        on_thread(open_and_let_close, arg);
}

TEST(a_thread_closes_the_scope_of_a_thread)
{
        expect(start_two_threads, "was opened by another goroutine or thread");
}

static void *thread_goes_outside(void *scope)
{
        go_outside(scope);
        return NULL;
}

static void thread_starts_from_outside(void *arg)
{
        weft_scope s;

        (void)arg;
        CHECK(weft_scope_open(&s, WEFT_FOREVER) == 0);
        on_thread(thread_goes_outside, &s);
}

TEST(a_thread_outside_starts_a_child)
{
        expect(thread_starts_from_outside, "the caller is not inside scope 0x");
}

static void *thread_ends_no_shield(void *arg)
{
        end_no_shield(arg);
        return NULL;
}

static void start_unshielded_thread(void *arg)
{
        on_thread(thread_ends_no_shield, arg);
}

TEST(a_thread_ends_a_shield_that_was_not_begun)
{
        expect(start_unshielded_thread, "weft_shield_end without a shield");
}
