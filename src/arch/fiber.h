/* arch/fiber.h - a stack that can be left and resumed: context, floating point, annotations.
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
        struct w_fpenv   fpenv;         /* valid if it left with its own environment */
        bool             own_fpenv;
        struct san_fiber san;
};

/* At the first switch to f, f starts fn(arg) on [low, low + size). Its first stack address is
 * `top`, at most low + size, and it has the default floating-point environment. The range contains
 * no guard. fn must not return; it must call w_fiber_begin() first. */
void w_fiber_make(struct fiber *f, void *low, size_t size, void *top, void (*fn)(void *),
                  void *arg);

/* f stands for the stack that the calling thread is on. Needs no w_fiber_destroy(). */
void w_fiber_adopt(struct fiber *f);

/* Ends the annotations of a fiber that has been left for the last time, by w_fiber_switch_last() or
 * otherwise. Context: on another stack. */
void w_fiber_destroy(struct fiber *f);

/* The first call on a new fiber. */
void w_fiber_begin(struct fiber *self);

/* Out of line, for fibers that take turns: simulator, explorer, tests. What `from` did is ordered
 * before what `to` does next, for TSan too. */
void w_fiber_switch(struct fiber *from, struct fiber *to);

/* The same, if `from` will never run again. */
W_NORETURN void w_fiber_switch_last(struct fiber *from, struct fiber *to);

/* ---- The switch itself: only for functions that obey arch/arch.h ----------------------------- */

/* The common case is that both sides have the default environment. It costs one read of the control
 * word and one flag. */
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

/* The environment that a new fiber starts with, for a goroutine that takes over the fiber of an
 * ended goroutine. */
W_INLINE void w_fiber_default_fpenv(void)
{
        static const struct w_fpenv standard = W_FPENV_DEFAULT;

        if (W_UNLIKELY(!w_fpenv_is_default()))
                w_fpenv_load(&standard);
}

/* As w_fiber_switch_inline, if `from` will never run again. */
W_INLINE W_NORETURN void w_fiber_switch_last_inline(struct fiber *from, struct fiber *to, int how)
{
        w_fiber_swap_fpenv(from, to);
        w_san_leave(&from->san, &to->san, W_SAN_DYING | how);
        w_context_switch(&from->context, &to->context);
        __builtin_trap();       /* a fiber that had ended was resumed */
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
