/* tests/lib/guest.h - foreign threads and their scopes.
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

/* Yields the P meanwhile: the foreign thread may need a goroutine to run. */
void guest_join(struct guest *g);

/* Runs fn(arg) on a foreign thread, from start to join. */
void guest_run(void (*fn)(void *), void *arg);

bool guest_is_asleep(weft_scope *public);

/* Waits until a member sleeps in s, with s as its innermost scope. */
void guest_await_asleep(weft_scope *s);

#endif
