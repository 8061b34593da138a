/* wait/waitqueue.h - who waits for which caller-owned object: found by address, in memory of weft's
 * own.
 *
 * A mutex, semaphore, wait group, ... may be freed as soon as whoever waited has returned. So the
 * queue of its waiters does not stand in the object but here, under a number made of its address;
 * the waiters' records (struct place) stand in the frames of the calls that wait.
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

/* Key: i immutable while in a line   b the lock of its bucket */
struct waitq_entry {
        uintptr_t        key;           /* i  what it waits for */
        struct waiter   *waiter;        /* i  */
        bool             recheck;       /* i  can be woken for nothing: it looks again */
        bool             queued;        /* b  in a line */
        struct list_node line;          /* b  ring of all with this key */
        struct waitq_entry    *next_line;     /* b  the first of a line only: the bucket's lines */
        struct waitq_entry   **line_at;       /* b  who points to it there; NULL: not the first */
};

struct bucket {
        struct lock   lock;             /* class wait_table */
        struct waitq_entry *lines;            /* b  the first waiter of each key */
} W_CACHE_ALIGNED;

/* An object is a multiple of eight bytes, so it has several numbers: lines that share a bucket. */
W_INLINE uintptr_t w_waitq_key(const void *object, unsigned line)
{
        return (uintptr_t)object + line;
}

W_INLINE void w_waitq_entry_init(struct waitq_entry *p, uintptr_t key, struct waiter *waiter)
{
        *p = (struct waitq_entry){ .key = key, .waiter = waiter };
        w_list_init(&p->line);
}

/* The bucket of key, locked. Context: any thread, no runtime lock held; no switch. */
struct bucket *w_waitq_lock(uintptr_t key);
/* The same for one who wakes. *run: a run is on, and stays on until w_foreign_exit, which the
 * caller then owes. */
struct bucket *w_waitq_lock_to_wake(uintptr_t key, bool *run);
/* Takes a struct bucket, so that w_wait_park can call it. */
void w_waitq_unlock(void *bucket);

/* All below: with the bucket of the key locked. In O(1) but for other keys in the same bucket. */

void w_waitq_append(struct bucket *b, struct waitq_entry *p);
/* In front of everyone. */
void w_waitq_push(struct bucket *b, struct waitq_entry *p);
/* Out of its line; false: it was in none. */
bool w_waitq_remove(struct bucket *b, struct waitq_entry *p);

/* Who waits longest, or NULL. `run` says whether the caller keeps the run from ending
 * (w_foreign_enter): if not, goroutines never run again; they are taken out and passed over. */
struct waitq_entry *w_waitq_first(struct bucket *b, uintptr_t key, bool run);

W_INLINE bool w_waitq_has_more(const struct waitq_entry *first)
{
        return first->line.next != &first->line;
}

/* Takes out the first waiter whose wait this ends, with W_VERDICT_OTHER; NULL: there is none. Not
 * for waiters that can be found before they sleep. The caller wakes it, unlocked. */
struct waitq_entry *w_waitq_claim_first(struct bucket *b, uintptr_t key, bool run);

/* Takes out all, ends their waits, and puts those who sleep into `woken`, in order; how many. */
uint32_t w_waitq_claim_all(struct bucket *b, uintptr_t key, bool run, struct list_node *woken);
/* Wakes them. Context: unlocked. */
void w_waitq_wake_all(struct list_node *woken);

/* The other end of w_waitq_lock_to_wake for one who wakes several: unlocks, wakes, lets the run go.
 */
void w_waitq_unlock_and_wake(struct bucket *b, struct list_node *woken, bool run);

/* For a wait that was ended by something else: locks, takes p out, unlocks. */
void w_waitq_withdraw(struct waitq_entry *p);

#endif
