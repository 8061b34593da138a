/* tests/lib/file_slots.h - file slots, for tests that take one themselves.
 *
 * A header only: the tests, the simulator and the explorer compile it with their own settings.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTS_LIB_FILE_SLOTS_H
#define TESTS_LIB_FILE_SLOTS_H

#include "net/file_slots.h"
#include "sched/m.h"

/* As a call of weft would. */
W_MUST_CHECK static inline int file_slots_enter(void)
{
        W_ENTER();
        int rc = w_file_slots_enter();

        W_LEAVE();
        return rc;
}

static inline void file_slots_leave(void)
{
        W_ENTER();
        w_file_slots_leave();
        W_LEAVE();
}

#endif
