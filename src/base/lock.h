/* base/lock.h - the runtime's own mutex: short critical sections between threads.
 *
 * Not for user code. Never held across a context switch, with one exception: the commit of a park
 * may release the lock on the other side of the switch. In debug builds each acquisition is checked
 * against the table in base/locks.def.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_BASE_LOCK_H
#define W_BASE_LOCK_H

#include "base/atomic.h"

enum lock_class {
#define LOCK(name, may_hold) W_LOCK_##name,
#include "base/locks.def"
#undef LOCK
        W_N_LOCK_CLASSES
};

struct lock {
        w_atomic_u32 word;      /* a  [LK1] free, held, or held with sleepers */
        uint32_t     class;     /* i  enum lock_class */
};

#define W_LOCK_INIT(name) { W_ATOMIC_INIT(0), W_LOCK_##name }

static inline void w_lock_init(struct lock *l, enum lock_class class)
{
        l->word.raw = 0;        /* unpublished */
        l->class = class;
}

/* Context: any thread, also without a P; may switch: no (it may put the thread to sleep). */
void w_lock(struct lock *l);
bool w_lock_try(struct lock *l);
void w_unlock(struct lock *l);

/* The same for the locks on the shortest paths. In builds without the checks a free lock is taken
 * and released inline, and is not counted in thread.n_held. A lock is always used through these two
 * calls, or never. */
#if defined(W_DEBUG) || defined(W_HOOKED)
#define w_lock_quick(l)   w_lock(l)
#define w_unlock_quick(l) w_unlock(l)
#else
void w_lock_contended(struct lock *l);
void w_unlock_contended(struct lock *l);

W_INLINE void w_lock_quick(struct lock *l)
{
        uint32_t free = 0;

        if (W_UNLIKELY(!w_cas_acq(&l->word, &free, 1)))           /* [LK1] */
                w_lock_contended(l);
}

W_INLINE void w_unlock_quick(struct lock *l)
{
        if (W_UNLIKELY(w_xchg_rel(&l->word, 0) != 1))             /* [LK1] */
                w_unlock_contended(l);
}
#endif

/* Debug builds: does this thread hold a lock of that class? Release builds answer true, so that
 * W_ASSERT(w_lock_held(...)) is free. */
bool w_lock_held(enum lock_class class);

#endif
