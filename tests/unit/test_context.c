/* tests/unit/test_context.c - arch/<cpu>/context.h and entry.c: the bare context.
 *
 * Built with the flags of the files that contain a switch, and without annotations: no instrumented
 * code runs on these stacks.
 *
 * test: libs=m switch=yes
 * The file contains a switch.
 *
 * SPDX-License-Identifier: MIT
 */
#include "harness/test.h"

#include "arch/arch.h"

#include <fenv.h>
#include <string.h>

#if defined(W_VALGRIND)
#include <valgrind/valgrind.h>
#else
#define VALGRIND_STACK_REGISTER(low, high) 0
#endif

enum { STACK_SIZE = 16 * 1024, ROOM_ABOVE = 64, PAINT = 0xa5 };

static _Alignas(64) unsigned char stack[3][STACK_SIZE + ROOM_ABOVE];
static struct w_context           test_side, other[3];
static void                      *seen_arg, *seen_local, *seen_frame;
static int                        n_steps;

W_NOIPA static void to_other(int i)
{
        w_context_switch(&test_side, &other[i]);
}

W_NOIPA static void to_test(int i)
{
        w_context_switch(&other[i], &test_side);
}

W_NOIPA static void look_around(void *arg)
{
        _Alignas(16) volatile char local[16];

        local[0] = 1;
        seen_arg = arg;
        seen_local = (void *)(uintptr_t)local;
        seen_frame = __builtin_frame_address(0);
        to_test(0);
        __builtin_trap();
}

static void make(int i, void *top, void (*fn)(void *), void *arg)
{
        memset(stack[i], PAINT, sizeof(stack[i]));
        (void)VALGRIND_STACK_REGISTER(stack[i], stack[i] + STACK_SIZE);
        w_context_make(&other[i], top, fn, arg);
}

TEST(context_starts_fn_with_its_argument_on_its_stack)
{
        make(0, stack[0] + STACK_SIZE, look_around, &n_steps);
        to_other(0);
        CHECK(seen_arg == &n_steps);
        CHECK((unsigned char *)seen_local > stack[0]);
        CHECK((unsigned char *)seen_local < stack[0] + STACK_SIZE);
}

/* The frame address is two words below what the caller's stack pointer was at the call, so it shows
 * whether that was a multiple of 16. */
TEST(context_starts_fn_with_an_aligned_stack)
{
        for (int off = 0; off < 32; off++) {
                make(0, stack[0] + STACK_SIZE - off, look_around, NULL);
                to_other(0);
                CHECK_EQ((uintptr_t)seen_frame % 16, 0);
                CHECK_EQ((uintptr_t)seen_local % 16, 0);
        }
}

TEST(context_touches_nothing_above_top)
{
        for (int off = 0; off < 32; off++) {
                unsigned char *top = stack[0] + STACK_SIZE - off;

                make(0, top, look_around, NULL);
                to_other(0);
                for (unsigned char *p = top; p < stack[0] + STACK_SIZE + ROOM_ABOVE; p++)
                        CHECK_EQ(*p, PAINT);
        }
}

W_NOIPA static void *last_frame(int limit)
{
        void **frame = __builtin_frame_address(0);

        while (limit-- > 0 && *frame)
                frame = *frame;
        return *frame ? NULL : frame;
}

W_NOIPA static void walk_frames(void *arg)
{
        (void)arg;
        seen_frame = last_frame(5);
        to_test(0);
        __builtin_trap();
}

TEST(context_frame_pointers_end_in_zero)
{
        make(0, stack[0] + STACK_SIZE, walk_frames, NULL);
        to_other(0);
        CHECK(seen_frame);
        CHECK((unsigned char *)seen_frame > stack[0]);
        CHECK((unsigned char *)seen_frame < stack[0] + STACK_SIZE);
}

/* What walkers start from; a function may get along without it. */
W_INLINE void *frame_pointer(void)
{
        void *fp;

#if defined(__x86_64__)
        __asm__ volatile("movq %%rbp, %0" : "=r"(fp));
#else
        __asm__ volatile("mov %0, x29" : "=r"(fp));
#endif
        return fp;
}

W_NOIPA static void pass_on(void *arg)
{
        int    i = (int)(intptr_t)arg;
        double live = i + 0.5;
        void  *fp = frame_pointer();

        for (;;) {
                n_steps += i;
                w_context_switch(&other[i], i < 2 ? &other[i + 1] : &test_side);
                CHECK(live == i + 0.5);
                CHECK(frame_pointer() == fp);
        }
}

TEST(context_ring_of_three_keeps_what_is_live)
{
        for (int i = 0; i < 3; i++)
                make(i, stack[i] + STACK_SIZE, pass_on, (void *)(intptr_t)i);
        for (int round = 1; round <= 1000; round++) {
                to_other(0);
                CHECK_EQ(n_steps, 3 * round);
        }
}

W_NOIPA static void come_back(void *arg)
{
        (void)arg;
}

static void enter_come_back(void *arg)
{
        (void)arg;
        make(0, stack[0] + STACK_SIZE, come_back, NULL);
        to_other(0);
}

TEST(context_fn_that_returns_is_stopped)
{
#if defined(__x86_64__)
        test_expect_death(enter_come_back, NULL, 4 /* SIGILL */, "");
#else
        test_expect_death(enter_come_back, NULL, 5 /* SIGTRAP */, "");
#endif
}

TEST(fpenv_flags_raised_are_still_default)
{
        CHECK(w_fpenv_is_default());
        CHECK_EQ(feraiseexcept(FE_INEXACT | FE_OVERFLOW), 0);
        CHECK(w_fpenv_is_default());
}

TEST(fpenv_save_and_load_carry_the_rounding_mode)
{
        struct w_fpenv saved, standard = W_FPENV_DEFAULT;

        CHECK_EQ(fesetround(FE_UPWARD), 0);
        CHECK(!w_fpenv_is_default());
        w_fpenv_save(&saved);
        w_fpenv_load(&standard);
        CHECK(w_fpenv_is_default());
        CHECK_EQ(fegetround(), FE_TONEAREST);
        w_fpenv_load(&saved);
        CHECK_EQ(fegetround(), FE_UPWARD);
        w_fpenv_load(&standard);
}
