/* os/foreign.h - CONTRACT: a record for each foreign thread, and notice of the thread's end.
 *
 * The rules for every call are in os/os.h.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_OS_FOREIGN_H
#define W_OS_FOREIGN_H

#include "base/compiler.h"

enum { W_OS_FOREIGN_WORDS = 2 };

/* What weft stores for a foreign thread, all zero at first. Valid for the life of the thread. A
 * goroutine never asks for it, because a goroutine changes threads. */
struct w_os_foreign {
        uint64_t opaque[W_OS_FOREIGN_WORDS];    /* for the layers above, which know its type */
        uint64_t window_rand;                   /* debug: as in struct thread */
        void   (*at_end)(struct w_os_foreign *foreign);
};
struct w_os_foreign *w_os_foreign(void);

/* Calls fn if the calling thread ends before the next call of this function. A NULL fn cancels the
 * request. -EAGAIN, -ENOMEM: libc has no thread-specific key left, and fn will not be called. */
int w_os_foreign_watch(void (*fn)(struct w_os_foreign *foreign));

#endif
