/* tests/sim/scope_world.h - what the scenarios of scopes share.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTS_SIM_SCOPE_WORLD_H
#define TESTS_SIM_SCOPE_WORLD_H

#include "sim/sched_world.h"

#include <string.h>

enum { RUIN = 0x5a };

static inline void open_scope(weft_scope *s, int64_t timeout)
{
        int rc = weft_scope_open(s, timeout);

        SIM_CHECK(rc == 0, "weft_scope_open returned %d", rc);
}

/* The memory of a closed scope is its owner's again: whoever still writes to it is found. */
static inline void ruin(weft_scope *s)
{
        memset(s, RUIN, sizeof(*s));
}

static inline void check_ruined(const weft_scope *s)
{
        const unsigned char *bytes = (const void *)s;

        for (size_t i = 0; i < sizeof(*s); i++)
                SIM_CHECK(bytes[i] == RUIN, "a closed scope was written at %zu", i);
}

#endif
