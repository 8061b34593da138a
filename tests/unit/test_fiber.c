/* tests/unit/test_fiber.c - arch/fiber.c: fibers on one thread.
 *
 * test: libs=m
 *
 * SPDX-License-Identifier: MIT
 */
#include "harness/test.h"

#include "arch/fiber.h"

#include <fenv.h>
#include <signal.h>

enum { STACK_SIZE = 64 * 1024, N_FIBERS = 8 };

static _Alignas(64) unsigned char stacks[N_FIBERS][STACK_SIZE];
static struct fiber               test_fiber, fibers[N_FIBERS];
static int                        n_steps;

static void make(int i, void (*fn)(void *))
{
        w_fiber_make(&fibers[i], stacks[i], STACK_SIZE, stacks[i] + STACK_SIZE, fn,
                     (void *)(intptr_t)i);
}

static void run_once(int i, void (*fn)(void *))
{
        make(i, fn);
        w_fiber_switch(&test_fiber, &fibers[i]);
        w_fiber_destroy(&fibers[i]);
}

static void step_and_end(void *arg)
{
        int i = (int)(intptr_t)arg;

        w_fiber_begin(&fibers[i]);
        n_steps++;
        w_fiber_switch_last(&fibers[i], &test_fiber);
}

TEST(fiber_runs_and_ends)
{
        w_fiber_adopt(&test_fiber);
        run_once(0, step_and_end);
        CHECK_EQ(n_steps, 1);
}

TEST(fiber_stack_serves_again)
{
        w_fiber_adopt(&test_fiber);
        for (int i = 0; i < 100; i++)
                run_once(0, step_and_end);
        CHECK_EQ(n_steps, 100);
}

static void step_ten_times(void *arg)
{
        int          i = (int)(intptr_t)arg;
        volatile int mine[64];

        w_fiber_begin(&fibers[i]);
        for (int round = 0; round < 10; round++) {
                mine[round] = i * 100 + round;
                n_steps++;
                w_fiber_switch(&fibers[i], &test_fiber);
                CHECK_EQ(mine[round], i * 100 + round);
        }
        w_fiber_switch_last(&fibers[i], &test_fiber);
}

TEST(fiber_keeps_its_locals_while_others_run)
{
        w_fiber_adopt(&test_fiber);
        for (int i = 0; i < N_FIBERS; i++)
                make(i, step_ten_times);
        for (int round = 0; round < 11; round++) {
                for (int i = 0; i < N_FIBERS; i++)
                        w_fiber_switch(&test_fiber, &fibers[i]);
        }
        CHECK_EQ(n_steps, 10 * N_FIBERS);
        for (int i = 0; i < N_FIBERS; i++)
                w_fiber_destroy(&fibers[i]);
}

TEST(fiber_left_for_good_may_be_destroyed)
{
        w_fiber_adopt(&test_fiber);
        for (int i = 0; i < 100; i++)
                run_once(0, step_ten_times);
        CHECK_EQ(n_steps, 100);
}

static void pass_to_neighbour(void *arg)
{
        int i = (int)(intptr_t)arg;

        w_fiber_begin(&fibers[i]);
        n_steps++;
        w_fiber_switch_last(&fibers[i], i + 1 < N_FIBERS ? &fibers[i + 1] : &test_fiber);
}

TEST(fiber_may_end_into_one_not_yet_begun)
{
        w_fiber_adopt(&test_fiber);
        for (int i = 0; i < N_FIBERS; i++)
                make(i, pass_to_neighbour);
        w_fiber_switch(&test_fiber, &fibers[0]);
        CHECK_EQ(n_steps, N_FIBERS);
        for (int i = 0; i < N_FIBERS; i++)
                w_fiber_destroy(&fibers[i]);
}

static void check_default_rounding(void *arg)
{
        int i = (int)(intptr_t)arg;

        w_fiber_begin(&fibers[i]);
        CHECK_EQ(fegetround(), FE_TONEAREST);
        CHECK(w_fpenv_is_default());
        n_steps++;
        w_fiber_switch_last(&fibers[i], &test_fiber);
}

TEST(fiber_starts_with_default_rounding_whatever_its_maker_uses)
{
        w_fiber_adopt(&test_fiber);
        CHECK_EQ(fesetround(FE_DOWNWARD), 0);
        run_once(0, check_default_rounding);
        CHECK_EQ(n_steps, 1);
        CHECK_EQ(fegetround(), FE_DOWNWARD);
}

static void round_upward(void *arg)
{
        int i = (int)(intptr_t)arg;

        w_fiber_begin(&fibers[i]);
        CHECK_EQ(fesetround(FE_UPWARD), 0);
        w_fiber_switch(&fibers[i], &test_fiber);
        CHECK_EQ(fegetround(), FE_UPWARD);
        n_steps++;
        w_fiber_switch_last(&fibers[i], &test_fiber);
}

TEST(fiber_rounding_does_not_reach_others)
{
        w_fiber_adopt(&test_fiber);
        make(0, round_upward);
        w_fiber_switch(&test_fiber, &fibers[0]);
        CHECK_EQ(fegetround(), FE_TONEAREST);
        run_once(1, check_default_rounding);
        w_fiber_switch(&test_fiber, &fibers[0]);
        CHECK_EQ(fegetround(), FE_TONEAREST);
        CHECK_EQ(n_steps, 2);
        w_fiber_destroy(&fibers[0]);
}

/* Like the fiber before it, but a check of the record alone would miss it: it changes back. */
TEST(fiber_rounding_set_back_is_not_restored)
{
        w_fiber_adopt(&test_fiber);
        CHECK_EQ(fesetround(FE_TOWARDZERO), 0);
        run_once(0, step_and_end);
        CHECK_EQ(fesetround(FE_TONEAREST), 0);
        run_once(0, step_and_end);
        CHECK_EQ(fegetround(), FE_TONEAREST);
}

static void resume_ended(void *arg)
{
        (void)arg;
        w_fiber_adopt(&test_fiber);
        make(0, step_and_end);
        w_fiber_switch(&test_fiber, &fibers[0]);
        w_fiber_switch(&test_fiber, &fibers[0]);
}

TEST(fiber_resumed_after_its_end_is_stopped)
{
#if defined(__x86_64__)
        test_expect_death(resume_ended, NULL, SIGILL, "");
#else
        test_expect_death(resume_ended, NULL, SIGTRAP, "");
#endif
}
