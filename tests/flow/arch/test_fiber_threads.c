/* tests/flow/arch/test_fiber_threads.c - a fiber that is resumed by one thread after the other, and
 * what the sanitizers believe about the stacks while it is.
 *
 * SPDX-License-Identifier: MIT
 */
#include "harness/test.h"

#include "arch/fiber.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { STACK_SIZE = 256 * 1024, N_ROUNDS = 50 };

static unsigned char *stack;
static struct fiber   hopper;
static struct fiber  *resumer;          /* the own stack of the thread that resumed last */
static int            n_hops;

#if defined(W_ASAN)

/* ASan's idea of the stack in use, got by pretending to switch from it to itself. */
static bool asan_knows_stack_of(const void *local)
{
        const void *bottom, *ignored;
        size_t      size, ignored_size;
        void       *fake = NULL;

        __sanitizer_start_switch_fiber(&fake, stack, STACK_SIZE);
        __sanitizer_finish_switch_fiber(fake, &bottom, &size);
        __sanitizer_start_switch_fiber(&fake, bottom, size);
        __sanitizer_finish_switch_fiber(fake, &ignored, &ignored_size);
        return local >= bottom && (const char *)local < (const char *)bottom + size;
}

int __lsan_do_recoverable_leak_check(void);

static bool lsan_finds_leak(void)
{
        return __lsan_do_recoverable_leak_check() != 0;
}

#else

static bool asan_knows_stack_of(const void *local)
{
        return local != NULL;
}

static bool lsan_finds_leak(void)
{
        return false;
}

#endif

W_NOIPA static void check_stack_is_known(void)
{
        CHECK(asan_knows_stack_of(__builtin_frame_address(0)));
}

static void hop(void *arg)
{
        (void)arg;
        w_fiber_begin(&hopper);
        for (;;) {
                check_stack_is_known();
                n_hops++;
                w_fiber_switch(&hopper, resumer);
        }
}

/* Mapped, because LSan by itself searches globals and memory from malloc. */
static void start_hopper(void (*fn)(void *))
{
        stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(stack != MAP_FAILED);
        w_fiber_make(&hopper, stack, STACK_SIZE, stack + STACK_SIZE, fn, NULL);
}

static void end_hopper(void)
{
        w_fiber_destroy(&hopper);
        CHECK_EQ(munmap(stack, STACK_SIZE), 0);
}

static void *resume_and_check(void *arg)
{
        struct fiber mine;

        (void)arg;
        w_fiber_adopt(&mine);
        for (int i = 0; i < 3; i++) {
                resumer = &mine;
                w_fiber_switch(&mine, &hopper);
                check_stack_is_known();
        }
        return NULL;
}

TEST(fiber_resumed_by_many_threads_leaves_each_its_stack)
{
        start_hopper(hop);
        for (int i = 0; i < N_ROUNDS; i++) {
                pthread_t thread;

                CHECK_EQ(pthread_create(&thread, NULL, resume_and_check, NULL), 0);
                CHECK_EQ(pthread_join(thread, NULL), 0);
                resume_and_check(NULL);
        }
        CHECK_EQ(n_hops, 6 * N_ROUNDS);
        end_hopper();
}

/* In a register or on the real stack across the switch: nowhere else. */
static void hold_memory(void *arg)
{
        (void)arg;
        w_fiber_begin(&hopper);
        void *held = malloc(100);

        __asm__ volatile("" : "+r"(held));      /* else the pair is optimised away */
        n_hops++;
        w_fiber_switch(&hopper, resumer);
        free(held);
        w_fiber_switch_last(&hopper, resumer);
}

/* Writes over what calls left below this frame, where a copy of the pointer may lie. */
W_NOIPA static void scrub(void)
{
        volatile char room[4096];

        for (size_t i = 0; i < sizeof(room); i++)
                room[i] = 0;
}

TEST(fiber_that_waits_keeps_its_memory_from_being_a_leak)
{
        struct fiber mine;

        start_hopper(hold_memory);
        w_fiber_adopt(&mine);
        resumer = &mine;
        w_fiber_switch(&mine, &hopper);
        CHECK_EQ(n_hops, 1);
        scrub();
        CHECK(!lsan_finds_leak());
        w_fiber_switch(&mine, &hopper);
        end_hopper();
}
