/* sync/cond.c - waiting for something that a mutex protects.
 *
 * Called by   user code.
 * Protocols   cites waitqueue (wait/waitqueue.c), wake (wait/wake.c), mutex (sync/mutex.c).
 *
 * PROTOCOL cond
 *
 * Goal      a signal ends the wait of the one who waits longest, a broadcast that of all who wait;
 *           nothing else does, but a scope; a signal that meets a cancellation goes to the next.
 * Parties   waiter, which holds the mutex when it comes; signaller.
 * Words     word: 1 if there may be waiters; changed under the bucket's lock.
 * Waiter    1 under the bucket's lock: word := 1, stands in line   2 unlocks the mutex   3 parks; a
 *           signal that came since 1 makes the commit refuse   4 cancelled: takes itself out of the
 *           line under the bucket's lock   5 locks the mutex
 * Signaller 1 word 0: nobody waits   2 under the bucket's lock: takes the first out of the line,
 *           word := 0 if it was the last; claims it. Lost: the next   3 unlocks the bucket, wakes
 * Why no signal is lost   the waiter stands in line before it unlocks the mutex. Who changes the
 *           condition under the mutex afterwards, and then signals, sees word and line.
 * Why the wait is not a sole one   the signaller may find the waiter before it sleeps. The claim
 *           then is the last that it does to the frame, so the word of the object comes first.
 * Lifetime  the signaller owns nothing of the object: it touches the word only while somebody whom
 *           it has not claimed yet is found in line, or waits for the bucket's lock to leave it.
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

#include "weft.h"

/* Not the line of a mutex or semaphore: a signal that comes too late must not find what has taken
 * the place of its cond. */
enum { COND_LINE = 7 };

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

static void wait_in_queue(struct cond *c, struct waitq_entry *place)
{
        struct bucket *b = w_waitq_lock(place->key);

        w_store_rlx(&c->word, 1);                                 /* guarded by the mutex */
        w_waitq_append(b, place);
        w_waitq_unlock(b);
}

static void leave_queue(struct cond *c, struct waitq_entry *place)
{
        struct bucket *b = w_waitq_lock(place->key);

        if (w_waitq_remove(b, place) && !w_waitq_first(b, place->key, true))
                w_store_rlx(&c->word, 0);                         /* guarded by the bucket's lock */
        w_waitq_unlock(b);
}

static void nothing_to_unlock(void *arg)
{
        (void)arg;
}

static int wait(struct cond *c, weft_mutex *m)
{
        struct wait  w;
        struct waitq_entry place;
        int          rc = 0;

        w_wait_begin(&w, W_FOREVER, W_CANCELLABLE);
        w.waiter.sole = false;
        w_waitq_entry_init(&place, w_waitq_key(c, COND_LINE), &w.waiter);
        wait_in_queue(c, &place);
        weft_mutex_unlock(m);
        W_WINDOW("cond-before-park");
        uint32_t verdict = w_wait_park(&w, W_WAIT_COND, nothing_to_unlock, NULL);

        if (verdict < W_VERDICT_OTHER) {
                leave_queue(c, &place);
                rc = w_wait_error(&w, verdict);
        }
        w_wait_end(&w);
        weft_mutex_lock(m);
        return rc;
}

/* ---- Signal ---------------------------------------------------------------------------------- */

/* Under the lock of the bucket: the first whom this claims, if it has to be woken. */
static struct waiter *claim_one(struct cond *c, struct bucket *b, bool run)
{
        uintptr_t key = w_waitq_key(c, COND_LINE);

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
        struct bucket *b = w_waitq_lock_to_wake(w_waitq_key(c, COND_LINE), &run);
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
        uintptr_t        key = w_waitq_key(c, COND_LINE);
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
