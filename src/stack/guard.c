/* stack/guard.c - the guard between a stack and the stack below it.
 *
 * There are three kinds, in order of preference:
 *
 *   light    faults, and costs only a page-table entry.
 *   heavy    faults, by mprotect. It splits the mapping and adds two more. A process may have
 *            65,530 mappings in all. If there are no more, every later mmap of the program fails,
 *            so heavy guards have a budget.
 *   canary   when the budget is spent: a few words of known content below the stack. They show an
 *            overflow only afterwards, and only an overflow that wrote to them. The first such
 *            stack is reported on stderr.
 *
 * A guard stays for the life of the slab: giving pages back does not remove it.
 *
 * SPDX-License-Identifier: MIT
 */
#include "stack/pool.h"

#include "os/os.h"

/* Frames have gaps: an overflow steps over 32 words less easily than over one word, and 32 words
 * are still on one page. */
enum { CANARY_WORDS = 32 };

size_t w_guard_size(void)
{
        size_t page = w_os_page_size();
#if defined(__x86_64__)
        return page;
#else
        size_t probe_interval = (size_t)64 << 10;       /* of -fstack-clash-protection on aarch64 */

        return page > probe_interval ? page : probe_interval;
#endif
}

int64_t w_guard_default_budget(void)
{
        return w_os_vm_map_limit() / 100 * 45 / 2;      /* two mappings for each guard */
}

static char *guard_low(const struct stack_pool *pool, const struct stack *stack)
{
        return stack->low - pool->guard_size;
}

static bool install_light(struct stack_pool *pool, struct stack *stack)
{
        if (pool->config.guards != W_GUARDS_AUTO || !w_os_vm_has_light_guard())
                return false;
        if (w_os_vm_guard_light(guard_low(pool, stack), pool->guard_size) != 0)
                return false;           /* locked memory, no page table: try the next kind */
        w_add_rlx(&pool->n_light, 1);   /* counter */
        stack->guard = W_GUARD_LIGHT;
        return true;
}

static bool install_heavy(struct stack_pool *pool, struct stack *stack)
{
        if (pool->config.guards == W_GUARDS_CANARY)
                return false;
        /* counter: counted before the guard is made, so the budget is never exceeded. */
        int64_t n_before = (int64_t)w_add_rlx(&pool->n_heavy, 1);

        if (n_before < pool->config.guard_budget &&
            w_os_vm_guard_heavy(guard_low(pool, stack), pool->guard_size) == 0) {
                stack->guard = W_GUARD_HEAVY;
                return true;
        }
        w_sub_rlx(&pool->n_heavy, 1);   /* counter */
        return false;
}

static volatile uint64_t *canary_words(const struct stack *stack)
{
        return (volatile uint64_t *)(void *)stack->low - CANARY_WORDS;
}

/* Each word is different, and code without the secret cannot guess it. */
static uint64_t canary_word(const struct stack_pool *pool, const volatile uint64_t *at)
{
        return pool->canary ^ ((uintptr_t)at * 0x9e3779b97f4a7c15u);
}

static void install_canary(struct stack_pool *pool, struct stack *stack)
{
        volatile uint64_t *words = canary_words(stack);

        for (int i = 0; i < CANARY_WORDS; i++)
                words[i] = canary_word(pool, &words[i]);
        stack->guard = W_GUARD_CANARY;
        if (w_add_rlx(&pool->n_canary, 1) == 0)         /* counter */
                w_say("no guard pages for more stacks after %llu of them; "
                      "further overflows are noticed late or not at all",
                      (unsigned long long)(w_load_rlx(&pool->n_light) +   /* counter */
                                           w_load_rlx(&pool->n_heavy)));  /* counter */
}

bool w_guard_canary_whole(const struct stack_pool *pool, const struct stack *stack)
{
        volatile uint64_t *words = canary_words(stack);

        for (int i = 0; i < CANARY_WORDS; i++)
                if (words[i] != canary_word(pool, &words[i]))
                        return false;
        return true;
}

void w_guard_install(struct stack_pool *pool, struct stack *stack)
{
        W_ASSERT(stack->guard == W_GUARD_NONE);
        if (!install_light(pool, stack) && !install_heavy(pool, stack))
                install_canary(pool, stack);
}
