/* os/linux/syscall.c - a system call without libc. Contract: os/linux/syscall.h.
 *
 * On x86-64 the CPU predicts the target of a `ret` from its return stack, on which each `call`
 * pushes the address behind it. When the kernel returns, this stack holds addresses of the kernel.
 * Where the kernel guards its own returns (AMD, "Safe RET"), the first `ret` of the caller is
 * predicted to such an address in vain. That costs a third of the whole call: 230 ns of 680 for a
 * recv on the machine of docs/FIGURES.md. Therefore w_syscall pushes 16 of our addresses first, in
 * 20 ns, which is more than there are frames to return through. They are wrong too, but a `ret`
 * that is mispredicted to an accessible address is corrected in 8 ns.
 *
 * The stack pointer moves meanwhile. r11, which the kernel has overwritten anyway, holds the old
 * value for unwinders.
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/linux/syscall.h"

#if defined(__x86_64__)

__asm__(".text\n"
        ".p2align 4\n"
        ".globl w_syscall\n"
        ".hidden w_syscall\n"
        ".type w_syscall, @function\n"
        "w_syscall:\n"
        "\t.cfi_startproc\n"
        "\tendbr64\n"
        "\tmovq %rdi, %rax\n"
        "\tmovq %rsi, %rdi\n"
        "\tmovq %rdx, %rsi\n"
        "\tmovq %rcx, %rdx\n"
        "\tmovq %r8, %r10\n"
        "\txorl %r8d, %r8d\n"
        "\txorl %r9d, %r9d\n"
        "\tsyscall\n"
        "\tmovq %rsp, %r11\n"
        "\t.cfi_def_cfa_register r11\n"
        "\tmovl $8, %ecx\n"
        "1:\tcall 2f\n"
        "\tint3\n"
        "2:\tcall 3f\n"
        "\tint3\n"
        "3:\tdecl %ecx\n"
        "\tjnz 1b\n"
        "\taddq $128, %rsp\n"
        "\t.cfi_def_cfa_register rsp\n"
        "\tret\n"
        "\t.cfi_endproc\n"
        ".size w_syscall, .-w_syscall\n");

#else

__asm__(".text\n"
        ".p2align 4\n"
        ".globl w_syscall\n"
        ".hidden w_syscall\n"
        ".type w_syscall, %function\n"
        "w_syscall:\n"
        "\t.cfi_startproc\n"
        "\thint #34\n"          /* bti c */
        "\tmov x8, x0\n"
        "\tmov x0, x1\n"
        "\tmov x1, x2\n"
        "\tmov x2, x3\n"
        "\tmov x3, x4\n"
        "\tmov x4, xzr\n"
        "\tmov x5, xzr\n"
        "\tsvc #0\n"
        "\tret\n"
        "\t.cfi_endproc\n"
        ".size w_syscall, .-w_syscall\n");

#endif
