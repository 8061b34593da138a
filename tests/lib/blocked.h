/* tests/lib/blocked.h - what is said of goroutines that block, in a child.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTS_LIB_BLOCKED_H
#define TESTS_LIB_BLOCKED_H

#include "lib/sync.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static w_atomic_u32 go_on, n_pings, n_at_it;
static int          ends[2];

/* In a child, with what it says in `said`. */
static inline void run_child(void (*fn)(void *), void *arg, char *said, size_t size)
{
        int status = test_run_child(fn, arg, said, size);

        CHECK_MSG(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %#x\n%s",
                  (unsigned)status, said);
}

static inline int count(const char *text, const char *what)
{
        int n = 0;

        for (; (text = strstr(text, what)); text += strlen(what))
                n++;
        return n;
}

static inline void ping(void *arg)
{
        (void)arg;
        w_add_acqrel(&n_pings, 1);
        weft_yield();
        w_add_acqrel(&n_pings, 1);
}

#endif
