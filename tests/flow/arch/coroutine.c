/* tests/flow/arch/coroutine.c - resume and yield over arch/fiber.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "coroutine.h"

#include "arch/fiber.h"
#include "harness/test.h"

#include <stdlib.h>

enum { STACK_SIZE = 256 * 1024 };

struct coroutine {
        struct fiber   fiber;
        struct fiber   resumer;
        void         (*fn)(void *);
        void          *arg;
        int            ended;
        unsigned char *stack;
};

static struct coroutine *current;

static void coroutine_main(void *arg)
{
        struct coroutine *c = arg;

        w_fiber_begin(&c->fiber);
        c->fn(c->arg);
        c->ended = 1;
        w_fiber_switch_last(&c->fiber, &c->resumer);
}

struct coroutine *coroutine_new(void (*fn)(void *), void *arg)
{
        struct coroutine *c = calloc(1, sizeof(*c));

        CHECK(c);
        c->stack = malloc(STACK_SIZE);
        CHECK(c->stack);
        c->fn = fn;
        c->arg = arg;
        w_fiber_make(&c->fiber, c->stack, STACK_SIZE, c->stack + STACK_SIZE, coroutine_main, c);
        return c;
}

int coroutine_resume(struct coroutine *c)
{
        CHECK(!current && !c->ended);
        current = c;
        w_fiber_adopt(&c->resumer);
        w_fiber_switch(&c->resumer, &c->fiber);
        current = NULL;
        return !c->ended;
}

void coroutine_yield(void)
{
        w_fiber_switch(&current->fiber, &current->resumer);
}

void coroutine_free(struct coroutine *c)
{
        w_fiber_destroy(&c->fiber);
        free(c->stack);
        free(c);
}
