/* base/heap.c - sifting in the 4-ary heap of base/heap.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/heap.h"

static void place(struct heap *h, uint32_t index, struct heap_slot slot)
{
        h->slots[index] = slot;
        if (h->moved)
                h->moved(slot.item, index);
}

/* Both sifts keep `slot` in a register and write it once, to its final position. */
static void sift_up(struct heap *h, uint32_t index, struct heap_slot slot)
{
        while (index > 0) {
                uint32_t parent = (index - 1) / W_HEAP_ARITY;

                if (h->slots[parent].key <= slot.key)
                        break;
                place(h, index, h->slots[parent]);
                index = parent;
        }
        place(h, index, slot);
}

static uint32_t least_child(const struct heap *h, uint32_t first)
{
        uint32_t end = first + W_HEAP_ARITY < h->n ? first + W_HEAP_ARITY : h->n;
        uint32_t least = first;

        for (uint32_t i = first + 1; i < end; i++)
                if (h->slots[i].key < h->slots[least].key)
                        least = i;
        return least;
}

static void sift_down(struct heap *h, uint32_t index, struct heap_slot slot)
{
        for (;;) {
                uint32_t first = index * W_HEAP_ARITY + 1;

                if (first >= h->n)
                        break;
                uint32_t child = least_child(h, first);
                if (slot.key <= h->slots[child].key)
                        break;
                place(h, index, h->slots[child]);
                index = child;
        }
        place(h, index, slot);
}

/* Puts `slot` at `index`, then moves it up or down to the position where it belongs. */
static void settle(struct heap *h, uint32_t index, struct heap_slot slot)
{
        if (index > 0 && slot.key < h->slots[(index - 1) / W_HEAP_ARITY].key)
                sift_up(h, index, slot);
        else
                sift_down(h, index, slot);
}

void w_heap_push(struct heap *h, int64_t key, void *item)
{
        W_ASSERT(h->n < h->cap);
        uint32_t index = h->n++;

        sift_up(h, index, (struct heap_slot){ key, item });
        W_ASSERT_SLOW(w_heap_ordered(h));
}

void *w_heap_remove(struct heap *h, uint32_t index)
{
        W_ASSERT(index < h->n);
        void *item = h->slots[index].item;
        struct heap_slot last = h->slots[--h->n];

        if (index < h->n)
                settle(h, index, last);
        W_ASSERT_SLOW(w_heap_ordered(h));
        return item;
}

void w_heap_rekey(struct heap *h, uint32_t index, int64_t key)
{
        W_ASSERT(index < h->n);
        settle(h, index, (struct heap_slot){ key, h->slots[index].item });
        W_ASSERT_SLOW(w_heap_ordered(h));
}

void w_heap_rebuild(struct heap *h)
{
        if (h->n == 0)
                return;
        for (uint32_t i = (h->n - 1) / W_HEAP_ARITY + 1; i-- > 0;)
                sift_down(h, i, h->slots[i]);
        W_ASSERT_SLOW(w_heap_ordered(h));
}

bool w_heap_ordered(const struct heap *h)
{
        for (uint32_t i = 1; i < h->n; i++)
                if (h->slots[(i - 1) / W_HEAP_ARITY].key > h->slots[i].key)
                        return false;
        return true;
}
