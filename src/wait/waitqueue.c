/* wait/waitqueue.c - the hashed table of those who wait for caller-owned objects.
 *
 * Called by   sync: mutex, rwmutex, cond, semaphore, wait group, once; the end of a run.
 *
 * PROTOCOL waitqueue
 *
 * Goal      once a call on an object has let another party return, it does not touch the object any
 *           more: that party may free it, and the address may be another object's already.
 * Parties   waiter (goroutine or thread), waker, the end of a run.
 * Words     buckets, never freed: a lock and the lines of waiters, one for each key. The object's
 *           own word says whether there may be somebody in line (QUEUED); it is set under the
 *           bucket's lock only.
 * Waiter    1 locks the bucket   2 looks at the object's word once more and sets QUEUED in the same
 *           read-modify-write that finds it has to wait   3 stands in line   4 parks; the commit
 *           unlocks the bucket   5 woken: does not look at the object, what it got is in its
 *           verdict (but a mutex's waiter may look again: it has not got it yet, so it is alive)
 * Waker     its read-modify-write that lets others go on finds no QUEUED: done, nothing was and
 *           nothing is to be done. QUEUED: 1 locks the bucket   2 changes the word, once, as a
 *           whole   3 takes the waiters out of their line   4 unlocks   5 wakes them. From 2 on it
 *           knows the address as a number only.
 * Why the object is alive in the waker's step 2   it is the waker's own call that has not let go
 *           yet: a lock that it still holds, a count that it has not taken down. For a cond, whose
 *           signal owns nothing, the object is touched only while somebody is found in line.
 * Why a waiter's record is alive   who sleeps cannot return before w_wake_up. Who was cancelled at
 *           the same moment takes the bucket's lock before it returns (w_waitq_withdraw).
 * Why nobody is overlooked   the waiter's 2 and the waker's change are read-modify-writes of one
 *           word: the waiter sees the change and does not wait, or the waker sees QUEUED, and then
 *           the lock lets it see the line.
 * A new object at an old address   can have waiters in the same line only after the waker has
 *           unlocked the bucket, and then none of its own are left in it.
 * The end of a run   goroutines that are left never run again and their frames go: they are taken
 *           out of the lines. QUEUED may stay behind: a waker that finds nobody clears it. Threads
 *           that are not weft's stay; those in line for a mutex are made to look again, since one
 *           who was woken for them may be among the dropped.
 * Rejected  queues in the object (a waker has to look at it after it let go); reference counts (the
 *           caller's memory); one lock for all.
 * Tests     unit/test_table.c, flow/sync/test_sync_lifetime.c, explore scenarios sync-*, sim
 *           scenarios sync_*, mutants sync-*.
 *
 * SPDX-License-Identifier: MIT
 */
#include "wait/waitqueue.h"

#include "base/assert.h"
#include "base/window.h"
#include "sched/sched.h"

/* In an engine there is one bucket: which objects share one must not depend on addresses, or a run
 * could not be played again. */
#if defined(W_HOOKED)
enum { BUCKET_BITS = 0 };
#else
enum { BUCKET_BITS = 12 };      /* 256 KiB, of which only what is used gets memory */
#endif

static struct bucket buckets[1 << BUCKET_BITS];
/* A bit for each bucket that was ever used: the end of a run does not touch the others. */
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

/* A run may have begun since the first question, and one of its goroutines stand in line: it was
 * put there after the run was on, and the lock shows that. Only for threads that are not weft's: an
 * M of a run that has ended without it does not come back from the question. */
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

/* ---- Lines ----------------------------------------------------------------------------------- */

static struct waitq_entry *line_of(struct bucket *b, uintptr_t key)
{
        struct waitq_entry *p = b->lines;

        while (p && p->key != key)
                p = p->next_line;
        return p;
}

static void lines_insert(struct waitq_entry **at, struct waitq_entry *p)
{
        p->line_at = at;
        p->next_line = *at;
        if (p->next_line)
                p->next_line->line_at = &p->next_line;
        *at = p;
}

static void lines_unlink(struct waitq_entry *p)
{
        *p->line_at = p->next_line;
        if (p->next_line)
                p->next_line->line_at = p->line_at;
        p->line_at = NULL;
        p->next_line = NULL;
}

static void note_use(const struct bucket *b)
{
        size_t        i = (size_t)(b - buckets);
        w_atomic_u64 *set = &used[i / 64];
        uint64_t      bit = UINT64_C(1) << i % 64;

        if (W_UNLIKELY(!(w_load_rlx(set) & bit)))                 /* hint: never unset */
                w_or_rlx(set, bit);                               /* guarded: threads are joined */
}

/* The ring has no head: before the first is behind the last. */
static struct waitq_entry *join_ring(struct bucket *b, struct waitq_entry *p)
{
        struct waitq_entry *first = line_of(b, p->key);

        W_ASSERT(w_lock_held(W_LOCK_wait_table));
        W_ASSERT(!p->queued);
        p->queued = true;
        note_use(b);
        if (first)
                w_list_insert_before(&first->line, &p->line);
        return first;
}

void w_waitq_append(struct bucket *b, struct waitq_entry *p)
{
        if (!join_ring(b, p))
                lines_insert(&b->lines, p);
}

void w_waitq_push(struct bucket *b, struct waitq_entry *p)
{
        struct waitq_entry *was_first = join_ring(b, p);

        if (was_first)
                lines_unlink(was_first);
        lines_insert(&b->lines, p);
}

bool w_waitq_remove(struct bucket *b, struct waitq_entry *p)
{
        (void)b;
        W_ASSERT(w_lock_held(W_LOCK_wait_table));
        if (!p->queued)
                return false;
        if (p->line_at) {
                struct waitq_entry **at = p->line_at;

                lines_unlink(p);
                if (w_waitq_has_more(p))
                        lines_insert(at, W_CONTAINER_OF(p->line.next, struct waitq_entry, line));
        }
        w_list_unlink(&p->line);
        p->queued = false;
        return true;
}

/* ---- Waking ---------------------------------------------------------------------------------- */

struct waitq_entry *w_waitq_first(struct bucket *b, uintptr_t key, bool run)
{
        struct waitq_entry *p;

        W_ASSERT(w_lock_held(W_LOCK_wait_table));
        while ((p = line_of(b, key)) && W_UNLIKELY(!run) && p->waiter->gp)
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

/* Who was claimed before it slept may be gone at once: it is not looked at after the claim. */
uint32_t w_waitq_claim_all(struct bucket *b, uintptr_t key, bool run, struct list_node *woken)
{
        uint32_t n = 0;

        for (struct waitq_entry *p; (p = w_waitq_first(b, key, run));) {
                w_waitq_remove(b, p);
                enum claim claim = w_wake_claim(p->waiter, W_VERDICT_OTHER);

                if (claim == W_CLAIM_WON)
                        w_list_push_back(woken, &p->line);
                n += claim != W_CLAIM_LOST;
        }
        return n;
}

void w_waitq_wake_all(struct list_node *claimed)
{
        struct queue woken = { 0 };

        for (struct list_node *n; (n = w_list_pop_front(claimed));)
                w_wake_gather(W_CONTAINER_OF(n, struct waitq_entry, line)->waiter, &woken);
        w_ready_many(&woken);
}

void w_waitq_unlock_and_wake(struct bucket *b, struct list_node *woken, bool run)
{
        w_waitq_unlock(b);
        W_WINDOW("table-before-wake");
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
        for (struct waitq_entry *first = b->lines, *next_line; first; first = next_line) {
                uintptr_t        key = first->key;
                struct list_node keep;

                next_line = first->next_line;
                w_list_init(&keep);
                for (struct waitq_entry *p; (p = w_waitq_first(b, key, false));) {
                        w_waitq_remove(b, p);
                        if (p->recheck && w_wake_claim(p->waiter, W_VERDICT_OTHER) == W_CLAIM_WON)
                                w_list_push_back(woken, &p->line);
                        else
                                w_list_push_back(&keep, &p->line);
                }
                for (struct list_node *n; (n = w_list_pop_front(&keep));)
                        w_waitq_append(b, W_CONTAINER_OF(n, struct waitq_entry, line));
        }
}

void w_waitq_run_ended(void)
{
        for (size_t i = 0; i < W_ARRAY_LEN(buckets); i++) {
                struct list_node woken;

                if (!(w_load_rlx(&used[i / 64]) >> i % 64 & 1))   /* guarded likewise */
                        continue;
                w_list_init(&woken);
                w_lock(&buckets[i].lock);
                sweep(&buckets[i], &woken);
                w_unlock(&buckets[i].lock);
                w_waitq_wake_all(&woken);
        }
}
