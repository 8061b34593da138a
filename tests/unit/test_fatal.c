/* Formatting, writing to stderr, and fatal errors. */
#include "base/assert.h"
#include "base/fatal.h"

#include "harness/test.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

TEST(format_agrees_with_stdio)
{
        char ours[256], theirs[256];
        int  n;

#define SAME(...) do {                                                                          \
        n = snprintf(theirs, sizeof(theirs), __VA_ARGS__);                                      \
        CHECK_EQ(w_format(ours, sizeof(ours), __VA_ARGS__), n);                                 \
        CHECK_STR(ours, theirs);                                                                \
} while (0)
        SAME("plain");
        SAME("%d %d %d", 0, -1, INT_MIN);
        SAME("%ld %lld", LONG_MIN, LLONG_MAX);
        SAME("%u %lu %zu %llu", UINT_MAX, ULONG_MAX, (size_t)7, 0ull);
        SAME("%x %lx", 0xdeadbeefu, 0xfeedfacecafebeeful);
        SAME("[%5d] [%05d] [%3u] [%8lx]", 42, 42, 1234567u, 0xabcul);
        SAME("%s|%c|%%", "text", 'x');
        SAME("%p", (void *)0x1234);
#undef SAME
}

TEST(format_cuts_and_terminates)
{
        char buf[8];

        memset(buf, 'x', sizeof(buf));
        CHECK_EQ(w_format(buf, sizeof(buf), "%s", "0123456789"), 10);
        CHECK_STR(buf, "0123456");
        CHECK_EQ(w_format(buf, 1, "abc"), 3);
        CHECK_STR(buf, "");
        CHECK_EQ(w_format(NULL, 0, "abc %d", 5), 5);
}

TEST(format_says_null_for_a_null_string)
{
        char        buf[16];
        const char *volatile nothing = NULL;

        w_format(buf, sizeof(buf), "%s", (const char *)nothing);
        CHECK_STR(buf, "(null)");
}

static void say_long(void *arg)
{
        char text[2000];

        (void)arg;
        memset(text, 'y', sizeof(text) - 1);
        text[sizeof(text) - 1] = '\0';
        w_say("%s", text);
        w_say("second");
}

TEST(say_keeps_the_newline_of_a_line_that_is_too_long)
{
        char err[4096];

        CHECK_EQ(test_run_child(say_long, NULL, err, sizeof(err)), 0);
        CHECK(strstr(err, "y\nweft: second\n"));
        CHECK(strncmp(err, "weft: yyy", 9) == 0);
}

static void die(void *arg)
{
        (void)arg;
        w_fatal("%s %d", "everything is lost", 7);
}

TEST(fatal_says_why_and_aborts)
{
        test_expect_death(die, NULL, SIGABRT, "weft: fatal: everything is lost 7\n");
}

static void dump_once(void)
{
        w_say("the dump");
}

static void die_with_dump(void *arg)
{
        (void)arg;
        w_fatal_set_dump(dump_once);
        w_fatal("first");
}

TEST(fatal_runs_the_dump_after_the_line)
{
        test_expect_death(die_with_dump, NULL, SIGABRT, "weft: fatal: first\nweft: the dump\n");
}

static void dump_that_fails(void)
{
        w_fatal("inside the dump");
}

static void die_in_dump(void *arg)
{
        (void)arg;
        w_fatal_set_dump(dump_that_fails);
        w_fatal("first");
}

TEST(fatal_inside_the_dump_still_ends)
{
        test_expect_death(die_in_dump, NULL, SIGABRT,
                          "weft: fatal: first\nweft: fatal: inside the dump\n");
}

static void fail_check(void *arg)
{
        W_CHECK(arg != NULL, "found %p, expected something", arg);
}

TEST(check_is_on_in_every_build)
{
        test_expect_death(fail_check, NULL, SIGABRT, "weft: fatal: found 0x0, expected something");
}

static int evaluations;

static bool evaluate(void)
{
        evaluations++;
        return true;
}

TEST(assertions_are_evaluated_only_at_their_level)
{
        int expected = 0;

        W_ASSERT(evaluate());
        W_ASSERT_SLOW(evaluate());
#if defined(W_DEBUG)
        expected++;
#endif
#if defined(W_SLOW_ASSERTS)
        expected++;
#endif
        CHECK_EQ(evaluations, expected);
}

static void fail_assert(void *arg)
{
        W_ASSERT(arg != NULL);
}

TEST(assert_names_condition_and_place)
{
#if !defined(W_DEBUG)
        test_skip("assertions are off in this build");
#endif
        test_expect_death(fail_assert, NULL, SIGABRT,
                          "assertion failed: arg != NULL at tests/unit/test_fatal.c:");
}
