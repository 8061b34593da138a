/* wait/waitqueue.h - wait queues of caller-owned objects, found by address, in weft's own memory.
 *
 * The owner of a mutex, semaphore, wait group, ... may free it as soon as all waiters have
 * returned. The queue of its waiters is therefore not in the object but here, under a key made of
 * its address. The waiters' records (struct waitq_entry) are in the frames of the calls that wait.
 *
 * PROTOCOL waitqueue stands in wait/waitqueue.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_WAIT_WAITQUEUE_H
#define W_WAIT_WAITQUEUE_H

#include "base/list.h"
#include "base/lock.h"
#include "wait/wake.h"

/* Key: i immutable while in a queue   b the lock of its bucket */
struct waitq_entry {
        uintptr_t            key;               /* i  what it waits for */
        struct waiter       *waiter;            /* i  */
        bool                 recheck;           /* i  a spurious wake is harmless: it retries */
        bool                 queued;            /* b  in a queue */
        struct list_node     link;              /* b  ring of all entries with this key */
        struct waitq_entry  *next_queue;        /* b  first entry only: the bucket's next queue */
        struct waitq_entry **queue_at;          /* b  the pointer to it; NULL: not the first */
};

struct bucket {
        struct lock         lock;       /* class wait_table */
        struct waitq_entry *queues;     /* b  the first waiter of each key */
} W_CACHE_ALIGNED;

/* The size of an object is a multiple of eight bytes, so each object has several keys. The queues
 * of these keys share a bucket. */
W_INLINE uintptr_t w_waitq_key(const void *object, unsigned index)
{
        return (uintptr_t)object + index;
}

W_INLINE void w_waitq_entry_init(struct waitq_entry *p, uintptr_t key, struct waiter *waiter)
{
        *p = (struct waitq_entry){ .key = key, .waiter = waiter };
        w_list_init(&p->link);
}

/* Returns the bucket of key, locked. Context: any thread, no runtime lock held; no switch. */
struct bucket *w_waitq_lock(uintptr_t key);
/* The same for a waker. If *run is true, a run is on, and stays on until the caller calls
 * w_foreign_exit. The caller must then call it. */
struct bucket *w_waitq_lock_to_wake(uintptr_t key, bool *run);
/* Takes a struct bucket; w_wait_park can call it. */
void w_waitq_unlock(void *bucket);

/* All calls below: with the bucket of the key locked. O(1), except for other keys in the bucket. */

void w_waitq_append(struct bucket *b, struct waitq_entry *p);
/* Puts p in front of all waiters. */
void w_waitq_push(struct bucket *b, struct waitq_entry *p);
/* Takes p out of its queue; false: p was in no queue. */
bool w_waitq_remove(struct bucket *b, struct waitq_entry *p);

/* The waiter that has waited longest, or NULL. `run` says whether the caller keeps the run from
 * ending (w_foreign_enter). If it is false, goroutines never run again: they are taken out and
 * skipped. */
struct waitq_entry *w_waitq_first(struct bucket *b, uintptr_t key, bool run);

W_INLINE bool w_waitq_has_more(const struct waitq_entry *first)
{
        return first->link.next != &first->link;
}

/* Takes out and claims the first waiter that can be claimed, with W_VERDICT_OTHER; NULL: there is
 * none. Not for waiters that can be found before they park. The caller unlocks the bucket, then
 * wakes the waiter. */
struct waitq_entry *w_waitq_claim_first(struct bucket *b, uintptr_t key, bool run);

/* Takes out and claims all waiters. Puts those that are parked into `woken`, in order. Returns the
 * number of waits that it ended. */
uint32_t w_waitq_claim_all(struct bucket *b, uintptr_t key, bool run, struct list_node *woken);
/* Wakes all waiters in `woken`. Context: unlocked. */
void w_waitq_wake_all(struct list_node *woken);

/* Ends what w_waitq_lock_to_wake began, for a waker of several waiters: unlocks, wakes, and lets
 * the run end again. */
void w_waitq_unlock_and_wake(struct bucket *b, struct list_node *woken, bool run);

/* For a wait that another party has ended: locks, takes p out, unlocks. */
void w_waitq_withdraw(struct waitq_entry *p);

/* The Ms of the run are gone: forgets the goroutines that still waited. A hook of the run. */
void w_waitq_run_ended(void);

#endif
