/* bench/weft/latch.h - a parent waits until the last of its children is done.
 *
 * The parent counts itself too. If a child takes the count to zero, it unparks the parent, which is
 * parked or about to park. If the parent takes the count to zero, it does not wait at all. So there
 * is one unpark exactly if there is a park, and no token is left over for the next round. A child
 * that is not the last does not touch the latch after it has counted down.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BENCH_WEFT_LATCH_H
#define BENCH_WEFT_LATCH_H

#include "bench.h"

#include <weft.h>

#include <stdatomic.h>

struct latch {
        _Atomic int64_t left;
        int64_t         parent;
};

static inline void latch_init(struct latch *l, int64_t parent, int64_t children)
{
        atomic_init(&l->left, children + 1);
        l->parent = parent;
}

static inline void latch_done(struct latch *l)
{
        if (atomic_fetch_sub(&l->left, 1) == 1)
                bench_must("weft_unpark", weft_unpark(l->parent));
}

static inline void latch_wait(struct latch *l)
{
        if (atomic_fetch_sub(&l->left, 1) != 1)
                bench_must("weft_park", weft_park());
}

#endif
