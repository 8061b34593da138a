/* arch/fiber.h - a stack that can be left and come back to: context, floating point, annotations.
 *
 * A goroutine, an M's g0 and a simulated thread each contain one struct fiber. Rules for where the
 * switch may stand: arch/arch.h.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_ARCH_FIBER_H
#define W_ARCH_FIBER_H

#include "arch/arch.h"
#include "base/sanitizer.h"

struct fiber {
        struct w_context context;       /* valid while it does not run */
        struct w_fpenv   fpenv;         /* valid if it left with one of its own */
        bool             own_fpenv;
        struct san_fiber san;
};

/* f starts fn(arg) on [low, low + size) when it is first switched to, with `top` (at most
 * low + size) as its first stack address and the default floating-point environment. The range
 * holds no guard. fn must not return; its first act is w_fiber_begin(). */
void w_fiber_make(struct fiber *f, void *low, size_t size, void *top, void (*fn)(void *),
                  void *arg);

/* f stands for the stack that the calling thread is on. Needs no w_fiber_destroy(). */
void w_fiber_adopt(struct fiber *f);

/* Ends the annotations of a fiber that has been left for the last time, by w_fiber_switch_last() or
 * otherwise; on another stack. */
void w_fiber_destroy(struct fiber *f);

/* First thing on a new fiber. */
void w_fiber_begin(struct fiber *self);

/* Out of line, for fibers that take turns: simulator, explorer, tests. What `from` did is ordered
 * before what `to` does next, also in the eyes of TSan. */
void w_fiber_switch(struct fiber *from, struct fiber *to);

/* The same when `from` will never run again. */
W_NORETURN void w_fiber_switch_last(struct fiber *from, struct fiber *to);

/* ---- The switch itself: only for functions that obey arch/arch.h ----------------------------- */

/* The common case, no rounding mode changed on either side, is one look at the control word and
 * one flag. */
W_INLINE void w_fiber_swap_fpenv(struct fiber *from, struct fiber *to)
{
        bool leaving_own = !w_fpenv_is_default();

        from->own_fpenv = leaving_own;
        if (W_LIKELY(!leaving_own && !to->own_fpenv))
                return;
        static const struct w_fpenv standard = W_FPENV_DEFAULT;

        if (leaving_own)
                w_fpenv_save(&from->fpenv);
        w_fpenv_load(to->own_fpenv ? &to->fpenv : &standard);
}

/* The environment that a new fiber starts with, for one that goes on under another name. */
W_INLINE void w_fiber_default_fpenv(void)
{
        static const struct w_fpenv standard = W_FPENV_DEFAULT;

        if (W_UNLIKELY(!w_fpenv_is_default()))
                w_fpenv_load(&standard);
}

/* The same when `from` will never run again. */
W_INLINE W_NORETURN void w_fiber_switch_last_inline(struct fiber *from, struct fiber *to, int how)
{
        w_fiber_swap_fpenv(from, to);
        w_san_leave(&from->san, &to->san, W_SAN_DYING | how);
        w_context_switch(&from->context, &to->context);
        __builtin_trap();       /* somebody resumed a fiber that had ended */
}

/* `how` is W_SAN_ORDERED or 0, see base/sanitizer.h. */
W_INLINE void w_fiber_switch_inline(struct fiber *from, struct fiber *to, int how)
{
        w_fiber_swap_fpenv(from, to);
        w_san_leave(&from->san, &to->san, how);
        w_context_switch(&from->context, &to->context);
        w_san_arrive(&from->san);
}

#endif
