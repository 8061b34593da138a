/* tests/flow/arch/switch_probe.c - fills and reads the callee-saved registers around one switch.
 *
 * SPDX-License-Identifier: MIT
 */
#include "flow/arch/switch_probe.h"

#include <fenv.h>

#if defined(W_VALGRIND)
#include <valgrind/valgrind.h>
#else
#define RUNNING_ON_VALGRIND 0
#endif

#if defined(__x86_64__)

const char *const probe_names[PROBE_WORDS] = { "rbx", "rbp", "r12", "r13", "r14", "r15" };

__asm__(".text\n"
        ".globl probe_switch\n"
        ".type probe_switch, @function\n"
        "probe_switch:\n"
        "\tendbr64\n"
        "\tpushq %rbp\n\tpushq %rbx\n\tpushq %r12\n\tpushq %r13\n\tpushq %r14\n\tpushq %r15\n"
        "\tpushq %rdi\n"
        "\tmovq 0(%rdi), %rbx\n\tmovq 8(%rdi), %rbp\n"
        "\tmovq 16(%rdi), %r12\n\tmovq 24(%rdi), %r13\n"
        "\tmovq 32(%rdi), %r14\n\tmovq 40(%rdi), %r15\n"
        "\tmovq %rsi, %rdi\n\tmovq %rdx, %rsi\n"
        "\tcall w_fiber_switch\n"
        "\tpopq %rdi\n"
        "\tmovq %rbx, 48(%rdi)\n\tmovq %rbp, 56(%rdi)\n"
        "\tmovq %r12, 64(%rdi)\n\tmovq %r13, 72(%rdi)\n"
        "\tmovq %r14, 80(%rdi)\n\tmovq %r15, 88(%rdi)\n"
        "\tpopq %r15\n\tpopq %r14\n\tpopq %r13\n\tpopq %r12\n\tpopq %rbx\n\tpopq %rbp\n"
        "\tret\n"
        ".size probe_switch, .-probe_switch\n");

uint64_t probe_fp_control(void)
{
        uint32_t mxcsr;
        uint16_t x87;

        __asm__ volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(mxcsr), "=m"(x87));
        return (uint64_t)(mxcsr & ~(uint32_t)W_MXCSR_STATUS) << 16 | x87;
}

#else

const char *const probe_names[PROBE_WORDS] = {
        "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x29",
        "d8", "d9", "d10", "d11", "d12", "d13", "d14", "d15",
};

__asm__(".text\n"
        ".globl probe_switch\n"
        ".type probe_switch, %function\n"
        "probe_switch:\n"
        "\thint #34\n"          /* bti c */
        "\tstp x29, x30, [sp, #-176]!\n"
        "\tstp x19, x20, [sp, #16]\n\tstp x21, x22, [sp, #32]\n\tstp x23, x24, [sp, #48]\n"
        "\tstp x25, x26, [sp, #64]\n\tstp x27, x28, [sp, #80]\n"
        "\tstp d8, d9, [sp, #96]\n\tstp d10, d11, [sp, #112]\n"
        "\tstp d12, d13, [sp, #128]\n\tstp d14, d15, [sp, #144]\n"
        "\tstr x0, [sp, #160]\n"
        "\tldp x19, x20, [x0]\n\tldp x21, x22, [x0, #16]\n\tldp x23, x24, [x0, #32]\n"
        "\tldp x25, x26, [x0, #48]\n\tldp x27, x28, [x0, #64]\n\tldr x29, [x0, #80]\n"
        "\tldp d8, d9, [x0, #88]\n\tldp d10, d11, [x0, #104]\n"
        "\tldp d12, d13, [x0, #120]\n\tldp d14, d15, [x0, #136]\n"
        "\tmov x0, x1\n\tmov x1, x2\n"
        "\tbl w_fiber_switch\n"
        "\tldr x0, [sp, #160]\n\tadd x0, x0, #152\n"
        "\tstp x19, x20, [x0]\n\tstp x21, x22, [x0, #16]\n\tstp x23, x24, [x0, #32]\n"
        "\tstp x25, x26, [x0, #48]\n\tstp x27, x28, [x0, #64]\n\tstr x29, [x0, #80]\n"
        "\tstp d8, d9, [x0, #88]\n\tstp d10, d11, [x0, #104]\n"
        "\tstp d12, d13, [x0, #120]\n\tstp d14, d15, [x0, #136]\n"
        "\tldp x19, x20, [sp, #16]\n\tldp x21, x22, [sp, #32]\n\tldp x23, x24, [sp, #48]\n"
        "\tldp x25, x26, [sp, #64]\n\tldp x27, x28, [sp, #80]\n"
        "\tldp d8, d9, [sp, #96]\n\tldp d10, d11, [sp, #112]\n"
        "\tldp d12, d13, [sp, #128]\n\tldp d14, d15, [sp, #144]\n"
        "\tldp x29, x30, [sp], #176\n"
        "\tret\n"
        ".size probe_switch, .-probe_switch\n");

uint64_t probe_fp_control(void)
{
        uint64_t fpcr;

        __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
        return fpcr;
}

#endif

bool probe_has_traps(void)
{
        static int known;

        if (known == 0) {
                int old = fegetexcept();

                known = !RUNNING_ON_VALGRIND && feenableexcept(FE_DIVBYZERO) >= 0 &&
                        fegetexcept() == (old | FE_DIVBYZERO) ? 1 : -1;
                (void)fedisableexcept(FE_ALL_EXCEPT & ~old);
        }
        return known > 0;
}
