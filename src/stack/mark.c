/* stack/mark.c - how deep a stack was used: the high-water mark.
 *
 * Stacks are not filled with a pattern, because this would touch, and commit, every page of every
 * stack. Fresh pages are zero. The mark is the lowest word that is not zero, on the pages that are
 * resident. The mark misses zeros that a frame stored at its deepest end: a word or two.
 *
 * SPDX-License-Identifier: MIT
 */
#include "stack/pool.h"

#include "base/sanitizer.h"
#include "base/tuning.h"
#include "os/os.h"

/* Few, because this code may run on a stack that has little room. */
enum { PAGES_AT_ONCE = 64 };

/* A part of a stack, and which of its pages are resident. */
struct view {
        char         *from;
        size_t        n_pages;
        unsigned char resident[PAGES_AT_ONCE];
};

/* `from` is on a page boundary, `to` need not be. If the system does not tell, all pages count as
 * resident: reading an untouched page is slow but harmless. */
static void look(struct view *v, char *from, const char *to, size_t page)
{
        size_t n = ((size_t)(to - from) + page - 1) / page;

        v->from = from;
        v->n_pages = n < PAGES_AT_ONCE ? n : PAGES_AT_ONCE;
        if (w_os_vm_resident(from, v->n_pages * page, v->resident) != 0)
                for (size_t i = 0; i < v->n_pages; i++)
                        v->resident[i] = 1;
}

/* Reads what other code has left behind: ended frames, redzones, words that were never written. */
static W_NO_SANITIZE char *first_used_word(char *from, const char *to)
{
        for (char *at = from; at < to; at += sizeof(uint64_t))
                if (*(volatile uint64_t *)(void *)at)
                        return at;
        return NULL;
}

static const char *page_end(const char *at, size_t page, const struct stack *stack)
{
        return (size_t)(stack->top - at) < page ? stack->top : at + page;
}

static char *first_used_in(const struct view *v, size_t page, const struct stack *stack)
{
        for (size_t i = 0; i < v->n_pages; i++) {
                char *at = v->from + i * page;
                char *used = v->resident[i] & 1 ? first_used_word(at, page_end(at, page, stack))
                                                : NULL;

                if (used)
                        return used;
        }
        return NULL;
}

static char *lowest_used(const struct stack *stack)
{
        size_t      page = w_os_page_size();
        struct view v;

        for (char *from = stack->low; from < stack->top; from += v.n_pages * page) {
                look(&v, from, stack->top, page);
                w_san_quiet_begin();
                char *used = first_used_in(&v, page, stack);
                w_san_quiet_end();

                if (used)
                        return used;
        }
        return stack->top;
}

size_t w_stack_high_water(const struct stack *stack)
{
        return (size_t)(stack->top - lowest_used(stack));
}

#if defined(W_DEBUG) && W_TUNE_CLEAR_STACKS

static W_NO_SANITIZE void clear(char *from, const char *to)
{
        for (char *at = from; at < to; at += sizeof(uint64_t))
                *(volatile uint64_t *)(void *)at = 0;
}

/* Clears from the page of `used` up, but only resident pages: clearing others would commit them. */
static void clear_from(const struct stack *stack, char *used)
{
        size_t      page = w_os_page_size();
        char       *from = used - ((uintptr_t)used & (page - 1));
        struct view v;

        for (; from < stack->top; from += v.n_pages * page) {
                look(&v, from, stack->top, page);
                for (size_t i = 0; i < v.n_pages; i++) {
                        char *at = from + i * page;

                        if (v.resident[i] & 1)
                                clear(at, page_end(at, page, stack));
                }
        }
}

static void note_high_water(struct stack_class *c, size_t used)
{
        uintptr_t seen = w_load_rlx(&c->high_water);            /* counter */

        while (used > seen && !w_cas_rlx(&c->high_water, &seen, used))  /* counter */
                ;
}

void w_mark_unbind(struct stack_class *c, struct stack *stack)
{
        size_t size = (size_t)(stack->end - stack->low);
        char  *used = lowest_used(stack);

        note_high_water(c, (size_t)(stack->top - used));
        w_san_stack_recycle(stack->low, size);          /* lets clear_from write to ended frames */
        clear_from(stack, used);
        w_san_stack_recycle(stack->low, size);
}

#else

void w_mark_unbind(struct stack_class *c, struct stack *stack)
{
        (void)c;
        w_san_stack_recycle(stack->low, (size_t)(stack->end - stack->low));
}

#endif
