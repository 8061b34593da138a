/* arch/x86_64/context.h - the switch for x86-64, System V ABI. Contract: arch/arch.h.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_ARCH_X86_64_CONTEXT_H
#define W_ARCH_X86_64_CONTEXT_H

#include "base/compiler.h"

#include <stdbool.h>

enum { W_STACK_ALIGN = 16 };

struct w_context {
        void *sp;
        void *pc;
        void *fp;
};

_Static_assert(offsetof(struct w_context, sp) == 0 && offsetof(struct w_context, pc) == 8 &&
               offsetof(struct w_context, fp) == 16, "the assembly below uses these offsets");

/* The first instruction of every new context, in arch/x86_64/entry.c: calls fn(arg). */
void w_context_entry(void);

static inline void w_context_make(struct w_context *c, void *top, void (*fn)(void *), void *arg)
{
        uintptr_t *sp = (uintptr_t *)((uintptr_t)top & ~(uintptr_t)(W_STACK_ALIGN - 1));

        *--sp = (uintptr_t)fn;
        *--sp = (uintptr_t)arg;
        c->sp = sp;
        c->pc = (void *)(uintptr_t)&w_context_entry;
        c->fp = NULL;
}

/* The operands are pinned so that neither can be the frame pointer. Vector registers above xmm15
 * and mask registers need no mention. The functions that contain the switch are built for the
 * baseline, which has none of them, and their callers keep nothing in registers that a call may
 * change. */
W_INLINE void w_context_switch(struct w_context *from, struct w_context *to)
{
        __asm__ volatile("leaq 1f(%%rip), %%rax\n\t"
                         "movq %%rsp, 0(%%rdi)\n\t"
                         "movq %%rax, 8(%%rdi)\n\t"
                         "movq %%rbp, 16(%%rdi)\n\t"
                         "movq 0(%%rsi), %%rsp\n\t"
                         "movq 16(%%rsi), %%rbp\n\t"
                         "jmpq *8(%%rsi)\n"
                         "1:\tendbr64"
                         : "+D"(from), "+S"(to)
                         :
                         : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13",
                           "r14", "r15", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6",
                           "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14",
                           "xmm15", "mm0", "mm1", "mm2", "mm3", "mm4", "mm5", "mm6", "mm7", "st",
                           "st(1)", "st(2)", "st(3)", "st(4)", "st(5)", "st(6)", "st(7)", "cc",
                           "memory");
}

/* ---- Floating point -------------------------------------------------------------------------- */

/* All control bits of mxcsr lie in its lower half. */
struct w_fpenv {
        uint16_t mxcsr;
        uint16_t x87_control;
};

/* Round to nearest, all exceptions masked; x87 in extended precision. */
#define W_FPENV_DEFAULT { 0x1f80, 0x037f }

enum { W_MXCSR_STATUS = 0x3f }; /* sticky flags: the ABI lets any call change them */

/* fesetround, feenableexcept and fesetenv write mxcsr and the x87 control word together. Reading
 * mxcsr, which is cheaper, is therefore enough. A program that changes only the x87 control word,
 * without the C library, is not noticed. */
W_INLINE bool w_fpenv_is_default(void)
{
        uint32_t mxcsr;

        __asm__ volatile("stmxcsr %0" : "=m"(mxcsr));
        return (mxcsr & ~(uint32_t)W_MXCSR_STATUS) == 0x1f80;
}

W_INLINE void w_fpenv_save(struct w_fpenv *e)
{
        uint32_t mxcsr;

        __asm__ volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(mxcsr), "=m"(e->x87_control));
        e->mxcsr = (uint16_t)(mxcsr & ~(uint32_t)W_MXCSR_STATUS);
}

/* Clobbers "memory", because for the compiler fegetround() reads memory. */
W_INLINE void w_fpenv_load(const struct w_fpenv *e)
{
        uint32_t mxcsr = e->mxcsr;

        __asm__ volatile("ldmxcsr %0\n\tfldcw %1"
                         : : "m"(mxcsr), "m"(e->x87_control) : "memory");
}

W_INLINE const void *w_return_address(const void *saved)
{
        return saved;
}

#endif
