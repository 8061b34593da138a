/* arch/x86_64/entry.c - where a new context begins.
 *
 * Reached by the jump of w_context_switch with sp at {arg, fn}, as w_context_make left them. Calls
 * fn(arg), which must not return. The two words stay where they are. The stack pointer therefore
 * does not move, it is a multiple of 16 at the call, and a debugger finds fn. The return address is
 * declared undefined, so that backtrace(), gdb and C++ unwinding stop here. rbp is 0, so that
 * frame-pointer walkers stop too.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/compiler.h"

#if defined(__x86_64__)

__asm__(".text\n"
        ".p2align 4\n"
        ".globl w_context_entry\n"
        ".hidden w_context_entry\n"
        ".type w_context_entry, @function\n"
        "w_context_entry:\n"
        "\t.cfi_startproc\n"
        "\t.cfi_def_cfa rsp, 16\n"
        "\t.cfi_undefined rip\n"
        "\t.cfi_undefined rbp\n"
        "\tendbr64\n"
        "\tmovq 0(%rsp), %rdi\n"
        "\tcall *8(%rsp)\n"
        "\tud2\n"
        "\t.cfi_endproc\n"
        ".size w_context_entry, .-w_context_entry\n");

#endif
