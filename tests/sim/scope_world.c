/* tests/sim/scope_world.c - what the scenarios of scopes share.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sim/scope_world.h"

void open_scope(weft_scope *s, int64_t timeout)
{
        int rc = weft_scope_open(s, timeout);

        SIM_CHECK(rc == 0, "weft_scope_open returned %d", rc);
}

void poison(weft_scope *s)
{
        memset(s, POISON, sizeof(*s));
}

void check_poisoned(const weft_scope *s)
{
        const unsigned char *bytes = (const void *)s;

        for (size_t i = 0; i < sizeof(*s); i++)
                SIM_CHECK(bytes[i] == POISON, "a closed scope was written at %zu", i);
}
