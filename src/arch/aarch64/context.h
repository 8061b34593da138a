/* arch/aarch64/context.h - the switch for 64-bit ARM, AAPCS64. Contract: arch/arch.h.
 *
 * The switch does not write x18, the platform register. It still lists x18 as clobbered: on Linux
 * compilers use x18 as a scratch register, so the code on the other side of the switch may change
 * it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_ARCH_AARCH64_CONTEXT_H
#define W_ARCH_AARCH64_CONTEXT_H

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

/* The first instruction of every new context, in arch/aarch64/entry.c: calls fn(arg). */
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

/* `hint #36` is `bti j`: a landing pad if branch protection is on, else it does nothing. x16 is a
 * register from which an indirect branch may also enter a function. */
W_INLINE void w_context_switch(struct w_context *from, struct w_context *to)
{
        register struct w_context *x0 __asm__("x0") = from;
        register struct w_context *x1 __asm__("x1") = to;

        __asm__ volatile("adr x2, 1f\n\t"
                         "mov x3, sp\n\t"
                         "stp x3, x2, [x0]\n\t"
                         "str x29, [x0, #16]\n\t"
                         "ldp x3, x16, [x1]\n\t"
                         "ldr x29, [x1, #16]\n\t"
                         "mov sp, x3\n\t"
                         "br x16\n"
                         "1:\thint #36"
                         : "+r"(x0), "+r"(x1)
                         :
                         : "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12",
                           "x13", "x14", "x15", "x16", "x17", "x18", "x19", "x20", "x21", "x22",
                           "x23", "x24", "x25", "x26", "x27", "x28", "x30", "v0", "v1", "v2",
                           "v3", "v4",
                           "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15",
                           "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25",
                           "v26", "v27", "v28", "v29", "v30", "v31", "cc", "memory");
}

/* ---- Floating point -------------------------------------------------------------------------- */

struct w_fpenv {
        uint32_t fpcr;          /* the upper half of the register is reserved */
};

#define W_FPENV_DEFAULT { 0 }

W_INLINE bool w_fpenv_is_default(void)
{
        uint64_t fpcr;

        __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
        return fpcr == 0;
}

W_INLINE void w_fpenv_save(struct w_fpenv *e)
{
        uint64_t fpcr;

        __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
        e->fpcr = (uint32_t)fpcr;
}

/* Clobbers "memory", because for the compiler fegetround() reads memory. */
W_INLINE void w_fpenv_load(const struct w_fpenv *e)
{
        uint64_t fpcr = e->fpcr;

        __asm__ volatile("msr fpcr, %0" : : "r"(fpcr) : "memory");
}

/* Return addresses on the stack may be signed, if the CPU can do this: XPACLRI removes the
 * signature. XPACLRI is a hint: a CPU that cannot sign ignores it. */
W_INLINE const void *w_return_address(const void *saved)
{
        register const void *lr __asm__("x30") = saved;

        __asm__("hint #7" : "+r"(lr));
        return lr;
}

#endif
