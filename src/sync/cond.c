/* sync/cond.c - a condition variable: waiting for a condition that a mutex protects.
 *
 * Protocols   cites waitqueue (wait/waitqueue.c), wake (wait/wake.c), mutex (sync/mutex.c).
 *
 * PROTOCOL cond
 *
 * Goal      a signal ends the wait of the waiter that has waited longest; a broadcast ends the wait
 *           of all waiters; otherwise only a scope ends a wait. A signal that meets a cancellation
 *           goes to the next waiter.
 * Parties   waiter, which holds the mutex when it calls; signaller.
 * Words     word: 1 if there may be waiters; changed under the bucket's lock.
 * Waiter
 *   1. Under the bucket's lock: store 1, enter the queue.
 *   2. Unlock the mutex.
 *   3. Park. A signal that came since step 1 makes the commit refuse.
 *   4. Cancelled: leave the queue under the bucket's lock.
 *   5. Lock the mutex.
 * Signaller
 *   1. word is 0: there is no waiter, done.
 *   2. Under the bucket's lock: take the first waiter out of the queue, store 0 if it was the last,
 *      and claim it. Claim lost: again with the next waiter.
 *   3. Unlock the bucket, wake the waiter.
 * Why no signal is lost   the waiter is in the queue before it unlocks the mutex. A thread that
 *           changes the condition under the mutex afterwards, and then signals, sees word and
 *           queue.
 * Why the wait is not sole   the signaller may find the waiter before it parks. The claim is then
 *           the signaller's last access to the frame, so the store to the word comes first.
 * Lifetime  the signaller owns no part of the object. It touches the word only while a waiter that
 *           it has not claimed yet is in the queue, or waits for the bucket's lock to leave it.
 * Rejected  parking with the bucket locked and unlocking the mutex in the commit (one bucket's lock
 *           under another's).
 * Tests     flow/sync/test_cond.c, flow/sync/test_sync_lifetime.c, explore scenarios sync-cond*,
 *           sim scenario sync_cond, mutants sync-cond-*; window cond-before-park.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/window.h"
#include "sched/sched.h"
#include "wait/waitqueue.h"
#include "wait/wait.h"

#include "sched/run/foreign.h"
#include "weft.h"

/* A mutex or semaphore uses another queue: a signal that comes too late must not find the waiters
 * of another object at the same address. */
enum { COND_QUEUE = 7 };

struct cond {
        w_atomic_u64 word;      /* under the bucket's lock; a hint for signallers */
        uint64_t     reserved;
};

_Static_assert(sizeof(weft_cond) == sizeof(struct cond), "fixed for ever");

static struct cond *cond_of(weft_cond *c)
{
        return (struct cond *)(void *)c;
}

/* ---- Wait ------------------------------------------------------------------------------------ */

static void enqueue(struct cond *c, struct waitq_entry *entry)
{
        struct bucket *b = w_waitq_lock(entry->key);

        w_store_rlx(&c->word, 1);                                 /* guarded by the mutex */
        w_waitq_append(b, entry);
        w_waitq_unlock(b);
}

static void leave_queue(struct cond *c, struct waitq_entry *entry)
{
        struct bucket *b = w_waitq_lock(entry->key);

        if (w_waitq_remove(b, entry) && !w_waitq_first(b, entry->key, true))
                w_store_rlx(&c->word, 0);                         /* guarded by the bucket's lock */
        w_waitq_unlock(b);
}

static void nothing_to_unlock(void *arg)
{
        (void)arg;
}

static int wait(struct cond *c, weft_mutex *m)
{
        struct wait        w;
        struct waitq_entry entry;
        int                rc = 0;

        w_wait_begin(&w, W_FOREVER, W_CANCELLABLE);
        w.waiter.sole = false;
        w_waitq_entry_init(&entry, w_waitq_key(c, COND_QUEUE), &w.waiter);
        enqueue(c, &entry);
        weft_mutex_unlock(m);
        W_WINDOW("cond-before-park");
        uint32_t verdict = w_wait_park(&w, W_WAIT_COND, nothing_to_unlock, NULL);

        if (verdict < W_VERDICT_OTHER) {
                leave_queue(c, &entry);
                rc = w_wait_error(&w, verdict);
        }
        w_wait_end(&w);
        weft_mutex_lock(m);
        return rc;
}

/* ---- Signal ---------------------------------------------------------------------------------- */

/* Under the bucket's lock: claims the first waiter that can be claimed. Returns it if the caller
 * must wake it. */
static struct waiter *claim_one(struct cond *c, struct bucket *b, bool run)
{
        uintptr_t key = w_waitq_key(c, COND_QUEUE);

        for (struct waitq_entry *p; (p = w_waitq_first(b, key, run));) {
                if (!w_waitq_has_more(p))
                        w_store_rlx(&c->word, 0);                 /* guarded by the bucket's lock */
                w_waitq_remove(b, p);
                struct waiter *waiter = p->waiter;

                switch (w_wake_claim(waiter, W_VERDICT_OTHER)) {
                case W_CLAIM_WON:
                        return waiter;
                case W_CLAIM_EARLY:
                        return NULL;
                case W_CLAIM_LOST:
                        break;
                }
        }
        return NULL;
}

static W_NOINLINE void signal_slow(struct cond *c)
{
        W_ENTER();
        bool           run;
        struct bucket *b = w_waitq_lock_to_wake(w_waitq_key(c, COND_QUEUE), &run);
        struct waiter *waiter = claim_one(c, b, run);

        w_waitq_unlock(b);
        if (waiter)
                w_wake_up(waiter);
        if (run)
                w_foreign_exit();
        W_LEAVE();
}

static W_NOINLINE void broadcast_slow(struct cond *c)
{
        uintptr_t        key = w_waitq_key(c, COND_QUEUE);
        struct list_node woken;

        W_ENTER();
        bool           run;
        struct bucket *b = w_waitq_lock_to_wake(key, &run);

        w_list_init(&woken);
        if (w_waitq_first(b, key, run))
                w_store_rlx(&c->word, 0);                         /* guarded by the bucket's lock */
        (void)w_waitq_claim_all(b, key, run, &woken);
        w_waitq_unlock_and_wake(b, &woken, run);
        W_LEAVE();
}

/* ---- Public ---------------------------------------------------------------------------------- */

W_EXPORT int weft_cond_wait(weft_cond *c, weft_mutex *m)
{
        W_ENTER();
        int rc = w_call_check();

        if (rc == 0)
                rc = wait(cond_of(c), m);
        W_LEAVE();
        return rc;
}

W_EXPORT void weft_cond_signal(weft_cond *c)
{
        if (w_load_rlx(&cond_of(c)->word))                        /* guarded by the mutex */
                signal_slow(cond_of(c));
}

W_EXPORT void weft_cond_broadcast(weft_cond *c)
{
        if (w_load_rlx(&cond_of(c)->word))                        /* guarded by the mutex */
                broadcast_slow(cond_of(c));
}
