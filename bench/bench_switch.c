/* bench/bench_switch.c - the cost of one switch between two stacks.
 *
 *   bare       w_context_switch, inline in a loop
 *   fiber      w_fiber_switch_inline: the same, and reads the floating-point control word
 *   fiber_call w_fiber_switch: the same behind a call
 *   ret        the usual routine: called, pushes the callee-saved registers, returns on the other
 *              stack
 *   minimal    hand-written, inline, stack pointer and program counter only: the lower bound
 *
 * The cases take turns within each repetition, so that a slow moment affects all of them. The two
 * stacks fit in the nearest cache, and there is one thread: the figures do not include the cost of
 * cold stacks or of scheduling. One line of JSON per case; ret and minimal exist on x86-64 only.
 *
 * SPDX-License-Identifier: MIT
 */
#include "arch/fiber.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
        SWITCHES = 2 * 1000 * 1000,     /* per case and repetition, half of them each way */
        REPETITIONS = 15,
        STACK_SIZE = 64 * 1024,
};

struct bench_case {
        const char *name;
        void      (*run)(long rounds);
        double      ns[REPETITIONS];
};

static _Alignas(64) unsigned char stacks[5][STACK_SIZE];

static void *stack_top(int i)
{
        return stacks[i] + STACK_SIZE - 64 * (i + 1);
}

/* ---- bare ------------------------------------------------------------------------------------ */

static struct w_context bare[2];

W_NOIPA static void bare_echo(void *arg)
{
        (void)arg;
        for (;;)
                w_context_switch(&bare[1], &bare[0]);
}

W_NOIPA static void run_bare(long rounds)
{
        for (long i = 0; i < rounds; i++)
                w_context_switch(&bare[0], &bare[1]);
}

/* ---- fiber, fiber_call ----------------------------------------------------------------------- */

static struct fiber inlined[2], called[2];

W_NOIPA static void fiber_echo(void *arg)
{
        (void)arg;
        w_fiber_begin(&inlined[1]);
        for (;;)
                w_fiber_switch_inline(&inlined[1], &inlined[0], W_SAN_ORDERED);
}

W_NOIPA static void run_fiber(long rounds)
{
        for (long i = 0; i < rounds; i++)
                w_fiber_switch_inline(&inlined[0], &inlined[1], W_SAN_ORDERED);
}

W_NOIPA static void fiber_call_echo(void *arg)
{
        (void)arg;
        w_fiber_begin(&called[1]);
        for (;;)
                w_fiber_switch(&called[1], &called[0]);
}

W_NOIPA static void run_fiber_call(long rounds)
{
        for (long i = 0; i < rounds; i++)
                w_fiber_switch(&called[0], &called[1]);
}

#if defined(__x86_64__)

/* ---- ret ------------------------------------------------------------------------------------- */

void *ret_switch(void **save, void *to);
__asm__(".text\n"
        ".p2align 4\n"
        ".type ret_switch, @function\n"
        "ret_switch:\n"
        "\tpushq %rbp\n\tpushq %rbx\n\tpushq %r12\n\tpushq %r13\n\tpushq %r14\n\tpushq %r15\n"
        "\tmovq %rsp, (%rdi)\n"
        "\tmovq %rsi, %rsp\n"
        "\tpopq %r15\n\tpopq %r14\n\tpopq %r13\n\tpopq %r12\n\tpopq %rbx\n\tpopq %rbp\n"
        "\tret\n"
        ".size ret_switch, .-ret_switch\n");

static void *ret_sp[2];

W_NOIPA static void ret_echo(void)
{
        for (;;)
                ret_switch(&ret_sp[1], ret_sp[0]);
}

static void ret_make(void *top)
{
        void **sp = top;

        *--sp = NULL;                   /* ret_echo has no caller */
        *--sp = (void *)(uintptr_t)ret_echo;
        for (int i = 0; i < 6; i++)
                *--sp = NULL;
        ret_sp[1] = sp;
}

W_NOIPA static void run_ret(long rounds)
{
        for (long i = 0; i < rounds; i++)
                ret_switch(&ret_sp[0], ret_sp[1]);
}

/* ---- minimal --------------------------------------------------------------------------------- */

struct pair {
        void *sp, *pc;
};

static struct pair minimal[2];

/* This file is built without frame pointers, so rbp is just another clobbered register. */
W_INLINE void minimal_switch(struct pair *from, struct pair *to)
{
        __asm__ volatile("leaq 1f(%%rip), %%rax\n\t"
                         "movq %%rsp, 0(%%rdi)\n\t"
                         "movq %%rax, 8(%%rdi)\n\t"
                         "movq 0(%%rsi), %%rsp\n\t"
                         "jmpq *8(%%rsi)\n"
                         "1:"
                         : "+D"(from), "+S"(to)
                         :
                         : "rax", "rbx", "rcx", "rdx", "rbp", "r8", "r9", "r10", "r11", "r12",
                           "r13", "r14", "r15", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5",
                           "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13",
                           "xmm14", "xmm15", "cc", "memory");
}

W_NOIPA static void minimal_echo(void)
{
        for (;;)
                minimal_switch(&minimal[1], &minimal[0]);
}

W_NOIPA static void run_minimal(long rounds)
{
        for (long i = 0; i < rounds; i++)
                minimal_switch(&minimal[0], &minimal[1]);
}

#endif

/* ---- Measuring ------------------------------------------------------------------------------- */

static struct bench_case cases[] = {
        { .name = "bare", .run = run_bare },
        { .name = "fiber", .run = run_fiber },
        { .name = "fiber_call", .run = run_fiber_call },
#if defined(__x86_64__)
        { .name = "ret", .run = run_ret },
        { .name = "minimal", .run = run_minimal },
#endif
};

static void make_partners(void)
{
        w_context_make(&bare[1], stack_top(0), bare_echo, NULL);
        w_fiber_adopt(&inlined[0]);
        w_fiber_make(&inlined[1], stacks[1], STACK_SIZE, stack_top(1), fiber_echo, NULL);
        w_fiber_adopt(&called[0]);
        w_fiber_make(&called[1], stacks[2], STACK_SIZE, stack_top(2), fiber_call_echo, NULL);
#if defined(__x86_64__)
        ret_make(stack_top(3));
        minimal[1] = (struct pair){ (char *)stack_top(4) - 8, (void *)(uintptr_t)minimal_echo };
#endif
}

static double now_ns(void)
{
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double measure(const struct bench_case *c)
{
        double start = now_ns();

        c->run(SWITCHES / 2);
        return (now_ns() - start) / SWITCHES;
}

static int compare_doubles(const void *a, const void *b)
{
        double x = *(const double *)a, y = *(const double *)b;

        return (x > y) - (x < y);
}

static void report(struct bench_case *c)
{
        qsort(c->ns, REPETITIONS, sizeof(c->ns[0]), compare_doubles);
        printf("{\"bench\":\"switch\",\"case\":\"%s\",\"unit\":\"ns/switch\",\"median\":%.2f,"
               "\"min\":%.2f,\"max\":%.2f,\"repetitions\":%d,\"switches\":%d}\n",
               c->name, c->ns[REPETITIONS / 2], c->ns[0], c->ns[REPETITIONS - 1], REPETITIONS,
               SWITCHES);
}

int main(void)
{
        make_partners();
        for (size_t i = 0; i < W_ARRAY_LEN(cases); i++)
                measure(&cases[i]);     /* warm-up, not counted */
        for (int r = 0; r < REPETITIONS; r++) {
                for (size_t i = 0; i < W_ARRAY_LEN(cases); i++)
                        cases[i].ns[r] = measure(&cases[i]);
        }
        for (size_t i = 0; i < W_ARRAY_LEN(cases); i++)
                report(&cases[i]);
        return 0;
}
