/* arch/fiber.c - makes fibers, and switches between fibers that take turns.
 *
 * Built as arch/arch.h demands: no LTO, no sanitizer, baseline instruction set.
 *
 * SPDX-License-Identifier: MIT
 */
#include "arch/fiber.h"

void w_fiber_make(struct fiber *f, void *low, size_t size, void *top, void (*fn)(void *),
                  void *arg)
{
        w_context_make(&f->context, top, fn, arg);
        f->own_fpenv = false;
        w_san_create(&f->san, low, size);
}

void w_fiber_adopt(struct fiber *f)
{
        f->own_fpenv = false;
        w_san_adopt(&f->san);
}

void w_fiber_destroy(struct fiber *f)
{
        w_san_destroy(&f->san);
}

void w_fiber_begin(struct fiber *self)
{
        w_san_arrive(&self->san);
}

W_NOIPA void w_fiber_switch(struct fiber *from, struct fiber *to)
{
        w_fiber_switch_inline(from, to, W_SAN_ORDERED);
}

W_NOIPA W_NORETURN void w_fiber_switch_last(struct fiber *from, struct fiber *to)
{
        w_fiber_switch_last_inline(from, to, W_SAN_ORDERED);
}
