/* tests/crash/test_goroutine_overflow.c - a goroutine overflows its stack: which goroutine, and
 * the stack size.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/compiler.h"
#include "harness/test.h"

#include "weft.h"

#include <signal.h>
#include <stdlib.h>

static volatile int sink;

static W_NOINLINE int recurse(int depth)
{
        volatile char frame[200];

        frame[depth % 200] = (char)depth;
        return depth < 0 ? 0 : recurse(depth + 1) + frame[depth % 200];
}

static void overflow(void *arg)
{
        (void)arg;
        sink = recurse(0);
}

static void yield_some(void *arg)
{
        (void)arg;
        for (int i = 0; i < 100; i++)
                weft_yield();
}

static void overflow_late(void *arg)
{
        yield_some(arg);
        overflow(arg);
}

struct scene {
        weft_attr attr;
        void    (*fn)(void *);
};

/* Goroutine 3 overflows. */
static void main_spawns(void *arg)
{
        const struct scene *scene = arg;

        CHECK(weft_go(yield_some, NULL) == 2);
        CHECK(weft_go_with(&scene->attr, scene->fn, NULL) == 3);
        CHECK(weft_join(3) == 0);
}

static void run_scene(void *arg)
{
        (void)!weft_run(main_spawns, arg);
}

TEST(the_report_names_id_name_and_size)
{
        struct scene scene = { { .name = "glutton" }, overflow };

        test_expect_death(run_scene, &scene, SIGABRT,
                          "weft: fatal: stack overflow in goroutine 3 \"glutton\" (64 KiB)");
}

TEST(a_goroutine_without_a_name_is_reported_by_its_id)
{
        struct scene scene = { { .size = 0 }, overflow };

        test_expect_death(run_scene, &scene, SIGABRT,
                          "weft: fatal: stack overflow in goroutine 3 (64 KiB)");
}

TEST(the_size_reported_is_the_one_asked_for)
{
        struct scene scene = { { .stack_size = 40 << 10 }, overflow };

        test_expect_death(run_scene, &scene, SIGABRT, "stack overflow in goroutine 3 (40 KiB)");
}

TEST(overflow_on_any_thread_is_reported)
{
        struct scene scene = { { .name = "late" }, overflow_late };

        setenv("WEFT_PROCS", "4", 1);
        setenv("WEFT_DEBUG", "migrate=1", 1);
        test_expect_death(run_scene, &scene, SIGABRT, "stack overflow in goroutine 3 \"late\"");
}

static void run_main_overflow(void *arg)
{
        (void)!weft_run(overflow, arg);
}

TEST(goroutine_1_has_a_mebibyte)
{
        test_expect_death(run_main_overflow, NULL, SIGABRT,
                          "stack overflow in goroutine 1 (1 MiB)");
}

TEST(the_entry_function_is_named)
{
        struct scene scene = { { .size = 0 }, overflow };

        test_expect_death(run_scene, &scene, SIGABRT, "weft: entry 0x");
}
