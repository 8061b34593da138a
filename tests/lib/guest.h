/* tests/lib/guest.h - threads that are not weft's, and scopes of theirs.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTS_LIB_GUEST_H
#define TESTS_LIB_GUEST_H

#include "lib/scope.h"
#include "lib/sync.h"
#include "scope/tree.h"
#include "wait/wait.h"

#include <errno.h>

struct guest {
        struct sync_thread thread;
        void             (*fn)(void *);
        void              *arg;
        weft_wg            done;
};

void guest_main(void *arg);

void guest_start(struct guest *g, void (*fn)(void *), void *arg);

/* Leaves the P to others meanwhile: what the guest does may need it. */
void guest_join(struct guest *g);

/* fn(arg) on a thread of its own, from beginning to end. */
void guest_run(void (*fn)(void *), void *arg);

bool guest_is_asleep(weft_scope *public);

/* Until somebody sleeps in s, which has it as innermost. */
void guest_await_asleep(weft_scope *s);

#endif
