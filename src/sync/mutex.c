/* sync/mutex.c - mutual exclusion between goroutines and foreign threads.
 *
 * Protocols   cites waitqueue (wait/waitqueue.c), wake (wait/wake.c).
 *
 * PROTOCOL mutex
 *
 * Goal      one holder. Lock and unlock of a free mutex are one read-modify-write each. No waiter
 *           is forgotten, or overtaken for much longer than 1 ms. An unlock does not touch the
 *           mutex after it has let another party take it.
 * Parties   taker, holder, waiter (in the wait queue), awake taker (it spins, or was woken).
 * Words     word, a set of bits:
 *             LOCKED     there is a holder
 *             QUEUED     there may be waiters
 *             WOKEN      there is an awake taker: an unlock need not wake another waiter
 *             STARVING   the mutex is handed over, not released
 * Taker
 *   1. CAS 0 -> LOCKED [MX1].
 *   2. The mutex is free: CAS LOCKED in; an awake taker takes WOKEN out [MX1].
 *   3. Held, another P may be running the holder, and this P has no other work: spin for a few
 *      pauses, with WOKEN set if there are waiters; then 2.
 *   4. Under the bucket's lock, if still LOCKED: CAS QUEUED in and WOKEN out. Wait at the end of
 *      the queue, or at its front if this taker was woken before.
 *   5. Woken: it is an awake taker, go to 2; or the mutex was handed to it.
 * Holder
 *   1. CAS LOCKED -> 0 [MX1].
 *   2. No waiter, or an awake taker: CAS LOCKED out [MX1].
 *   3. Under the bucket's lock: CAS LOCKED out and WOKEN in; QUEUED out if there is only one waiter
 *      [MX1]. Wake the first waiter.
 * Starving  a waiter that was woken and finds the mutex taken again, 1 ms after it began to wait,
 *           sets STARVING when it queues. Step 3 of the holder then leaves LOCKED in and tells the
 *           waiter that it is the holder. Takers do not spin, they queue. The mode ends when the
 *           mutex is handed to the last waiter in the queue, or to a waiter that waited for less
 *           than 1 ms.
 * Edges     [MX1] the section   holder: word CAS-release -> taker: word CAS-acquire
 *           A hand-over is ordered by the wake.
 * Why no waiter is forgotten   QUEUED is set under the bucket's lock with LOCKED in the same word,
 *           so the holder's unlock sees it. The unlock wakes no waiter only if WOKEN is set. Then
 *           an awake taker reads the word after this unlock. Either it takes the mutex and clears
 *           WOKEN, and its own unlock wakes. Or it queues and clears WOKEN while another party
 *           holds the mutex.
 * Why every waiter takes WOKEN out   a woken goroutine may never run again because the run ends. A
 *           taker that queues afterwards does not rely on that goroutine. A taker that queued
 *           before is woken at the end of the run (PROTOCOL waitqueue). The cost is at most one
 *           extra wake.
 * Lifetime  the holder's CAS is its last access to the word. See PROTOCOL waitqueue.
 * Rejected  handing over always (every section costs a switch); waiters counted in the word (they
 *           must be counted down after the unlock).
 * Tests     flow/sync/test_mutex.c, flow/sync/test_sync_history.c, flow/sync/test_sync_lifetime.c,
 *           explore scenarios sync-mutex*, sim scenarios sync_mutex, sync_dropped, mutants
 *           sync-mutex-*; windows mutex-before-queue, mutex-before-wake.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/assert.h"
#include "base/tuning.h"
#include "base/window.h"
#include "sched/sched.h"
#include "wait/waitqueue.h"
#include "wait/wait.h"

#include "sched/run/foreign.h"
#include "weft.h"

#include <errno.h>      /* -Exxx */

enum { LOCKED = 1, QUEUED = 2, WOKEN = 4, STARVING = 8 };

enum { RETRY = W_VERDICT_OTHER, HANDED_OVER };          /* verdicts */

enum { STARVING_NS = 1000000 };

struct mutex {
        w_atomic_u64 word;      /* a  [MX1] */
        uint64_t     reserved;
};

_Static_assert(sizeof(weft_mutex) == sizeof(struct mutex), "fixed for ever");

static struct mutex *mutex_of(weft_mutex *m)
{
        return (struct mutex *)(void *)m;
}

/* ---- Lock ------------------------------------------------------------------------------------ */

struct taker {
        struct mutex *mutex;
        bool          awake;    /* an awake taker: WOKEN may be set on its behalf */
        bool          starving;
        int           n_spins;
        int64_t       since;    /* when it first queued; 0: not yet */
};

/* Spinning pays only if the holder may be running and this P has nothing else to run. */
static bool may_spin(const struct taker *t)
{
        struct p *pp = w_p();

        if (t->n_spins >= W_TUNE_MUTEX_SPINS || !pp || w_n_procs() == 1)
                return false;
        uint32_t not_busy = w_load_rlx(&w_sched.n_idle_p) + w_load_rlx(&w_sched.n_spinning); // hint

        return not_busy + 1 < w_n_procs() && w_p_has_no_work(pp);
}

static void spin(struct taker *t, uint64_t seen)
{
        if (!t->awake && (seen & (QUEUED | WOKEN)) == QUEUED)
                t->awake = w_cas_rlx(&t->mutex->word, &seen, seen | WOKEN);     /* hint */
        for (int i = 0; i < W_TUNE_MUTEX_PAUSES; i++)
                w_cpu_pause();
        t->n_spins++;
}

/* True: t holds the mutex. */
static bool take(struct taker *t)
{
        uint64_t seen = w_load_rlx(&t->mutex->word);              /* guarded by the CAS */

        for (;;) {
                if (!(seen & LOCKED)) {
                        uint64_t mine = (t->awake ? seen & ~(uint64_t)WOKEN : seen) | LOCKED;

                        if (w_cas_acq(&t->mutex->word, &seen, mine))      /* [MX1] */
                                return true;
                        continue;
                }
                if (seen & STARVING || !may_spin(t))
                        return false;
                spin(t, seen);
                seen = w_load_rlx(&t->mutex->word);               /* guarded by the CAS */
        }
}

/* Under the bucket's lock. False: the mutex is free, there is nothing to wait for. */
static bool set_queued(struct taker *t)
{
        uint64_t seen = w_load_rlx(&t->mutex->word);              /* guarded by the CAS */

        while (seen & LOCKED) {
                uint64_t mine = (seen & ~(uint64_t)WOKEN) | QUEUED | (t->starving ? STARVING : 0);

                if (w_cas_rlx(&t->mutex->word, &seen, mine))      /* guarded by the bucket's lock */
                        return true;
        }
        return false;
}

static void note_time(struct taker *t)
{
        if (t->since == 0)
                t->since = w_os_now();
        else if (!t->starving)
                t->starving = w_os_now() - t->since > STARVING_NS;
}

/* The mutex was handed to t, which holds it. A taker that waited for a short time ends the
 * starvation. */
static void take_over(struct taker *t)
{
        if (w_os_now() - t->since < STARVING_NS)
                w_and_rlx(&t->mutex->word, ~(uint64_t)STARVING);  /* hint */
}

/* True: t holds the mutex. False: t must try again. */
static bool wait_in_queue(struct taker *t)
{
        struct wait        w;
        struct waitq_entry entry;
        bool               again = t->since != 0;

        note_time(t);
        w_wait_begin(&w, W_FOREVER, W_WITHOUT_RUN);
        w_waitq_entry_init(&entry, w_waitq_key(t->mutex, 0), &w.waiter);
        entry.recheck = true;
        W_WINDOW("mutex-before-queue");
        struct bucket *b = w_waitq_lock(entry.key);

        if (!set_queued(t)) {
                w_waitq_unlock(b);
                w_wait_end(&w);
                return false;
        }
        if (again)
                w_waitq_push(b, &entry);
        else
                w_waitq_append(b, &entry);
        uint32_t verdict = w_wait_park(&w, W_WAIT_MUTEX, w_waitq_unlock, b);

        w_wait_end(&w);
        t->awake = true;
        if (verdict != HANDED_OVER)
                return false;
        take_over(t);
        return true;
}

static W_NOINLINE void lock_slow(struct mutex *m)
{
        struct taker t = { .mutex = m };

        W_ENTER();
        while (!take(&t) && !wait_in_queue(&t))
                t.n_spins = 0;
        W_LEAVE();
}

/* ---- Unlock ---------------------------------------------------------------------------------- */

/* Under the bucket's lock: changes the word for the last time. Returns the waiter to wake, claimed,
 * or NULL. */
static struct waiter *pass_on(struct mutex *m, struct bucket *b, bool run)
{
        struct waitq_entry *first = w_waitq_first(b, w_waitq_key(m, 0), run);
        uint64_t            seen = w_load_rlx(&m->word);          /* guarded by the CAS */
        uint64_t            more = first && w_waitq_has_more(first) ? QUEUED : 0;
        uint64_t            mine;
        bool                hand_over, wake;

        do {
                hand_over = first && seen & STARVING;
                wake = first && (hand_over || !(seen & WOKEN));
                if (hand_over)
                        mine = LOCKED | more | (more ? STARVING : 0);
                else if (wake)
                        mine = more | WOKEN;
                else
                        mine = first ? seen & ~(uint64_t)LOCKED : 0;
        } while (!w_cas_rel(&m->word, &seen, mine));              /* [MX1] */
        if (!wake)
                return NULL;
        w_waitq_remove(b, first);
        enum claim claim = w_wake_claim(first->waiter, hand_over ? HANDED_OVER : RETRY);

        W_CHECK(claim == W_CLAIM_WON, "a waiter of mutex %p was woken by another party", (void *)m);
        return first->waiter;
}

static W_NOINLINE void wake_next(struct mutex *m)
{
        W_ENTER();
        bool           run;
        struct bucket *b = w_waitq_lock_to_wake(w_waitq_key(m, 0), &run);
        struct waiter *next = pass_on(m, b, run);

        w_waitq_unlock(b);
        W_WINDOW("mutex-before-wake");
        if (next)
                w_wake_up(next);
        if (run)
                w_foreign_exit();
        W_LEAVE();
}

static W_NOINLINE void unlock_slow(struct mutex *m, uint64_t seen)
{
        do {
                W_CHECK(seen & LOCKED, "unlock of unlocked mutex %p", (void *)m);
                if (seen & STARVING || (seen & (QUEUED | WOKEN)) == QUEUED) {
                        wake_next(m);
                        return;
                }
        } while (!w_cas_rel(&m->word, &seen, seen & ~(uint64_t)LOCKED));        /* [MX1] */
}

/* ---- Public ---------------------------------------------------------------------------------- */

W_EXPORT void weft_mutex_lock(weft_mutex *m)
{
        uint64_t seen = 0;

        if (W_UNLIKELY(!w_cas_acq(&mutex_of(m)->word, &seen, LOCKED)))          /* [MX1] */
                lock_slow(mutex_of(m));
}

W_EXPORT int weft_mutex_try_lock(weft_mutex *m)
{
        uint64_t seen = 0;

        do {
                if (w_cas_acq(&mutex_of(m)->word, &seen, seen | LOCKED))        /* [MX1] */
                        return 0;
        } while (!(seen & LOCKED));
        return -EBUSY;
}

W_EXPORT void weft_mutex_unlock(weft_mutex *m)
{
        uint64_t seen = LOCKED;

        if (W_UNLIKELY(!w_cas_rel(&mutex_of(m)->word, &seen, 0)))               /* [MX1] */
                unlock_slow(mutex_of(m), seen);
}
