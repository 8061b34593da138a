/* tests/lib/calls.h - every cancellable call, on objects with nothing available and with something.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTS_LIB_CALLS_H
#define TESTS_LIB_CALLS_H

#include "lib/scope.h"

#include <errno.h>

enum { CALLS_THAT_WAIT = 12, CALLS_THAT_GO_ON = 7 };

/* The objects of the calls below: nothing is available on `none`, something on `some`. */
extern struct calls_objects {
        weft_chan *none, *full, *some, *room;
        weft_mutex mutex;
        weft_cond  cond;
        weft_sem   sem_none, sem_some;
        weft_wg    wg_none, wg_some;
        int64_t    alive, ended;
} calls_on;

void calls_set_up(void);
void calls_take_down(void);

/* A channel of ints with n of them in it. */
weft_chan *calls_chan_with(size_t capacity, int n);

/* Two of the calls that wait. */
int calls_wait_sem(void);
int calls_wait_park(void);

/* Every call that waits, and every call that could proceed at once. */
extern int (*const calls_that_wait[CALLS_THAT_WAIT])(void);
extern int (*const calls_that_go_on[CALLS_THAT_GO_ON])(void);

#endif
