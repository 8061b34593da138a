/* tests/lib/refusal.h - the k-th call of a kind is refused, for every k until no call is refused.
 *
 * Each attempt is a child process, because what was probed once is remembered. The child gets the
 * refusal as its argument and ends by refusal_end(); a failing check in it is the parent's too.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTS_LIB_REFUSAL_H
#define TESTS_LIB_REFUSAL_H

#include "harness/test.h"
#include "os/inject.h"

#include <sys/wait.h>
#include <unistd.h>

#if defined(W_DEBUG)

struct refusal {
        void         (*inject)(enum w_os_call kind, uint32_t k, int error);
        enum w_os_call kind;
        uint32_t       k;
        int            error;
};

enum { REFUSAL_MET = 10, REFUSAL_NOT_MET = 11 };

/* The last line of an attempt. */
void refusal_end(uint32_t n_hits);

void refusal_each(void (*attempt)(void *), struct refusal r);

/* how: once or from; kind: the end of an enum w_os_call. */
#define REFUSE(attempt, how, of_kind, with)                                                     \
        refusal_each(attempt, (struct refusal){ .inject = w_inject_##how,                       \
                                                .kind = W_CALL_##of_kind, .error = with })
#else
#define REFUSE(attempt, how, of_kind, with) test_skip("release builds have no fault injection")
#endif

#endif
