/* tests/lib/refusal.h - the k-th call of a kind is refused, for every k until none is met.
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
static inline void refusal_end(uint32_t n_hits)
{
        _exit(n_hits ? REFUSAL_MET : REFUSAL_NOT_MET);
}

static inline bool refusal_try(void (*attempt)(void *), struct refusal *r)
{
        char err[4096];
        int  status = test_run_child(attempt, r, err, sizeof(err));

        CHECK_MSG(WIFEXITED(status) && WEXITSTATUS(status) >= REFUSAL_MET,
                  "call %u of kind %d refused with %d: wait status %#x\n%s", r->k, (int)r->kind,
                  r->error, (unsigned)status, err);
        return WEXITSTATUS(status) == REFUSAL_MET;
}

/* Where everything is slow, some of the later calls only. */
static inline uint32_t refusal_next_k(uint32_t k)
{
        if (test_under_valgrind())
                return k < 2 ? k + 1 : 3 * k;
        return k < 8 || !test_is_slow() ? k + 1 : k + k / 4;
}

static inline void refusal_each(void (*attempt)(void *), struct refusal r)
{
        uint32_t n = 0;

        for (r.k = 1; refusal_try(attempt, &r); r.k = refusal_next_k(r.k))
                CHECK(++n < 10000);
        CHECK(n > 0);
}

/* how: once or from; kind: the end of an enum w_os_call. */
#define REFUSE(attempt, how, of_kind, with)                                                     \
        refusal_each(attempt, (struct refusal){ .inject = w_inject_##how,                       \
                                                .kind = W_CALL_##of_kind, .error = with })
#else
#define REFUSE(attempt, how, of_kind, with) test_skip("release builds have no fault injection")
#endif

#endif
