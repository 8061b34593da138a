/* wait/join.h - an entry in the list of waiters for a goroutine's end.
 *
 * For weft_join and for select.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_WAIT_JOIN_H
#define W_WAIT_JOIN_H

#include "sched/ids.h"
#include "wait/wake.h"

struct join_waiter {
        struct joiner  joiner;
        struct waiter *waiter;
        uint32_t       verdict;         /* the value for the claim */
};

/* What weft_join(id) returns at once, or -EAGAIN: the caller must wait. Context: any; takes the
 * lock of the id. */
W_MUST_CHECK int w_join_look(int64_t id);

/* The same. On -EAGAIN jw is in the list of joiners, and the lock of the id is held: *held. */
W_MUST_CHECK int w_join_begin_lock(struct join_waiter *jw, int64_t id, struct lock **held);

#endif
