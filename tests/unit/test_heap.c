/* The 4-ary heap against a sorted array, with positions stored in the items. */
#include "base/heap.h"

#include "base/rand.h"
#include "harness/test.h"

enum { N_ITEMS = 300 };

struct timer {
        int64_t  key;
        uint32_t index;
        bool     queued;
};

static void moved(void *item, uint32_t index)
{
        ((struct timer *)item)->index = index;
}

static struct heap_slot slots[N_ITEMS];
static struct timer     timers[N_ITEMS];

static struct heap empty_heap(void)
{
        return (struct heap){ .slots = slots, .cap = N_ITEMS, .moved = moved };
}

static void check_positions(const struct heap *h)
{
        for (uint32_t i = 0; i < h->n; i++)
                CHECK_EQ(((struct timer *)h->slots[i].item)->index, i);
}

TEST(heap_gives_keys_in_order)
{
        uint64_t    rand = test_seed();
        struct heap h = empty_heap();

        for (int i = 0; i < N_ITEMS; i++)
                w_heap_push(&h, (int64_t)w_rand_below(&rand, 100), &timers[i]);
        int64_t last = -1;
        while (h.n) {
                int64_t key = h.slots[0].key;

                CHECK(key >= last);
                last = key;
                w_heap_remove(&h, 0);
        }
}

TEST(heap_removes_from_any_position)
{
        uint64_t    rand = test_seed();
        struct heap h = empty_heap();

        for (int i = 0; i < N_ITEMS; i++)
                w_heap_push(&h, (int64_t)w_rand(&rand), &timers[i]);
        while (h.n) {
                uint32_t      at = w_rand_below(&rand, h.n);
                struct timer *t = h.slots[at].item;

                CHECK(w_heap_remove(&h, at) == t);
                CHECK(w_heap_ordered(&h));
                check_positions(&h);
        }
}

TEST(heap_rekey_moves_both_ways)
{
        uint64_t    rand = test_seed();
        struct heap h = empty_heap();

        for (int i = 0; i < N_ITEMS; i++)
                w_heap_push(&h, i, &timers[i]);
        for (int round = 0; round < 500; round++) {
                struct timer *t = &timers[w_rand_below(&rand, N_ITEMS)];

                w_heap_rekey(&h, t->index, (int64_t)w_rand_below(&rand, 1000));
                CHECK(w_heap_ordered(&h));
        }
        check_positions(&h);
}

TEST(heap_rebuild_orders_arbitrary_keys)
{
        uint64_t    rand = test_seed();
        struct heap h = empty_heap();

        w_heap_rebuild(&h);
        for (uint32_t i = 0; i < N_ITEMS; i++) {
                timers[i].index = i;
                slots[i] = (struct heap_slot){ (int64_t)w_rand(&rand), &timers[i] };
        }
        h.n = N_ITEMS;
        w_heap_rebuild(&h);
        CHECK(w_heap_ordered(&h));
        check_positions(&h);
}

TEST(heap_ordered_notices_disorder)
{
        struct heap h = empty_heap();

        for (int i = 0; i < 10; i++)
                w_heap_push(&h, i, &timers[i]);
        slots[0].key = 100;
        CHECK(!w_heap_ordered(&h));
}

TEST(heap_takes_extreme_keys)
{
        struct heap h = empty_heap();

        w_heap_push(&h, INT64_MAX, &timers[0]);
        w_heap_push(&h, INT64_MIN, &timers[1]);
        w_heap_push(&h, 0, &timers[2]);
        CHECK(w_heap_remove(&h, 0) == &timers[1]);
        CHECK(w_heap_remove(&h, 0) == &timers[2]);
        CHECK(w_heap_remove(&h, 0) == &timers[0]);
}
