/* sync/sem.c - a counting semaphore.
 *
 * Called by   user code.
 * Protocols   cites waitqueue (wait/waitqueue.c), wake (wait/wake.c).
 *
 * PROTOCOL sem
 *
 * Goal      a permit is kept or goes to one acquirer; who waits longest gets the next one; a permit
 *           that meets a cancellation goes to the next; a release that has given its permit away
 *           does not touch the object.
 * Parties   acquirer, releaser.
 * Words     word: permits; QUEUED: somebody may wait, set under the bucket's lock while there is no
 *           permit.
 * Acquirer  1 permits: CAS - 1 [SM1]   2 under the bucket's lock: again 1, else CAS QUEUED in;
 *           waits. Woken: the permit is its own   3 cancelled: takes itself out of the line
 * Releaser  1 no QUEUED: CAS + 1 [SM1]   2 under the bucket's lock: takes the first out of the line
 *           and claims it; lost: the next. Claimed: the word stays as it is; wakes it. Nobody: CAS
 *           + 1 and QUEUED out [SM1]
 * Edges     [SM1] what came before the release   word CAS-acqrel -> acquire: word CAS-acquire
 *           A permit that is handed over is ordered by the wake.
 * Why no permit is lost   the claim decides whether the waiter has it or was cancelled. While there
 *           are waiters there are no permits: a waiter sets QUEUED in the same CAS that finds none.
 * Lifetime  in step 2 the word is touched only if nobody was woken.
 * Rejected  waking without handing over (others overtake; the woken one has to touch the object).
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

/* Under the lock of the bucket: has a permit, or QUEUED is set and the caller has to wait. */
static bool take_or_announce(struct sem *s)
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
        struct wait  w;
        struct waitq_entry place;
        int          rc = 0;

        w_wait_begin(&w, W_FOREVER, W_CANCELLABLE);
        w_waitq_entry_init(&place, w_waitq_key(s, 0), &w.waiter);
        struct bucket *b = w_waitq_lock(place.key);

        if (take_or_announce(s)) {
                w_waitq_unlock(b);
        } else {
                w_waitq_append(b, &place);
                uint32_t verdict = w_wait_park(&w, W_WAIT_SEM, w_waitq_unlock, b);

                if (verdict < W_VERDICT_OTHER) {
                        w_waitq_withdraw(&place);
                        rc = w_wait_error(&w, verdict);
                }
        }
        w_wait_end(&w);
        return rc;
}

/* ---- Release --------------------------------------------------------------------------------- */

/* Keeps the permit; false: somebody may wait for it. With the bucket locked nobody can begin to. */
static bool keep(struct sem *s, bool nobody_waits)
{
        uint64_t seen = w_load_rlx(&s->word);                     /* guarded by the CAS */
        uint64_t mine;

        do {
                if (seen & QUEUED && !nobody_waits)
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
        bool           run;
        struct bucket *b = w_waitq_lock_to_wake(key, &run);
        struct waitq_entry  *first = w_waitq_claim_first(b, key, run);

        if (!first)
                (void)keep(s, true);
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
        if (W_UNLIKELY(!keep(sem_of(s), false)))
                release_slow(sem_of(s));
}
