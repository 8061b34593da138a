/* base/lock.h - the runtime's own mutex: short critical sections between threads.
 *
 * Not for user code and never held across a context switch, except that the commit of a park may
 * release it on the other side. In debug builds each acquisition is checked against the table in
 * base/locks.def.
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

/* Debug builds: does this thread hold a lock of that class? Release builds answer true, so that
 * W_ASSERT(w_lock_held(...)) is free. */
bool w_lock_held(enum lock_class class);

#endif
