/* arch/aarch64/entry.c - where a new context begins.
 *
 * Reached by the branch of w_context_switch with sp at {arg, fn}, as w_context_make left them.
 * Calls fn(arg), which must not return. The two words stay where they are, as on x86-64. The
 * return address is declared undefined, so that unwinders stop here. x29 is 0, so that
 * frame-pointer walkers stop too.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/compiler.h"

#if defined(__aarch64__)

__asm__(".text\n"
        ".p2align 4\n"
        ".globl w_context_entry\n"
        ".hidden w_context_entry\n"
        ".type w_context_entry, %function\n"
        "w_context_entry:\n"
        "\t.cfi_startproc\n"
        "\t.cfi_def_cfa sp, 16\n"
        "\t.cfi_undefined x30\n"
        "\t.cfi_undefined x29\n"
        "\thint #38\n"          /* bti jc */
        "\tldp x0, x16, [sp]\n"
        "\tblr x16\n"
        "\tbrk #1\n"
        "\t.cfi_endproc\n"
        ".size w_context_entry, .-w_context_entry\n");

#endif
