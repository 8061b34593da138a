/* tests/lib/foreign.h - foreign threads and their scopes.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTS_LIB_FOREIGN_H
#define TESTS_LIB_FOREIGN_H

#include "lib/scope.h"
#include "lib/sync.h"
#include "scope/tree.h"
#include "wait/wait.h"

#include <errno.h>

struct foreign {
        struct sync_thread thread;
        void             (*fn)(void *);
        void              *arg;
        weft_wg            done;
};

void foreign_main(void *arg);

void foreign_start(struct foreign *g, void (*fn)(void *), void *arg);

/* Yields the P meanwhile: the foreign thread may need a goroutine to run. */
void foreign_join(struct foreign *g);

/* Runs fn(arg) on a foreign thread, from start to join. */
void foreign_run(void (*fn)(void *), void *arg);

bool foreign_is_asleep(weft_scope *public);

/* Waits until a member sleeps in s, with s as its innermost scope. */
void foreign_await_asleep(weft_scope *s);

#endif
