/* tests/lib/scope.c - what the tests of scopes share.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/scope.h"

void scope_open(weft_scope *s, int64_t timeout)
{
        CHECK_EQ(weft_scope_open(s, timeout), 0);
}

void scope_close(weft_scope *s, int expected)
{
        CHECK_EQ(weft_scope_close(s), expected);
}

int64_t scope_go(weft_scope *s, int (*fn)(void *), void *arg)
{
        int64_t id = weft_scope_go(s, fn, arg);

        CHECK_MSG(id > 0, "weft_scope_go returned %lld", (long long)id);
        return id;
}

int scope_park(void *result)
{
        *(int *)result = weft_park();
        return 0;
}

void scope_compute_until(int64_t at)
{
        while (w_os_now() < at)
                w_cpu_pause();
}

bool scope_take_token(void)
{
        weft_scope s;

        weft_shield_begin();
        scope_open(&s, WEFT_MS(1));
        int rc = weft_park();

        scope_close(&s, 0);
        weft_shield_end();
        return rc == 0;
}
