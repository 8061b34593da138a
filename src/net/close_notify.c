/* net/close_notify.c - those who use a descriptor and sleep, but not in its line.
 *
 * Called by   accept (waits for a number to become free), connect (for a listener with a full
 *             queue), io (for a receiver, or a terminal, with no room), errand (for the thread that
 *             does it); users (something is closed).
 * Protocols   owns close-notify; cites wake (wait/wake.c), poll (net/poll.c).
 *
 * PROTOCOL close-notify
 *
 * Goal      who sleeps beside its descriptor hears when weft_close begins for that one; and when
 *           any has been closed, because there is room for another then.
 * Parties   sleeper, closer.
 * Words     list, under its lock; n: how many are in it; desc.users: CLOSING.
 * Sleeper   1 lock; into the list, n + 1; unlock   2 [BS1] full fence   3 CLOSING, or there is
 *           room: does not sleep   4 parks   5 lock; out of the list, n - 1; unlock
 * Closer    1 sets CLOSING, or has closed   2 [BS1] full fence   3 n is not 0: lock; claims all in
 *           the list; unlock; wakes them
 * Edges     [BS1] n <-> CLOSING, what is closed   sleeper's fence <-> closer's fence
 * Why nobody misses it   whichever fence comes first, the other side's step 3 sees what was done
 *           before it. Who was claimed before it parks does not park.
 * Rejected  a line for each number (who sleeps here wants to hear of all); a lock in every close.
 * Tests     flow/net/test_accept.c, sim scenarios net_*, mutants beside-*.
 *
 * SPDX-License-Identifier: MIT
 */
#include "net/close_notify.h"

#include "base/window.h"
#include "net/poll.h"
#include "wait/wait.h"

#include "weft.h"

#include <errno.h>      /* -Exxx */

static struct {
        struct lock      lock;          /* class beside */
        struct list_node list;          /* l  struct beside */
        w_atomic_u32     n;             /* a  [BS1] by the fence */
        bool             ready;         /* l  the end of the run will be heard of */
        struct run_end   at_end;
} all = { .lock = W_LOCK_INIT(close_notify), .list = { &all.list, &all.list } };

/* When the last thread of the run is gone: the frames of those who slept are, too. */
static void forget_all(void)
{
        w_list_init(&all.list);
        w_store_rlx(&all.n, 0);                                   /* own word: nobody is left */
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
        struct wait   w;
        struct close_waiter b;
        int           rc = 0;

        w_wait_begin(&w, until, W_CANCELLABLE);
        w_close_notify_join(&b, &w.waiter);
        W_WINDOW("beside-joined");
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
