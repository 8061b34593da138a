/* chan/select_lock.c - locks all channels of a select, in address order.
 *
 * Protocols   cites select (chan/select.c).
 *
 * The order is stored in the cases: `order` of case k is slot k, the index of the case with the
 * k-th channel. Nothing is allocated, and no case is moved.
 *
 * SPDX-License-Identifier: MIT
 */
#include "chan/select.h"

enum { FEW = 12 };              /* up to this number insertion sort is faster */

static uint32_t *slot(const struct select *s, uint32_t k)
{
        return &w_select_case(s, k)->order;
}

static struct chan *chan_at(const struct select *s, uint32_t k)
{
        return w_select_case(s, *slot(s, k))->chan;
}

static bool comes_before(const struct select *s, uint32_t case_a, uint32_t case_b)
{
        return (uintptr_t)w_select_case(s, case_a)->chan <
               (uintptr_t)w_select_case(s, case_b)->chan;
}

/* ---- Sorting --------------------------------------------------------------------------------- */

static void swap(const struct select *s, uint32_t k, uint32_t l)
{
        uint32_t at = *slot(s, k);

        *slot(s, k) = *slot(s, l);
        *slot(s, l) = at;
}

static void sort_few(const struct select *s)
{
        for (uint32_t k = 1; k < s->n_chans; k++) {
                uint32_t moved = *slot(s, k);
                uint32_t at = k;

                for (; at > 0 && comes_before(s, moved, *slot(s, at - 1)); at--)
                        *slot(s, at) = *slot(s, at - 1);
                *slot(s, at) = moved;
        }
}

/* Restores a heap of n slots, largest first, after its root may have become too small. */
static void sift_down(const struct select *s, uint32_t root, uint32_t n)
{
        uint32_t moved = *slot(s, root);

        for (uint32_t child; (child = 2 * root + 1) < n; root = child) {
                if (child + 1 < n && comes_before(s, *slot(s, child), *slot(s, child + 1)))
                        child++;
                if (!comes_before(s, moved, *slot(s, child)))
                        break;
                *slot(s, root) = *slot(s, child);
        }
        *slot(s, root) = moved;
}

static void sort_many(const struct select *s)
{
        uint32_t n = s->n_chans;

        for (uint32_t root = n / 2; root-- > 0;)
                sift_down(s, root, n);
        while (n-- > 1) {
                swap(s, 0, n);
                sift_down(s, 0, n);
        }
}

/* Cases of one channel enter its queue in random order: a partner takes the first of them. */
static void shuffle_equals(const struct select *s)
{
        uint32_t first = 0;             /* of the slots with this channel */

        for (uint32_t k = 1; k < s->n_chans; k++) {
                if (chan_at(s, k) != chan_at(s, first))
                        first = k;
                else
                        swap(s, k, first + w_select_random(k - first + 1));
        }
}

void w_select_sort(struct select *s)
{
        uint32_t k = 0;

        for (uint32_t i = 0; i < s->n; i++)
                if (w_case_has_chan(w_select_case(s, i)))
                        *slot(s, k++) = i;
        if (k <= FEW)
                sort_few(s);
        else
                sort_many(s);
        shuffle_equals(s);
}

/* ---- Locking --------------------------------------------------------------------------------- */

/* A channel that is in several cases is locked once, at the first of its slots. */
static bool is_first_slot(const struct select *s, uint32_t k)
{
        return k == 0 || chan_at(s, k) != chan_at(s, k - 1);
}

void w_select_lock_all(const struct select *s)
{
        for (uint32_t k = 0; k < s->n_chans; k++)
                if (is_first_slot(s, k))
                        w_lock_quick(&chan_at(s, k)->lock);
}

void w_select_unlock_all(const struct select *s)
{
        for (uint32_t k = s->n_chans; k-- > 0;)
                if (is_first_slot(s, k))
                        w_unlock_quick(&chan_at(s, k)->lock);
}
