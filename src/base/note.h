/* base/note.h - one thread sleeps, one other wakes it, once.
 *
 * PROTOCOL note stands in base/note.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_BASE_NOTE_H
#define W_BASE_NOTE_H

#include "base/atomic.h"

struct note {
        w_atomic_u32 word;      /* a  [NT1] 0: not yet, 1: woken */
};

#define W_NOTE_INIT { W_ATOMIC_INIT(0) }

/* Makes a note usable (again). Context: the sleeper, when no wake can be on its way. */
void w_note_clear(struct note *n);

/* Ends the sleep, present or future. A second wake without a clear between is fatal: it means that
 * two parties believed to be the one waker. Context: any thread, async-signal-safe; touches the
 * note no more once the sleeper may have seen it, but for the address. */
void w_note_wake(struct note *n);

/* For a note that several may wake: ends the sleep, present or future, unless another has done so
 * since the last take. Context: any thread, async-signal-safe; the note is never freed. */
void w_note_poke(struct note *n);
/* The sleeper, once it was woken: from here on a poke ends its next sleep. What was written before
 * any poke so far is visible. */
void w_note_take(struct note *n);

/* Returns after the wake; what the waker wrote before it is visible. Context: the one sleeper. */
void w_note_sleep(struct note *n);

/* The same until `deadline_at`; true if woken. */
W_MUST_CHECK bool w_note_sleep_until(struct note *n, int64_t deadline_at);

#endif
