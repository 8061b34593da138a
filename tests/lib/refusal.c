/* tests/lib/refusal.c - the k-th call of a kind is refused, for every k until no call is refused.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/refusal.h"

#if defined(W_DEBUG)

void refusal_end(uint32_t n_hits)
{
        _exit(n_hits ? REFUSAL_MET : REFUSAL_NOT_MET);
}

static bool refusal_try(void (*attempt)(void *), struct refusal *r)
{
        char err[4096];
        int  status = test_run_child(attempt, r, err, sizeof(err));

        CHECK_MSG(WIFEXITED(status) && WEXITSTATUS(status) >= REFUSAL_MET,
                  "call %u of kind %d refused with %d: wait status %#x\n%s", r->k, (int)r->kind,
                  r->error, (unsigned)status, err);
        return WEXITSTATUS(status) == REFUSAL_MET;
}

/* Where everything is slow, some of the later calls only. */
static uint32_t refusal_next_k(uint32_t k)
{
        if (test_under_valgrind())
                return k < 2 ? k + 1 : 3 * k;
        return k < 8 || !test_is_slow() ? k + 1 : k + k / 4;
}

void refusal_each(void (*attempt)(void *), struct refusal r)
{
        uint32_t n = 0;

        for (r.k = 1; refusal_try(attempt, &r); r.k = refusal_next_k(r.k))
                CHECK(++n < 10000);
        CHECK(n > 0);
}

#endif
