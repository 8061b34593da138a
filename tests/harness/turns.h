/* harness/turns.h - the turns of those who use regular files, for tests that take one themselves.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HARNESS_TURNS_H
#define HARNESS_TURNS_H

#include "net/file_slots.h"
#include "sched/m.h"

/* As a call of weft's would. */
W_MUST_CHECK static inline int enter_files(void)
{
        W_ENTER();
        int rc = w_file_slots_enter();

        W_LEAVE();
        return rc;
}

static inline void leave_files(void)
{
        W_ENTER();
        w_file_slots_leave();
        W_LEAVE();
}

#endif
