/* base/lock.c - the futex mutex, and the check of who may hold what.
 *
 * PROTOCOL lock
 *
 * Goal      mutual exclusion; a free lock is taken and released without the kernel; a thread that
 *           sleeps is woken by some later unlock.
 * Parties   taker, holder, sleeper (all threads).
 * Words     word: FREE, HELD, or SLEPT_ON (held, and somebody may sleep).
 * Taker     1 CAS FREE -> HELD [LK1]; done if it succeeds.
 *           2 a few pauses, looking for FREE again: sections are shorter than a sleep costs.
 *           3 exchange SLEPT_ON [LK1]; if the old value was FREE the lock is ours (marked as slept
 *             on, which at worst costs one futile wake). Else sleep while the word is SLEPT_ON.
 * Holder    1 exchange FREE [LK1]   2 old value SLEPT_ON: wake one.
 * Edges     [LK1] everything in the section   unlock: xchg-release  ->  taker: CAS/xchg-acquire
 * Why nothing is lost   a sleeper sleeps only while the word is SLEPT_ON, which the kernel
 *           compares under its own lock. Whoever releases a word that is SLEPT_ON wakes one
 *           sleeper, and that one writes SLEPT_ON again before it owns the lock (step 3), so the
 *           remaining sleepers keep their claim on the next unlock.
 * Lifetime  after step 1 of the holder the lock may be taken, released and freed by others; the
 *           wake in step 2 uses the address only. Locks live in memory that is never unmapped while
 *           the runtime runs, and a stray wake is harmless because every sleeper looks again.
 * Rejected  ticket or queue locks (a preempted waiter blocks all behind it); counting waiters (a
 *           second shared word).
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
static const uint64_t may_preempt[W_N_LOCK_CLASSES] = {
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
        uint64_t wrong = self ? self->held & ~may_preempt[l->class] : 0;

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

/* Released already; somebody may sleep. */
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
