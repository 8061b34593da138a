/* sync/rwmutex.c - many readers or one writer.
 *
 * Called by   user code.
 * Protocols   cites waitqueue (wait/waitqueue.c), wake (wait/wake.c).
 *
 * PROTOCOL rwmutex
 *
 * Goal      readers share, a writer is alone; a writer that waits is let in once those readers are
 *           gone that were in before it, readers that wait are let in when that writer leaves; the
 *           one who leaves does not touch the object after it has let others in.
 * Parties   readers, writers; those who wait stand in two lines of the table, readers and writers.
 * Words     word: number of readers, WRITER, QUEUED (somebody may wait; nobody gets in but by
 *           being let in).
 * In        1 reader: no WRITER, no QUEUED: CAS + 1 [RW1]; writer: CAS 0 -> WRITER [RW1]
 *           2 under the bucket's lock, if 1 fails there too: CAS QUEUED in; waits in its line.
 *           Woken: it is in
 * Out       1 no QUEUED, or not the last reader: CAS - 1 or WRITER out [RW1]
 *           2 under the bucket's lock: decides whom to let in, and writes the word in which they
 *           are in already [RW1]; wakes them. A writer lets in all readers that wait, else the next
 *           writer; the last reader lets in the first writer, else all readers.
 *           QUEUED stays if anybody is left in a line.
 * Edges     [RW1] the section   out: word CAS-release -> in: word CAS-acquire
 *           Who was let in is ordered by the wake; the CAS of step 2 also acquires, so that the
 *           writer sees what all readers did, not only the last.
 * Why nobody is forgotten   QUEUED is set with a holder in the same word, under the bucket's lock.
 *           The last holder to leave sees it and lets somebody in, or finds nobody and clears it.
 * Lifetime  step 2's CAS is the last that is done to the word. See PROTOCOL waitqueue.
 * Rejected  a mutex around the writers, as in Go: the writer would touch that after it has let the
 *           readers in; letting woken ones compete (a writer could starve).
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

enum { WRITER = 1, QUEUED = 2, READER = 4 };    /* READER: one of them; the count is above */

enum { READERS, WRITERS };                      /* lines */

struct rwmutex {
        w_atomic_u64 word;      /* a  [RW1] */
        uint64_t     reserved[3];
};

_Static_assert(sizeof(weft_rwmutex) == sizeof(struct rwmutex), "fixed for ever");

static struct rwmutex *rwmutex_of(weft_rwmutex *m)
{
        return (struct rwmutex *)(void *)m;
}

/* ---- In -------------------------------------------------------------------------------------- */

/* What the word becomes if one of that line gets in now; 0: it must wait. */
static uint64_t joined(uint64_t seen, unsigned line)
{
        if (line == WRITERS)
                return seen == 0 ? WRITER : 0;
        return seen & (WRITER | QUEUED) ? 0 : seen + READER;
}

static bool try_enter(struct rwmutex *m, unsigned line)
{
        uint64_t seen = w_load_rlx(&m->word);                     /* guarded by the CAS */

        for (uint64_t mine; (mine = joined(seen, line));)
                if (w_cas_acq(&m->word, &seen, mine))             /* [RW1] */
                        return true;
        return false;
}

/* Under the lock of the bucket: in, or QUEUED is set and the caller has to wait. */
static bool enter_or_announce(struct rwmutex *m, unsigned line)
{
        uint64_t seen = w_load_rlx(&m->word);                     /* guarded by the CAS */
        uint64_t mine;

        do
                mine = joined(seen, line);
        while (!w_cas_acq(&m->word, &seen, mine ? mine : seen | QUEUED));       /* [RW1] */
        return mine;
}

static W_NOINLINE void enter_slow(struct rwmutex *m, unsigned line)
{
        struct wait  w;
        struct waitq_entry place;

        W_ENTER();
        w_wait_begin(&w, W_FOREVER, W_WITHOUT_RUN);
        w_waitq_entry_init(&place, w_waitq_key(m, line), &w.waiter);
        struct bucket *b = w_waitq_lock(place.key);

        if (enter_or_announce(m, line)) {
                w_waitq_unlock(b);
        } else {
                w_waitq_append(b, &place);
                (void)w_wait_park(&w, W_WAIT_RWMUTEX, w_waitq_unlock, b);
        }
        w_wait_end(&w);
        W_LEAVE();
}

/* ---- Out ------------------------------------------------------------------------------------- */

/* Under the lock of the bucket, by the last holder: takes those who are next out of their line;
 * what the word is with them in. */
static uint64_t admit(struct rwmutex *m, struct bucket *b, bool run, unsigned leaving,
                      struct list_node *woken)
{
        uintptr_t     readers = w_waitq_key(m, READERS), writers = w_waitq_key(m, WRITERS);
        struct waitq_entry *writer = w_waitq_first(b, writers, run);
        uint64_t      word;

        if (writer && (leaving == READERS || !w_waitq_first(b, readers, run))) {
                w_list_push_back(woken, &w_waitq_claim_first(b, writers, run)->line);
                word = WRITER;
        } else {
                word = (uint64_t)w_waitq_claim_all(b, readers, run, woken) * READER;
        }
        bool more = w_waitq_first(b, writers, run) || w_waitq_first(b, readers, run);

        return word | (more ? QUEUED : 0);
}

/* By the last holder. With QUEUED set nobody enters, so the word stands still until the CAS. */
static W_NOINLINE void leave_slow(struct rwmutex *m, uint64_t seen, unsigned line)
{
        struct list_node woken;

        W_ENTER();
        bool           run;
        struct bucket *b = w_waitq_lock_to_wake(w_waitq_key(m, line), &run);

        w_list_init(&woken);
        uint64_t mine = admit(m, b, run, line, &woken);
        bool     left = w_cas_acqrel(&m->word, &seen, mine);      /* [RW1] */

        W_CHECK(left, "rwmutex %p was changed while its last holder left", (void *)m);
        w_waitq_unlock_and_wake(b, &woken, run);
        W_LEAVE();
}

static void leave(struct rwmutex *m, unsigned line)
{
        uint64_t one = line == WRITERS ? WRITER : READER;
        uint64_t seen = w_load_rlx(&m->word);                     /* guarded by the CAS */

        do {
                W_CHECK(line == WRITERS ? seen & WRITER : seen >= READER,
                        "unlock of unlocked rwmutex %p (%s)", (void *)m,
                        line == WRITERS ? "for writing" : "for reading");
                if (W_UNLIKELY(seen == (QUEUED | one))) {
                        leave_slow(m, seen, line);
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
