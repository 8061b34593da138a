/* tests/explore/goroutines.h - threads of a scenario that are goroutines to the sources above the
 * scheduler.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTS_EXPLORE_GOROUTINES_H
#define TESTS_EXPLORE_GOROUTINES_H

#include "sched/sched.h"

/* In setup: a run is on, with one P that nobody holds, and nobody waits for anything. */
void goroutines_reset(void);

/* The calling thread is goroutine 1, 2 or 3, which runs. It has an M and no P. */
struct g *goroutine_begin(unsigned id);
struct g *goroutine(unsigned id);

/* The calling thread is not weft's. */
void foreign_begin(void);

/* How often somebody wanted a thread to look for work. */
int wakes_of_threads(void);

/* The word at the start of the object is gone, as if it had been unmapped: an access by anyone else
 * that is not ordered before this is a data race. */
#define UNMAP(object) unmap_word((object), W_SITE_(#object))
void unmap_word(void *word, const struct w_site *site);

#endif
