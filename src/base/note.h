/* base/note.h - one thread sleeps, another thread wakes it, once.
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

/* Makes a note usable, also for another time. Context: the sleeper, while no waker uses the
 * note. */
void w_note_clear(struct note *n);

/* Ends the sleep, present or future. A second wake without a clear in between is fatal: two parties
 * acted as the one waker. Context: any thread, async-signal-safe. Once the sleeper may have seen
 * the wake, only the address of the note is used. */
void w_note_wake(struct note *n);

/* For a note with several wakers: ends the sleep, present or future, unless another poke has ended
 * it since the last take. Context: any thread, async-signal-safe; the note is never freed. */
void w_note_poke(struct note *n);
/* From here on a poke ends the next sleep. What the wakers wrote before their pokes so far is
 * visible. Context: the sleeper, once it was woken. */
void w_note_take(struct note *n);

/* Returns after the wake; what the waker wrote before it is visible. Context: the one sleeper. */
void w_note_sleep(struct note *n);

/* The same until `deadline_at`; true if woken. */
W_MUST_CHECK bool w_note_sleep_until(struct note *n, int64_t deadline_at);

#endif
