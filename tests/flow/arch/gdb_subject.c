/* tests/flow/arch/gdb_subject.c - the program that tests/flow/arch/gdb_backtrace inspects: a fiber
 * that runs, a fiber that waits in nested calls, and a fiber that has not begun.
 *
 * SPDX-License-Identifier: MIT
 */
#include "arch/fiber.h"

enum { STACK_SIZE = 64 * 1024 };

static _Alignas(64) unsigned char stacks[3][STACK_SIZE];
static struct fiber               thread_fiber;
static volatile int               sink;

/* Global, so that gdb finds them by name. */
struct fiber running_fiber, parked_fiber, fresh_fiber;

void stop_here(void);
void inner(void);
void outer(void);
void running_entry(void *arg);
void parked_inner(void);
void parked_outer(void);
void parked_entry(void *arg);

W_NOIPA void stop_here(void)
{
        sink++;
}

W_NOIPA void inner(void)
{
        stop_here();
        sink++;
}

W_NOIPA void outer(void)
{
        inner();
        sink++;
}

W_NOIPA void running_entry(void *arg)
{
        (void)arg;
        w_fiber_begin(&running_fiber);
        outer();
        w_fiber_switch_last(&running_fiber, &thread_fiber);
}

W_NOIPA void parked_inner(void)
{
        w_fiber_switch(&parked_fiber, &thread_fiber);
        sink++;
}

W_NOIPA void parked_outer(void)
{
        parked_inner();
        sink++;
}

W_NOIPA void parked_entry(void *arg)
{
        (void)arg;
        w_fiber_begin(&parked_fiber);
        parked_outer();
        w_fiber_switch_last(&parked_fiber, &thread_fiber);
}

static void make(struct fiber *f, int i, void (*fn)(void *))
{
        w_fiber_make(f, stacks[i], STACK_SIZE, stacks[i] + STACK_SIZE, fn, NULL);
}

int main(void)
{
        w_fiber_adopt(&thread_fiber);
        make(&running_fiber, 0, running_entry);
        make(&parked_fiber, 1, parked_entry);
        make(&fresh_fiber, 2, parked_entry);
        w_fiber_switch(&thread_fiber, &parked_fiber);
        w_fiber_switch(&thread_fiber, &running_fiber);
        return 0;
}
