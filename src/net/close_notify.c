/* net/close_notify.c - sleeping while using a descriptor, but not in its wait queue.
 *
 * A sleeper waits for a free number (accept), for a listener with a full queue (connect), for a
 * receiver or a terminal without room (io), or for the thread that makes its call (offload).
 *
 * Protocols   owns close-notify; cites wake (wait/wake.c), poll (net/poll.c).
 *
 * PROTOCOL close-notify
 *
 * Goal      A sleeper is woken when weft_close of its descriptor begins. It is also woken when any
 *           descriptor has been closed, because then there is room for another.
 * Parties   sleeper, closer.
 * Words     list, under its lock; n: the length of the list; desc.users: CLOSING.
 * Sleeper
 *   1. Lock; enter the list, n + 1; unlock.
 *   2. Full fence [BS1].
 *   3. If CLOSING is set, or there is room, do not sleep: go to 5.
 *   4. Park.
 *   5. Lock; leave the list, n - 1; unlock.
 * Closer
 *   1. Set CLOSING, or close(2).
 *   2. Full fence [BS1].
 *   3. If n is not 0: lock; claim all waiters in the list; unlock; wake the claimed waiters.
 * Edges     [BS1] n <-> CLOSING, what is closed   sleeper's fence <-> closer's fence
 * Why no sleeper misses it   Whichever fence comes first, step 3 of the other party sees what was
 *           done before that fence. A sleeper that was claimed before it parks does not park.
 * Rejected  A list for each number (a sleeper wants to hear of all closes); a lock in every close.
 * Tests     flow/net/test_accept.c, sim scenarios net_*, mutants close-notify-*.
 *
 * SPDX-License-Identifier: MIT
 */
#include "net/close_notify.h"

#include "base/window.h"
#include "net/desc.h"
#include "wait/wait.h"

#include "sched/ready.h"
#include "sched/run/run.h"
#include "weft.h"

#include <errno.h>      /* -Exxx */

static struct {
        struct lock      lock;          /* class close_notify */
        struct list_node list;          /* l  struct close_waiter */
        w_atomic_u32     n;             /* a  [BS1] by the fence */
        bool             ready;         /* l  at_end is registered */
        struct run_end   at_end;
} all = { .lock = W_LOCK_INIT(close_notify), .list = { &all.list, &all.list } };

/* Called when the last thread of the run is gone, and the frames of the sleepers with it. */
static void forget_all(void)
{
        w_list_init(&all.list);
        w_store_rlx(&all.n, 0);                                   /* own word: no thread is left */
        all.ready = false;
}

static void get_ready_locked(void)
{
        if (W_LIKELY(all.ready))
                return;
        all.at_end.free = forget_all;
        w_run_at_end(&all.at_end);
        all.ready = true;
}

void w_close_notify_join(struct close_waiter *b, struct waiter *w)
{
        w->sole = false;
        b->waiter = w;
        w_list_init(&b->link);
        w_lock(&all.lock);
        get_ready_locked();
        w_list_push_back(&all.list, &b->link);
        w_add_rlx(&all.n, 1);                                     /* guarded by BS1 */
        w_unlock(&all.lock);
        w_fence_full();                                           /* [BS1] */
}

void w_close_notify_leave(struct close_waiter *b)
{
        w_lock(&all.lock);
        w_list_unlink(&b->link);
        w_sub_rlx(&all.n, 1);                                     /* guarded by the lock */
        w_unlock(&all.lock);
}

static W_NOINLINE void wake_all(void)
{
        struct queue woken = { 0 };

        w_lock(&all.lock);
        W_LIST_EACH(n, &all.list) {
                struct waiter *w = W_CONTAINER_OF(n, struct close_waiter, link)->waiter;

                if (w_wake_claim(w, W_CLOSE_NOTIFIED) == W_CLAIM_WON)
                        w_wake_gather(w, &woken);
        }
        w_unlock(&all.lock);
        w_ready_many(&woken);
}

void w_close_notify_wake(void)
{
        w_fence_full();                                           /* [BS1] */
        if (W_UNLIKELY(w_load_rlx(&all.n) != 0))                  /* guarded by BS1 */
                wake_all();
}

static void unlock_nothing(void *arg)
{
        (void)arg;
}

int w_close_notify_sleep(struct desc *d, int64_t until, bool (*try)(void *arg), void *arg)
{
        struct wait         w;
        struct close_waiter b;
        int                 rc = 0;

        w_wait_begin(&w, until, W_CANCELLABLE);
        w_close_notify_join(&b, &w.waiter);
        W_WINDOW("close-notify-joined");
        if (w_desc_is_closing(d)) {
                rc = -EBADF;
        } else if (!try || !try(arg)) {
                uint32_t verdict = w_wait_park(&w, W_WAIT_IO, unlock_nothing, NULL);

                rc = verdict >= W_VERDICT_OTHER ? 0 : w_wait_error(&w, verdict);
        }
        w_close_notify_leave(&b);
        w_wait_end(&w);
        return rc == -ETIME ? 0 : rc;
}
