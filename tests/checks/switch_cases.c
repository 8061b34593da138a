/* tests/checks/switch_cases.c - functions that tools/check-switch must accept or refuse.
 * tests/checks/switch selects the function with -DCASE_<name>.
 *
 * SPDX-License-Identifier: MIT
 */
#include "arch/arch.h"

#include <errno.h>
#include <pthread.h>

struct thread_record {
        void *g;
        int   n;
};

extern _Thread_local struct thread_record *record;
extern _Thread_local int counter;
void consume(const void *value);
void switch_case(struct w_context *from, struct w_context *to);

#if defined(CASE_clean)

/* Reads anew after the switch; a goroutine found through the record may stay in use. */
W_NOIPA void switch_case(struct w_context *from, struct w_context *to)
{
        void *g = record->g;

        counter++;
        w_context_switch(from, to);
        consume(g);
}

#elif defined(CASE_errno)

W_NOIPA void switch_case(struct w_context *from, struct w_context *to)
{
        errno = 0;
        w_context_switch(from, to);
        if (errno != 0)
                consume(from);
}

#elif defined(CASE_identity)

W_NOIPA void switch_case(struct w_context *from, struct w_context *to)
{
        pthread_t self = pthread_self();

        w_context_switch(from, to);
        consume((void *)self);
}

#elif defined(CASE_record)

W_NOIPA void switch_case(struct w_context *from, struct w_context *to)
{
        struct thread_record *r = record;

        w_context_switch(from, to);
        r->n++;
}

#elif defined(CASE_address)

W_NOIPA void switch_case(struct w_context *from, struct w_context *to)
{
        consume(&counter);
        int *address = &counter;

        __asm__ volatile("" : "+r"(address));
        w_context_switch(from, to);
        consume(address + 1);
}

#elif defined(CASE_branch)

/* On one path only, and copied in between. */
W_NOIPA void switch_case(struct w_context *from, struct w_context *to)
{
        void *kept = from;

        if (to->pc)
                kept = record;
        w_context_switch(from, to);
        consume(kept);
}

#elif defined(CASE_register)

/* The compiler was not told about every register that the other side uses. */
W_NOIPA void switch_case(struct w_context *from, struct w_context *to)
{
#if defined(__x86_64__)
        register void *kept __asm__("r12") = from->fp;
        __asm__ volatile("leaq 1f(%%rip), %%rax\n\tmovq %%rsp, (%%rdi)\n\tmovq %%rax, 8(%%rdi)\n\t"
                         "movq (%%rsi), %%rsp\n\tjmpq *8(%%rsi)\n1:\tendbr64"
                         : "+D"(from), "+S"(to), "+r"(kept) : : "rax", "memory");
#else
        register struct w_context *x0 __asm__("x0") = from;
        register struct w_context *x1 __asm__("x1") = to;
        register void *kept __asm__("x18") = from->fp;
        __asm__ volatile("adr x2, 1f\n\tmov x3, sp\n\tstp x3, x2, [x0]\n\t"
                         "ldp x3, x16, [x1]\n\tmov sp, x3\n\tbr x16\n1:\thint #36"
                         : "+r"(x0), "+r"(x1), "+r"(kept) : : "x2", "x3", "x16", "memory");
#endif
        consume(kept);
}

#elif defined(CASE_push)

W_NOIPA void switch_case(struct w_context *from, struct w_context *to)
{
#if defined(__x86_64__)
        __asm__ volatile("leaq 1f(%%rip), %%rax\n\tmovq %%rsp, (%%rdi)\n\tmovq %%rax, 8(%%rdi)\n\t"
                         "pushq %%rbp\n\tmovq (%%rsi), %%rsp\n\tjmpq *8(%%rsi)\n1:\tendbr64"
                         : "+D"(from), "+S"(to) : : "rax", "memory");
#else
        register struct w_context *x0 __asm__("x0") = from;
        register struct w_context *x1 __asm__("x1") = to;
        __asm__ volatile("adr x2, 1f\n\tmov x3, sp\n\tstp x3, x2, [x0]\n\tstr x29, [sp, #-16]!\n\t"
                         "ldp x3, x16, [x1]\n\tmov sp, x3\n\tbr x16\n1:\thint #36"
                         : "+r"(x0), "+r"(x1) : : "x2", "x3", "x16", "memory");
#endif
}

#elif defined(CASE_no_pad)

W_NOIPA void switch_case(struct w_context *from, struct w_context *to)
{
#if defined(__x86_64__)
        __asm__ volatile("leaq 1f(%%rip), %%rax\n\tmovq %%rsp, (%%rdi)\n\tmovq %%rax, 8(%%rdi)\n\t"
                         "movq (%%rsi), %%rsp\n\tjmpq *8(%%rsi)\n1:\tnop"
                         : "+D"(from), "+S"(to) : : "rax", "memory");
#else
        register struct w_context *x0 __asm__("x0") = from;
        register struct w_context *x1 __asm__("x1") = to;
        __asm__ volatile("adr x2, 1f\n\tmov x3, sp\n\tstp x3, x2, [x0]\n\t"
                         "ldp x3, x16, [x1]\n\tmov sp, x3\n\tbr x16\n1:\tnop"
                         : "+r"(x0), "+r"(x1) : : "x2", "x3", "x16", "memory");
#endif
}

#elif defined(CASE_ret)

#if defined(__x86_64__)
__asm__(".text\n.globl switch_case\n.type switch_case, @function\nswitch_case:\n\tpushq %rbp\n"
        "\tmovq %rsp, (%rdi)\n\tmovq (%rsi), %rsp\n\tpopq %rbp\n\tret\n");
#else
__asm__(".text\n.globl switch_case\n.type switch_case, %function\nswitch_case:\n"
        "\tmov x3, sp\n\tstr x3, [x0]\n\tldr x3, [x1]\n\tmov sp, x3\n\tldr x30, [x1, #8]\n"
        "\tret\n");
#endif

#elif defined(CASE_none)

void switch_case(struct w_context *from, struct w_context *to)
{
        consume(from);
        consume(to);
}

#endif
