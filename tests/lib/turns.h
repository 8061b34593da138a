/* tests/lib/turns.h - the turns of those who use regular files, for tests that take one themselves.
 *
 * A header only: the tests, the simulator and the explorer compile it with their own settings.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTS_LIB_TURNS_H
#define TESTS_LIB_TURNS_H

#include "net/file_slots.h"
#include "sched/m.h"

/* As a call of weft's would. */
W_MUST_CHECK static inline int turns_enter(void)
{
        W_ENTER();
        int rc = w_file_slots_enter();

        W_LEAVE();
        return rc;
}

static inline void turns_leave(void)
{
        W_ENTER();
        w_file_slots_leave();
        W_LEAVE();
}

#endif
