/* sync/rwmutex.c - many readers or one writer.
 *
 * Protocols   cites waitqueue (wait/waitqueue.c), wake (wait/wake.c).
 *
 * PROTOCOL rwmutex
 *
 * Goal      readers share, a writer is alone. A waiting writer is let in once the readers that were
 *           in before it are gone. Waiting readers are let in when that writer leaves. A holder
 *           that leaves does not touch the object after it has let waiters in.
 * Parties   readers and writers; waiting readers and waiting writers have one wait queue each.
 * Words     word: number of readers; WRITER; QUEUED: there may be waiters, and no caller enters on
 *           its own.
 * Enter
 *   1. Reader, no WRITER and no QUEUED: CAS + 1 [RW1]. Writer: CAS 0 -> WRITER [RW1].
 *   2. Under the bucket's lock, if 1 fails there too: CAS QUEUED in, wait in the caller's queue.
 *      Woken: the caller is in.
 * Leave
 *   1. No QUEUED, or not the last reader: CAS - 1 or WRITER out [RW1].
 *   2. Under the bucket's lock: choose the waiters to let in, and write the word that already
 *      counts them [RW1]. Wake them.
 *        A writer lets in all waiting readers; if there are none, the next writer.
 *        The last reader lets in the first writer; if there is none, all readers.
 *      QUEUED stays if any waiter is left in a queue.
 * Edges     [RW1] the section   leave: word CAS-release -> enter: word CAS-acquire
 *           A waiter that was let in is ordered by the wake. The CAS of step 2 also acquires, so
 *           that the writer sees what all readers did, not only the last.
 * Why no waiter is forgotten   QUEUED is set with a holder in the same word, under the bucket's
 *           lock. The last holder to leave sees it and lets waiters in, or finds none and clears
 *           it.
 * Lifetime  the CAS of step 2 is the last access to the word. See PROTOCOL waitqueue.
 * Rejected  a mutex around the writers, as in Go: the writer would touch it after it has let the
 *           readers in; letting woken waiters compete (a writer could starve).
 * Tests     flow/sync/test_rwmutex.c, flow/sync/test_sync_lifetime.c, explore scenarios
 *           sync-rwmutex*, sim scenario sync_rwmutex, mutants sync-rwmutex-*.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/assert.h"
#include "sched/sched.h"
#include "wait/waitqueue.h"
#include "wait/wait.h"

#include "weft.h"

#include <errno.h>      /* -Exxx */

enum { WRITER = 1, QUEUED = 2, READER = 4 };    /* READER: one reader; the count is above */

enum { READERS, WRITERS };                      /* wait queues */

struct rwmutex {
        w_atomic_u64 word;      /* a  [RW1] */
        uint64_t     reserved[3];
};

_Static_assert(sizeof(weft_rwmutex) == sizeof(struct rwmutex), "fixed for ever");

static struct rwmutex *rwmutex_of(weft_rwmutex *m)
{
        return (struct rwmutex *)(void *)m;
}

/* ---- Enter ----------------------------------------------------------------------------------- */

/* The word with one more holder of that kind; 0: the caller must wait. */
static uint64_t with_one_more(uint64_t seen, unsigned queue)
{
        if (queue == WRITERS)
                return seen == 0 ? WRITER : 0;
        return seen & (WRITER | QUEUED) ? 0 : seen + READER;
}

static bool try_enter(struct rwmutex *m, unsigned queue)
{
        uint64_t seen = w_load_rlx(&m->word);                     /* guarded by the CAS */

        for (uint64_t mine; (mine = with_one_more(seen, queue));)
                if (w_cas_acq(&m->word, &seen, mine))             /* [RW1] */
                        return true;
        return false;
}

/* Under the bucket's lock: enters, or sets QUEUED and the caller must wait. */
static bool enter_or_set_queued(struct rwmutex *m, unsigned queue)
{
        uint64_t seen = w_load_rlx(&m->word);                     /* guarded by the CAS */
        uint64_t mine;

        do
                mine = with_one_more(seen, queue);
        while (!w_cas_acq(&m->word, &seen, mine ? mine : seen | QUEUED));       /* [RW1] */
        return mine;
}

static W_NOINLINE void enter_slow(struct rwmutex *m, unsigned queue)
{
        struct wait        w;
        struct waitq_entry entry;

        W_ENTER();
        w_wait_begin(&w, W_FOREVER, W_WITHOUT_RUN);
        w_waitq_entry_init(&entry, w_waitq_key(m, queue), &w.waiter);
        struct bucket *b = w_waitq_lock(entry.key);

        if (enter_or_set_queued(m, queue)) {
                w_waitq_unlock(b);
        } else {
                w_waitq_append(b, &entry);
                (void)w_wait_park(&w, W_WAIT_RWMUTEX, w_waitq_unlock, b);
        }
        w_wait_end(&w);
        W_LEAVE();
}

/* ---- Leave ----------------------------------------------------------------------------------- */

/* Under the bucket's lock, by the last holder: takes the waiters to let in out of their queue.
 * Returns the word that counts them. */
static uint64_t admit(struct rwmutex *m, struct bucket *b, bool run, unsigned leaving,
                      struct list_node *woken)
{
        uintptr_t           readers = w_waitq_key(m, READERS), writers = w_waitq_key(m, WRITERS);
        struct waitq_entry *writer = w_waitq_first(b, writers, run);
        uint64_t            word;

        if (writer && (leaving == READERS || !w_waitq_first(b, readers, run))) {
                w_list_push_back(woken, &w_waitq_claim_first(b, writers, run)->link);
                word = WRITER;
        } else {
                word = (uint64_t)w_waitq_claim_all(b, readers, run, woken) * READER;
        }
        bool more = w_waitq_first(b, writers, run) || w_waitq_first(b, readers, run);

        return word | (more ? QUEUED : 0);
}

/* Called by the last holder. While QUEUED is set no caller enters, so the word does not change
 * until the CAS. */
static W_NOINLINE void leave_slow(struct rwmutex *m, uint64_t seen, unsigned queue)
{
        struct list_node woken;

        W_ENTER();
        bool           run;
        struct bucket *b = w_waitq_lock_to_wake(w_waitq_key(m, queue), &run);

        w_list_init(&woken);
        uint64_t mine = admit(m, b, run, queue, &woken);
        bool     swapped = w_cas_acqrel(&m->word, &seen, mine);      /* [RW1] */

        W_CHECK(swapped, "rwmutex %p was changed while its last holder left", (void *)m);
        w_waitq_unlock_and_wake(b, &woken, run);
        W_LEAVE();
}

static void leave(struct rwmutex *m, unsigned queue)
{
        uint64_t one = queue == WRITERS ? WRITER : READER;
        uint64_t seen = w_load_rlx(&m->word);                     /* guarded by the CAS */

        do {
                W_CHECK(queue == WRITERS ? seen & WRITER : seen >= READER,
                        "unlock of unlocked rwmutex %p (%s)", (void *)m,
                        queue == WRITERS ? "for writing" : "for reading");
                if (W_UNLIKELY(seen == (QUEUED | one))) {
                        leave_slow(m, seen, queue);
                        return;
                }
        } while (!w_cas_rel(&m->word, &seen, seen - one));        /* [RW1] */
}

/* ---- Public ---------------------------------------------------------------------------------- */

W_EXPORT void weft_rwmutex_rlock(weft_rwmutex *m)
{
        if (W_UNLIKELY(!try_enter(rwmutex_of(m), READERS)))
                enter_slow(rwmutex_of(m), READERS);
}

W_EXPORT void weft_rwmutex_lock(weft_rwmutex *m)
{
        if (W_UNLIKELY(!try_enter(rwmutex_of(m), WRITERS)))
                enter_slow(rwmutex_of(m), WRITERS);
}

W_EXPORT int weft_rwmutex_try_rlock(weft_rwmutex *m)
{
        return try_enter(rwmutex_of(m), READERS) ? 0 : -EBUSY;
}

W_EXPORT int weft_rwmutex_try_lock(weft_rwmutex *m)
{
        return try_enter(rwmutex_of(m), WRITERS) ? 0 : -EBUSY;
}

W_EXPORT void weft_rwmutex_runlock(weft_rwmutex *m)
{
        leave(rwmutex_of(m), READERS);
}

W_EXPORT void weft_rwmutex_unlock(weft_rwmutex *m)
{
        leave(rwmutex_of(m), WRITERS);
}
