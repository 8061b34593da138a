/* tests/flow/arch/test_backtrace.c - backtrace() from a fiber ends, and ends at its entry function.
 *
 * SPDX-License-Identifier: MIT
 */
#include "harness/test.h"

#include "arch/fiber.h"

#include <execinfo.h>
#include <signal.h>
#include <string.h>

enum { STACK_SIZE = 128 * 1024, MAX_FRAMES = 64, N_FIBERS = 3 };

static _Alignas(64) unsigned char stacks[N_FIBERS][STACK_SIZE];
static struct fiber               test_fiber, fibers[N_FIBERS];
static void                      *frames[MAX_FRAMES];
static int                        n_frames, n_handled;

/* Where the entry function was called from, and one address inside it. */
static void *entry_caller, *inside_entry;

static bool contains(const void *address)
{
        for (int i = 0; i < n_frames; i++) {
                if (frames[i] == address)
                        return true;
        }
        return false;
}

/* Counted from the innermost frame, the last one is the code that called the entry function; there
 * is nothing below it. */
static void check_frames_of_fiber(void)
{
        CHECK_MSG(n_frames > 2 && n_frames < MAX_FRAMES, "%d frames", n_frames);
        CHECK(frames[n_frames - 1] == entry_caller);
        CHECK(contains(inside_entry));
        CHECK((uintptr_t)entry_caller > (uintptr_t)w_context_entry);
        CHECK((uintptr_t)entry_caller < (uintptr_t)w_context_entry + 64);
}

W_NOIPA static void take_here(void)
{
        n_frames = backtrace(frames, MAX_FRAMES);
        inside_entry = __builtin_return_address(0);
}

W_NOIPA static void take_deep(int depth)
{
        if (depth > 0)
                take_deep(depth - 1);
        else
                n_frames = backtrace(frames, MAX_FRAMES);
        __asm__ volatile("" ::: "memory");      /* no tail call */
}

W_NOIPA static void entry_shallow(void *arg)
{
        struct fiber *self = arg;

        w_fiber_begin(self);
        entry_caller = __builtin_extract_return_addr(__builtin_return_address(0));
        take_here();
        check_frames_of_fiber();
        w_fiber_switch_last(self, &test_fiber);
}

static void run(void (*fn)(void *))
{
        w_fiber_adopt(&test_fiber);
        w_fiber_make(&fibers[0], stacks[0], STACK_SIZE, stacks[0] + STACK_SIZE, fn, &fibers[0]);
        w_fiber_switch(&test_fiber, &fibers[0]);
        w_fiber_destroy(&fibers[0]);
}

TEST(backtrace_in_fiber_ends_at_its_entry)
{
        run(entry_shallow);
        CHECK(n_frames > 0);
}

W_NOIPA static void entry_deep(void *arg)
{
        struct fiber *self = arg;

        w_fiber_begin(self);
        take_here();
        int shallow = n_frames;

        take_deep(20);
        CHECK_EQ(n_frames, shallow + 20);
        w_fiber_switch_last(self, &test_fiber);
}

TEST(backtrace_in_fiber_sees_every_frame)
{
        run(entry_deep);
        CHECK(n_frames > 20);
}

static void on_signal(int sig)
{
        (void)sig;
        n_frames = backtrace(frames, MAX_FRAMES);
        n_handled++;
}

W_NOIPA static void entry_with_signal(void *arg)
{
        struct fiber *self = arg;

        w_fiber_begin(self);
        entry_caller = __builtin_extract_return_addr(__builtin_return_address(0));
        take_here();    /* loads the unwinder before a handler needs it */
        CHECK_EQ(raise(SIGUSR1), 0);
        CHECK_EQ(n_handled, 1);
        CHECK(n_frames < MAX_FRAMES);
        CHECK(frames[n_frames - 1] == entry_caller);
        w_fiber_switch_last(self, &test_fiber);
}

TEST(backtrace_in_handler_on_fiber_ends_at_its_entry)
{
        struct sigaction action = { .sa_handler = on_signal };

        CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
        run(entry_with_signal);
        CHECK_EQ(n_handled, 1);
}

W_NOIPA static void entry_after_switches(void *arg)
{
        struct fiber *self = arg;

        w_fiber_begin(self);
        entry_caller = __builtin_extract_return_addr(__builtin_return_address(0));
        for (int i = 0; i < 3; i++) {
                w_fiber_switch(self, &test_fiber);
                take_here();
                check_frames_of_fiber();
        }
        w_fiber_switch_last(self, &test_fiber);
}

TEST(backtrace_after_being_resumed_is_as_before)
{
        w_fiber_adopt(&test_fiber);
        take_here();
        int on_thread = n_frames;

        for (int i = 0; i < N_FIBERS; i++)
                w_fiber_make(&fibers[i], stacks[i], STACK_SIZE, stacks[i] + STACK_SIZE,
                             entry_after_switches, &fibers[i]);
        for (int round = 0; round < 4; round++) {
                for (int i = 0; i < N_FIBERS; i++)
                        w_fiber_switch(&test_fiber, &fibers[i]);
                take_here();
                CHECK_EQ(n_frames, on_thread);
        }
        for (int i = 0; i < N_FIBERS; i++)
                w_fiber_destroy(&fibers[i]);
}
