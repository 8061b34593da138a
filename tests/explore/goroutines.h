/* tests/explore/goroutines.h - threads of a scenario that are goroutines to the sources above the
 * scheduler.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTS_EXPLORE_GOROUTINES_H
#define TESTS_EXPLORE_GOROUTINES_H

#include "sched/sched.h"

/* In setup: a run is on, with one idle P, and no waiter. */
void goroutines_reset(void);

/* The calling thread is goroutine 1, 2 or 3, which runs. It has an M and no P. */
struct g *goroutine_begin(unsigned id);
struct g *goroutine(unsigned id);

/* The calling thread is a foreign thread. */
void foreign_begin(void);

/* How often the sources wanted a thread to search for work. */
int wakes_of_threads(void);

/* The word at the start of the object is gone, as if it had been unmapped: an access by any other
 * thread that is not ordered before this is a data race. */
#define UNMAP(object) unmap_word((object), W_SITE_(#object))
void unmap_word(void *word, const struct w_site *site);

#endif
