/* base/heap.h - a 4-ary min-heap over an array that its owner provides.
 *
 * Keys are stored in the array beside the item, so that sifting reads one line per level and does
 * not touch the items. Each node has four children: the heap has half the levels of a binary heap,
 * and a node's children share a cache line (4 x 16 bytes). The heap tells each item its position
 * through `moved`, so that the item can be removed or re-keyed in O(log n) from any position.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_BASE_HEAP_H
#define W_BASE_HEAP_H

#include "base/assert.h"

#include <stdbool.h>

enum { W_HEAP_ARITY = 4 };

struct heap_slot {
        int64_t key;
        void   *item;
};

struct heap {
        struct heap_slot *slots;
        uint32_t          n;
        uint32_t          cap;          /* the owner grows slots before pushing into a full heap */
        void            (*moved)(void *item, uint32_t index);   /* may be NULL */
};

/* Context: owner; needs n < cap. */
void w_heap_push(struct heap *h, int64_t key, void *item);

/* Removes the slot at `index` and returns its item. Index 0 is the minimum. */
void *w_heap_remove(struct heap *h, uint32_t index);

/* Gives the slot at `index` another key. */
void w_heap_rekey(struct heap *h, uint32_t index, int64_t key);

/* Restores the order after keys were changed in place, in O(n). */
void w_heap_rebuild(struct heap *h);

/* True if every parent is no later than its children: for W_ASSERT_SLOW and weft_check. */
bool w_heap_ordered(const struct heap *h);

#endif
