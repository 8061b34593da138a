/* wait/waitqueue.c - the hashed table of wait queues for caller-owned objects.
 *
 * PROTOCOL waitqueue
 *
 * Goal      once a call on an object has let another party return, the call does not touch the
 *           object any more: that party may free the object, and another object may then have the
 *           address.
 * Parties   waiter (goroutine or foreign thread), waker, the end of a run.
 * Words     buckets, never freed: a lock and the wait queues, one for each key. The object's own
 *           word says that there may be waiters (QUEUED). It is set under the bucket's lock only.
 * Waiter
 *   1. Lock the bucket.
 *   2. Read the object's word again. Set QUEUED in the same read-modify-write that finds that the
 *      caller must wait.
 *   3. Append the entry to the queue.
 *   4. Park. The commit unlocks the bucket.
 *   5. Woken: do not touch the object; the verdict says what the waiter got. Only the waiter of a
 *      mutex may read the word again: it does not have the mutex yet, so the mutex still exists.
 * Waker
 *   The read-modify-write that lets other parties proceed finds no QUEUED: done. Else
 *   1. Lock the bucket.
 *   2. Change the word, once, as a whole. From here on use the address only as a key.
 *   3. Take the waiters out of their queue.
 *   4. Unlock the bucket.
 *   5. Wake the waiters.
 * End of a run
 *   1. Take the remaining goroutines out of the queues: they never run again, and their frames are
 *      freed. QUEUED may stay set; a waker that finds no waiter clears it.
 *   2. Foreign threads stay. Wake the foreign threads that wait for a mutex, so that they check
 *      again: the goroutine that an unlock woke in front of them may have been dropped.
 * Why the object exists in the waker's step 2   the waker's own call has not released it yet: the
 *           waker still holds the lock, or has not counted down. A signal of a cond owns nothing,
 *           so it touches the object only while a waiter is in the queue.
 * Why a waiter's entry is alive   a parked waiter cannot return before w_wake_up. A waiter that was
 *           cancelled at the same moment takes the bucket's lock before it returns
 *           (w_waitq_withdraw).
 * Why no waiter is overlooked   the waiter's step 2 and the waker's change are read-modify-writes
 *           of one word. Either the waiter sees the change and does not wait, or the waker sees
 *           QUEUED, and the lock then shows it the queue.
 * A new object at an old address   can have waiters in the same queue only after the waker has
 *           unlocked the bucket. No waiter of the old object is in the queue then.
 * Rejected  queues in the object (a waker would read the object after it has released it);
 *           reference counts (the memory belongs to the caller); one lock for all.
 * Tests     unit/test_waitqueue.c, flow/sync/test_sync_lifetime.c, explore scenarios sync-*, sim
 *           scenarios sync_*, mutants sync-*.
 *
 * SPDX-License-Identifier: MIT
 */
#include "wait/waitqueue.h"

#include "base/assert.h"
#include "base/tuning.h"
#include "base/window.h"
#include "sched/ready.h"
#include "sched/run/foreign.h"
#include "sched/sched.h"

enum { BUCKET_BITS = W_TUNE_BUCKET_BITS };

static struct bucket buckets[1 << BUCKET_BITS];
/* One bit for each bucket that was ever used: the end of a run does not touch unused buckets. */
static w_atomic_u64  used[(W_ARRAY_LEN(buckets) + 63) / 64];

_Static_assert(W_LOCK_wait_table == 0, "a bucket is valid while all zero");
_Static_assert(sizeof(struct bucket) == W_CACHELINE, "neighbours do not disturb each other");

static struct bucket *bucket_of(uintptr_t key)
{
        uint64_t mixed = (uint64_t)(key >> 3) * 0x9e3779b97f4a7c15u;

        return &buckets[mixed >> (64 - BUCKET_BITS) % 64 & (W_ARRAY_LEN(buckets) - 1)];
}

struct bucket *w_waitq_lock(uintptr_t key)
{
        struct bucket *b = bucket_of(key);

        w_lock(&b->lock);
        return b;
}

/* A run may have begun since the first w_foreign_enter, and one of its goroutines may be in the
 * queue. The goroutine entered the queue after the run had begun, and the lock makes that visible:
 * call w_foreign_enter_slow. Only a foreign thread may call it: an M that was left behind by a run
 * that has ended would not return from it. */
struct bucket *w_waitq_lock_to_wake(uintptr_t key, bool *run)
{
        *run = w_foreign_enter();
        struct bucket *b = w_waitq_lock(key);

        if (!*run && !w_m())
                *run = w_foreign_enter_slow();
        return b;
}

void w_waitq_unlock(void *bucket)
{
        struct bucket *b = bucket;

        w_unlock(&b->lock);
}

/* ---- Queues ---------------------------------------------------------------------------------- */

static struct waitq_entry *queue_of(struct bucket *b, uintptr_t key)
{
        struct waitq_entry *p = b->queues;

        while (p && p->key != key)
                p = p->next_queue;
        return p;
}

static void queues_insert(struct waitq_entry **at, struct waitq_entry *p)
{
        p->queue_at = at;
        p->next_queue = *at;
        if (p->next_queue)
                p->next_queue->queue_at = &p->next_queue;
        *at = p;
}

static void queues_unlink(struct waitq_entry *p)
{
        *p->queue_at = p->next_queue;
        if (p->next_queue)
                p->next_queue->queue_at = p->queue_at;
        p->queue_at = NULL;
        p->next_queue = NULL;
}

static void note_use(const struct bucket *b)
{
        size_t        i = (size_t)(b - buckets);
        w_atomic_u64 *set = &used[i / 64];
        uint64_t      bit = UINT64_C(1) << i % 64;

        if (W_UNLIKELY(!(w_load_rlx(set) & bit)))                 /* hint: never unset */
                w_or_rlx(set, bit);                               /* guarded: threads are joined */
}

/* The ring has no head: the place before the first entry is the place after the last. Returns the
 * first entry, or NULL: p is the only one. */
static struct waitq_entry *enter_ring(struct bucket *b, struct waitq_entry *p)
{
        struct waitq_entry *first = queue_of(b, p->key);

        W_ASSERT(w_lock_held(W_LOCK_wait_table));
        W_ASSERT(!p->queued);
        p->queued = true;
        note_use(b);
        if (first)
                w_list_insert_before(&first->link, &p->link);
        return first;
}

void w_waitq_append(struct bucket *b, struct waitq_entry *p)
{
        if (!enter_ring(b, p))
                queues_insert(&b->queues, p);
}

void w_waitq_push(struct bucket *b, struct waitq_entry *p)
{
        struct waitq_entry *was_first = enter_ring(b, p);

        if (was_first)
                queues_unlink(was_first);
        queues_insert(&b->queues, p);
}

bool w_waitq_remove(struct bucket *b, struct waitq_entry *p)
{
        (void)b;
        W_ASSERT(w_lock_held(W_LOCK_wait_table));
        if (!p->queued)
                return false;
        if (p->queue_at) {
                struct waitq_entry **at = p->queue_at;

                queues_unlink(p);
                if (w_waitq_has_more(p))
                        queues_insert(at, W_CONTAINER_OF(p->link.next, struct waitq_entry, link));
        }
        w_list_unlink(&p->link);
        p->queued = false;
        return true;
}

/* ---- Waking ---------------------------------------------------------------------------------- */

struct waitq_entry *w_waitq_first(struct bucket *b, uintptr_t key, bool run)
{
        struct waitq_entry *p;

        W_ASSERT(w_lock_held(W_LOCK_wait_table));
        while ((p = queue_of(b, key)) && W_UNLIKELY(!run) && p->waiter->gp)
                w_waitq_remove(b, p);
        return p;
}

struct waitq_entry *w_waitq_claim_first(struct bucket *b, uintptr_t key, bool run)
{
        for (struct waitq_entry *p; (p = w_waitq_first(b, key, run));) {
                w_waitq_remove(b, p);
                enum claim claim = w_wake_claim(p->waiter, W_VERDICT_OTHER);

                W_ASSERT(claim != W_CLAIM_EARLY);
                if (W_LIKELY(claim == W_CLAIM_WON))
                        return p;
        }
        return NULL;
}

/* A waiter that was claimed before it parked may return at once: its record must not be touched
 * after the claim. */
uint32_t w_waitq_claim_all(struct bucket *b, uintptr_t key, bool run, struct list_node *woken)
{
        uint32_t n = 0;

        for (struct waitq_entry *p; (p = w_waitq_first(b, key, run));) {
                w_waitq_remove(b, p);
                enum claim claim = w_wake_claim(p->waiter, W_VERDICT_OTHER);

                if (claim == W_CLAIM_WON)
                        w_list_push_back(woken, &p->link);
                n += claim != W_CLAIM_LOST;
        }
        return n;
}

void w_waitq_wake_all(struct list_node *claimed)
{
        struct queue woken = { 0 };

        for (struct list_node *n; (n = w_list_pop_front(claimed));)
                w_wake_gather(W_CONTAINER_OF(n, struct waitq_entry, link)->waiter, &woken);
        w_ready_many(&woken);
}

void w_waitq_unlock_and_wake(struct bucket *b, struct list_node *woken, bool run)
{
        w_waitq_unlock(b);
        W_WINDOW("waitqueue-before-wake");
        w_waitq_wake_all(woken);
        if (run)
                w_foreign_exit();
}

void w_waitq_withdraw(struct waitq_entry *p)
{
        struct bucket *b = w_waitq_lock(p->key);

        w_waitq_remove(b, p);
        w_waitq_unlock(b);
}

/* ---- The end of a run ------------------------------------------------------------------------ */

static void sweep(struct bucket *b, struct list_node *woken)
{
        for (struct waitq_entry *first = b->queues, *next_queue; first; first = next_queue) {
                uintptr_t        key = first->key;
                struct list_node keep;

                next_queue = first->next_queue;
                w_list_init(&keep);
                for (struct waitq_entry *p; (p = w_waitq_first(b, key, false));) {
                        w_waitq_remove(b, p);
                        if (p->recheck && w_wake_claim(p->waiter, W_VERDICT_OTHER) == W_CLAIM_WON)
                                w_list_push_back(woken, &p->link);
                        else
                                w_list_push_back(&keep, &p->link);
                }
                for (struct list_node *n; (n = w_list_pop_front(&keep));)
                        w_waitq_append(b, W_CONTAINER_OF(n, struct waitq_entry, link));
        }
}

void w_waitq_run_ended(void)
{
        for (size_t i = 0; i < W_ARRAY_LEN(buckets); i++) {
                struct list_node woken;

                if (!(w_load_rlx(&used[i / 64]) >> i % 64 & 1))   /* guarded: threads are joined */
                        continue;
                w_list_init(&woken);
                w_lock(&buckets[i].lock);
                sweep(&buckets[i], &woken);
                w_unlock(&buckets[i].lock);
                w_waitq_wake_all(&woken);
        }
}
