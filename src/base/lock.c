/* base/lock.c - the futex mutex, and the check of which locks a thread may hold together.
 *
 * PROTOCOL lock
 *
 * Goal      mutual exclusion; a free lock is taken and released without the kernel; a thread that
 *           sleeps is woken by some later unlock.
 * Parties   taker, holder, sleeper (all threads).
 * Words     word
 *             FREE       no holder
 *             HELD       there is a holder
 *             SLEPT_ON   there is a holder, and there may be sleepers
 * Taker
 *   1. CAS FREE -> HELD [LK1]. Succeeded: done.
 *   2. Pause a few times, and do step 1 again when the word is FREE: a section is shorter than a
 *      sleep.
 *   3. Exchange SLEPT_ON [LK1]. The old value was FREE: the taker has the lock. The word then says
 *      SLEPT_ON, which costs one futile wake at worst.
 *   4. Sleep while the word is SLEPT_ON, then go to 3.
 * Holder
 *   1. Exchange FREE [LK1].
 *   2. The old value was SLEPT_ON: wake one sleeper.
 * Edges     [LK1] everything in the section   unlock: xchg-release  ->  taker: CAS/xchg-acquire
 * Why nothing is lost   a sleeper sleeps only while the word is SLEPT_ON, which the kernel
 *           compares under its own lock. A holder that releases a word that is SLEPT_ON wakes one
 *           sleeper. That sleeper writes SLEPT_ON again before it has the lock (step 3), so the
 *           next unlock wakes another sleeper.
 * Lifetime  after step 1 of the holder other threads may take, release and free the lock; the wake
 *           in step 2 uses the address only. Locks live in memory that is never unmapped while the
 *           runtime runs, and a stray wake is harmless because every sleeper reads the word again.
 * Rejected  ticket or queue locks (a preempted waiter blocks all waiters behind it); counting
 *           waiters (a second shared word).
 * Tests     unit/test_lock.c, explore scenario lock, sim scenario lock, mutants lock-*.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/lock.h"

#include "base/assert.h"
#include "base/thread.h"
#include "base/tuning.h"
#include "base/window.h"
#include "os/os.h"

enum { FREE, HELD, SLEPT_ON };

#if defined(W_DEBUG)

#define NONE 0
#define H(name) (UINT64_C(1) << W_LOCK_##name)
static const uint64_t may_hold[W_N_LOCK_CLASSES] = {
#define LOCK(name, holds) [W_LOCK_##name] = (holds),
#include "base/locks.def"
#undef LOCK
};

static const char *const class_names[W_N_LOCK_CLASSES] = {
#define LOCK(name, holds) [W_LOCK_##name] = #name,
#include "base/locks.def"
#undef LOCK
};

_Static_assert(W_N_LOCK_CLASSES <= 64, "struct thread has a bit and a count for 64 classes");

static const char *first_class(uint64_t set)
{
        return class_names[__builtin_ctzll(set)];
}

static void check_may_take(const struct lock *l)
{
        struct thread *self = w_self();
        uint64_t wrong = self ? self->held & ~may_hold[l->class] : 0;

        W_CHECK(!wrong, "lock %s taken while holding %s", class_names[l->class],
                first_class(wrong));
}

static void note_taken(const struct lock *l)
{
        struct thread *self = w_self();

        if (!self)
                return;
        self->n_held++;
        self->n_held_of[l->class]++;
        self->held |= UINT64_C(1) << l->class;
}

static void note_released(const struct lock *l)
{
        struct thread *self = w_self();

        if (!self)
                return;
        W_CHECK(self->n_held_of[l->class] > 0,
                "lock %s released by a thread that does not hold it", class_names[l->class]);
        self->n_held--;
        if (--self->n_held_of[l->class] == 0)
                self->held &= ~(UINT64_C(1) << l->class);
}

bool w_lock_held(enum lock_class class)
{
        struct thread *self = w_self();

        return !self || (self->held & (UINT64_C(1) << class));
}

#else

static void check_may_take(const struct lock *l) { (void)l; }

static void note_taken(const struct lock *l)
{
        struct thread *self = w_self();

        (void)l;
        if (self)
                self->n_held++;
}

static void note_released(const struct lock *l)
{
        struct thread *self = w_self();

        (void)l;
        if (self)
                self->n_held--;
}

bool w_lock_held(enum lock_class class)
{
        (void)class;
        return true;
}

#endif

static bool take_free(struct lock *l)
{
        uint32_t seen = FREE;

        return w_cas_acq(&l->word, &seen, HELD);                  /* [LK1] */
}

static bool spin(struct lock *l)
{
        for (int round = 0; round < W_TUNE_LOCK_ROUNDS; round++) {
                for (int i = 0; i < 30; i++)
                        w_cpu_pause();
                if (w_load_rlx(&l->word) == FREE && take_free(l))       /* hint */
                        return true;
        }
        return false;
}

static W_NOINLINE void lock_slow(struct lock *l)
{
        if (spin(l))
                return;
        while (w_xchg_acq(&l->word, SLEPT_ON) != FREE) {          /* [LK1] */
                W_WINDOW("lock-before-sleep");
                (void)w_os_futex_wait(&l->word, SLEPT_ON, W_FOREVER);
        }
}

void w_lock(struct lock *l)
{
        check_may_take(l);
        if (W_UNLIKELY(!take_free(l)))
                lock_slow(l);
        note_taken(l);
}

#if !defined(W_DEBUG) && !defined(W_HOOKED)

_Static_assert(FREE == 0 && HELD == 1, "what the quick forms in lock.h write");

void w_lock_contended(struct lock *l)
{
        lock_slow(l);
}

/* The word is FREE already, and there may be sleepers. */
void w_unlock_contended(struct lock *l)
{
        w_os_futex_wake(&l->word, 1);
}

#endif

bool w_lock_try(struct lock *l)
{
        check_may_take(l);
        if (!take_free(l))
                return false;
        note_taken(l);
        return true;
}

void w_unlock(struct lock *l)
{
        note_released(l);
        uint32_t was = w_xchg_rel(&l->word, FREE);                /* [LK1] */

        W_CHECK(was != FREE, "unlock of a free runtime lock");
        if (W_UNLIKELY(was == SLEPT_ON)) {
                W_WINDOW("unlock-before-wake");
                w_os_futex_wake(&l->word, 1);
        }
}
