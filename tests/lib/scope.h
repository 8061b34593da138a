/* tests/lib/scope.h - what the tests of scopes share.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTS_LIB_SCOPE_H
#define TESTS_LIB_SCOPE_H

#include "lib/sched.h"

/* Longer than any test lasts, shorter than for ever: there is a deadline, and it does not pass. */
#define LONG_TIME WEFT_SEC(3600)

static inline void scope_open(weft_scope *s, int64_t timeout)
{
        CHECK_EQ(weft_scope_open(s, timeout), 0);
}

static inline void scope_close(weft_scope *s, int expected)
{
        CHECK_EQ(weft_scope_close(s), expected);
}

static inline int64_t scope_go(weft_scope *s, int (*fn)(void *), void *arg)
{
        int64_t id = weft_scope_go(s, fn, arg);

        CHECK_MSG(id > 0, "weft_scope_go returned %lld", (long long)id);
        return id;
}

/* A child that waits until a scope ends that, and reports what it was told. */
static inline int scope_park(void *result)
{
        *(int *)result = weft_park();
        return 0;
}

/* Computes until the deadline has passed, without a call that waits. */
static inline void scope_compute_until(int64_t at)
{
        while (w_os_now() < at)
                w_cpu_pause();
}

/* Whether this goroutine has a token, which is used up. */
static inline bool scope_take_token(void)
{
        weft_scope s;

        weft_shield_begin();
        scope_open(&s, WEFT_MS(1));
        int rc = weft_park();

        scope_close(&s, 0);
        weft_shield_end();
        return rc == 0;
}

#endif
