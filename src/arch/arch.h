/* arch/arch.h - CONTRACT: a machine context, and moving the CPU from one to another.
 *
 * A context that does not run is three words: stack pointer, resume address, frame pointer. The
 * switch is inline assembly that stores these and lists every other register as clobbered, so the
 * compiler saves what is live and no more. It pushes nothing (the red zone stays valid and the
 * unwinder sees an ordinary frame), and it jumps, never returns: a `ret` into another stack is
 * mispredicted and costs four times the switch.
 *
 * Rules for the functions that contain the switch, all in arch/fiber.c and sched/switch.c: noinline
 * and not cloned (W_NOIPA), no LTO, no sanitizer, no stack protector, baseline instruction set. No
 * value derived from the thread may live across the switch (tools/check-switch proves this from the
 * disassembly).
 *
 * Rule for all other code: the memory below the saved stack pointer of a context that does not run
 * is free, except the 128 bytes of the red zone on x86-64.
 *
 * Each arch/<cpu>/context.h provides:
 *
 *   struct w_context                 the three words
 *   w_context_make(c, top, fn, arg)  c starts fn(arg) on the stack that ends at top (16-aligned)
 *   w_context_switch(from, to)       inline; returns when another context switches to `from`
 *   struct w_fpenv                   rounding mode, exception masks and the like
 *   W_FPENV_DEFAULT                  what a new goroutine starts with
 *   w_fpenv_is_default()             reads the CPU's control word, cheap
 *   w_fpenv_save(e), w_fpenv_load(e)
 *   w_return_address(saved)          the code address of a return address found on a stack
 *
 * fn must not return. Unwinders stop below it: the entry code marks its return address undefined,
 * and the frame pointer chain ends in 0.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_ARCH_ARCH_H
#define W_ARCH_ARCH_H

#if defined(__x86_64__)
#include "arch/x86_64/context.h"
#elif defined(__aarch64__)
#include "arch/aarch64/context.h"
#else
#error "weft runs on x86-64 and aarch64"
#endif

#endif
