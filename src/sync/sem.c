/* sync/sem.c - a counting semaphore.
 *
 * Protocols   cites waitqueue (wait/waitqueue.c), wake (wait/wake.c).
 *
 * PROTOCOL sem
 *
 * Goal      a permit stays in the semaphore or goes to one acquirer. The waiter that has waited
 *           longest gets the next permit. A permit that meets a cancellation goes to the next
 *           waiter. A release that has given its permit away does not touch the object.
 * Parties   acquirer, releaser.
 * Words     word: permits; QUEUED: there may be waiters, set under the bucket's lock while there is
 *           no permit.
 * Acquirer
 *   1. There is a permit: CAS - 1 [SM1].
 *   2. Under the bucket's lock: step 1 again, else CAS QUEUED in. Wait.
 *   3. Woken: the acquirer has the permit. Cancelled: leave the queue.
 * Releaser
 *   1. No QUEUED: CAS + 1 [SM1].
 *   2. Under the bucket's lock: take the first waiter out of the queue and claim it. Claim lost:
 *      step 2 again with the next waiter. No waiter left: CAS + 1 and QUEUED out [SM1].
 *   3. Claim won: do not change the word. Unlock the bucket, wake the waiter.
 * Edges     [SM1] what came before the release   word CAS-acqrel -> acquire: word CAS-acquire
 *           A permit that is handed over is ordered by the wake.
 * Why no permit is lost   the claim decides whether the waiter has the permit or was cancelled.
 *           While there are waiters there are no permits: a waiter sets QUEUED in the same CAS that
 *           finds no permit.
 * Lifetime  in step 2 the releaser touches the word only if it woke no waiter.
 * Rejected  waking without handing over (other acquirers overtake; the woken waiter must touch the
 *           object).
 * Tests     flow/sync/test_sem.c, flow/sync/test_sync_history.c, flow/sync/test_sync_lifetime.c,
 *           explore scenarios sync-sem*, sim scenarios sync_sem, sync_handshake, mutants
 *           sync-sem-*.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/assert.h"
#include "sched/sched.h"
#include "wait/waitqueue.h"
#include "wait/wait.h"

#include "sched/run/foreign.h"
#include "sched/run/run.h"
#include "weft.h"

#include <errno.h>      /* -Exxx */

#define PERMITS UINT64_C(0xffffffff)
#define QUEUED  (UINT64_C(1) << 32)

struct sem {
        w_atomic_u64 word;      /* a  [SM1] */
        uint64_t     reserved;
};

_Static_assert(sizeof(weft_sem) == sizeof(struct sem), "fixed for ever");

static struct sem *sem_of(weft_sem *s)
{
        return (struct sem *)(void *)s;
}

/* ---- Acquire --------------------------------------------------------------------------------- */

static bool take(struct sem *s)
{
        uint64_t seen = w_load_rlx(&s->word);                     /* guarded by the CAS */

        while (seen & PERMITS)
                if (w_cas_acq(&s->word, &seen, seen - 1))         /* [SM1] */
                        return true;
        return false;
}

/* Under the bucket's lock: takes a permit, or sets QUEUED and the caller must wait. */
static bool take_or_set_queued(struct sem *s)
{
        uint64_t seen = w_load_rlx(&s->word);                     /* guarded by the CAS */
        bool     taken;

        do
                taken = seen & PERMITS;
        while (!w_cas_acq(&s->word, &seen, taken ? seen - 1 : seen | QUEUED));  /* [SM1] */
        return taken;
}

static W_NOINLINE int acquire_slow(struct sem *s)
{
        struct wait        w;
        struct waitq_entry entry;
        int                rc = 0;

        w_wait_begin(&w, W_FOREVER, W_CANCELLABLE);
        w_waitq_entry_init(&entry, w_waitq_key(s, 0), &w.waiter);
        struct bucket *b = w_waitq_lock(entry.key);

        if (take_or_set_queued(s)) {
                w_waitq_unlock(b);
        } else {
                w_waitq_append(b, &entry);
                uint32_t verdict = w_wait_park(&w, W_WAIT_SEM, w_waitq_unlock, b);

                if (verdict < W_VERDICT_OTHER) {
                        w_waitq_withdraw(&entry);
                        rc = w_wait_error(&w, verdict);
                }
        }
        w_wait_end(&w);
        return rc;
}

/* ---- Release --------------------------------------------------------------------------------- */

/* Adds a permit; false: there may be waiters for it. no_waiters: the caller has locked the bucket,
 * found no waiter, and none can come. */
static bool add_permit(struct sem *s, bool no_waiters)
{
        uint64_t seen = w_load_rlx(&s->word);                     /* guarded by the CAS */
        uint64_t mine;

        do {
                if (seen & QUEUED && !no_waiters)
                        return false;
                mine = (seen & PERMITS) + 1;
                W_CHECK(mine <= PERMITS, "semaphore overflow: %p has %u permits", (void *)s,
                        (unsigned)PERMITS);
        } while (!w_cas_acqrel(&s->word, &seen, mine));           /* [SM1] */
        return true;
}

static W_NOINLINE void release_slow(struct sem *s)
{
        uintptr_t key = w_waitq_key(s, 0);

        W_ENTER();
        bool                run;
        struct bucket      *b = w_waitq_lock_to_wake(key, &run);
        struct waitq_entry *first = w_waitq_claim_first(b, key, run);

        if (!first)
                (void)add_permit(s, true);
        w_waitq_unlock(b);
        if (first)
                w_wake_up(first->waiter);
        if (run)
                w_foreign_exit();
        W_LEAVE();
}

/* ---- Public ---------------------------------------------------------------------------------- */

W_EXPORT void weft_sem_init(weft_sem *s, unsigned permits)
{
        *s = (weft_sem)WEFT_SEM_INIT(permits);
}

W_EXPORT int weft_sem_acquire(weft_sem *s)
{
        if (!w_m() && !w_run_is_on())
                return -ESHUTDOWN;
        W_ENTER();
        int rc = w_call_check();

        if (rc == 0 && !take(sem_of(s)))
                rc = acquire_slow(sem_of(s));
        W_LEAVE();
        return rc;
}

W_EXPORT int weft_sem_try_acquire(weft_sem *s)
{
        return take(sem_of(s)) ? 0 : -EAGAIN;
}

W_EXPORT void weft_sem_release(weft_sem *s)
{
        if (W_UNLIKELY(!add_permit(sem_of(s), false)))
                release_slow(sem_of(s));
}
