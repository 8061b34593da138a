/* stack/trim.c - gives the pages of free stacks back to the system.
 *
 * Protocols   cites stack-reserve.
 *
 * Giving pages back costs about 3 us per stack, and about 3 us again to fault them in. This is a
 * hundred times what an exit costs otherwise, so an exit never does it. The watermark of a class is
 * the number of free slots that are worth keeping warm:
 *
 *   max(keep, most slots in use in this period and the period before - slots in use now)
 *
 * where keep is config.keep slots, but not more than 16 MiB of them: the pages of a large stack
 * that was used once are not kept for ever.
 *
 * If a program goes from 0 to 10,000 goroutines and back within a second or two, all 10,000 stacks
 * stay warm. After a single peak they stay warm for one to two periods. Slots beyond the watermark
 * are emptied in batches, the least recently used first. When slots come back to the centre and
 * half a batch has gathered, one batch is emptied; w_stack_trim empties all. Slots in caches are
 * never emptied: they are few, and are used soon.
 *
 * The whole stack of a slot is discarded, with its top page; the guard stays.
 *
 * SPDX-License-Identifier: MIT
 */
#include "stack/pool.h"

#include "base/window.h"
#include "os/os.h"

#define MOST_KEPT ((uint64_t)16 << 20)

enum { TRIM_BATCH = 2 * W_STACK_BATCH };        /* twice what a full cache gives back at once */

static uint64_t max_u64(uint64_t a, uint64_t b)
{
        return a > b ? a : b;
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
        return a < b ? a : b;
}

void w_trim_roll_locked(struct stack_pool *pool, struct stack_class *c, int64_t now)
{
        W_ASSERT(w_lock_held(W_LOCK_stack_pool));
        if (now < c->period_end_at)
                return;
        uint64_t in_use = w_stack_in_use_locked(c);
        bool     missed_one = now - c->period_end_at >= pool->config.period_ns;

        c->peak_before = missed_one ? in_use : c->peak;
        c->peak = in_use;
        c->period_end_at = now + pool->config.period_ns;
}

static uint64_t keep_of(const struct stack_pool *pool, const struct stack_class *c)
{
        return min_u64(pool->config.keep, MOST_KEPT / c->slot_size);
}

static uint64_t surplus_locked(const struct stack_pool *pool, const struct stack_class *c)
{
        uint64_t recent = max_u64(c->peak, c->peak_before);
        uint64_t in_use = w_stack_in_use_locked(c);
        uint64_t expected = recent > in_use ? recent - in_use : 0;
        uint64_t watermark = max_u64(keep_of(pool, c), expected);

        return c->n_warm > watermark ? c->n_warm - watermark : 0;
}

/* Moves the least recently used slots of the surplus to `out`. These slots count as reserved until
 * they are back, so that no bind finds too few slots. Slots that reservations need are not taken:
 * they will be used soon. `out` is a list, not an array, because this code may run on a stack that
 * has little room. */
static uint32_t take_coldest_locked(struct stack_pool *pool, struct stack_class *c,
                                    uint32_t least, struct list_node *out)
{
        uint64_t unreserved = c->n_slots - c->n_reserved;
        uint32_t n = (uint32_t)min_u64(TRIM_BATCH, min_u64(surplus_locked(pool, c), unreserved));

        if (n < least)
                return 0;
        for (uint32_t i = 0; i < n; i++) {
                struct list_node *coldest = c->warm.prev;

                w_list_unlink(coldest);
                w_list_push_back(out, coldest);
        }
        c->n_warm -= n;
        c->n_reserved += n;
        return n;
}

static void give_cold_locked(struct stack_class *c, struct list_node *from, uint32_t n)
{
        for (uint32_t i = 0; i < n; i++)
                w_list_push_front(&c->cold, w_list_pop_front(from));
        c->n_cold += n;
        c->n_reserved -= n;
}

/* Returns how many slots were emptied. A failure costs memory only, and another attempt would fail
 * as well: the slot counts as cold in both cases. */
static uint32_t discard_all(struct list_node *list)
{
        uint32_t n = 0;

        W_LIST_EACH(node, list) {
                struct stack *stack = W_CONTAINER_OF(node, struct stack, link);

                n += w_os_vm_discard(stack->low, (size_t)(stack->end - stack->low)) == 0;
        }
        return n;
}

uint32_t w_trim_step(struct stack_pool *pool, struct stack_class *c, uint32_t least)
{
        struct list_node taken;

        w_list_init(&taken);
        w_lock(&pool->lock);
        uint32_t n = take_coldest_locked(pool, c, least, &taken);
        w_unlock(&pool->lock);
        if (n == 0)
                return 0;
        W_WINDOW("trim-in-flight");
        uint32_t n_discarded = discard_all(&taken);

        w_lock(&pool->lock);
        give_cold_locked(c, &taken, n);
        c->n_discarded += n_discarded;
        w_unlock(&pool->lock);
        return n;
}

uint64_t w_stack_trim(struct stack_pool *pool, int64_t now)
{
        uint64_t n_emptied = 0;

        for (uint32_t i = 0; i < W_STACK_N_CLASSES; i++) {
                struct stack_class *c = &pool->classes[i];

                w_lock(&pool->lock);
                w_trim_roll_locked(pool, c, now);
                w_unlock(&pool->lock);
                for (uint32_t n; (n = w_trim_step(pool, c, 1)) > 0;)
                        n_emptied += n;
        }
        return n_emptied;
}
