/* tests/lib/background.h - what the tests of a runtime in the background share.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTS_LIB_BACKGROUND_H
#define TESTS_LIB_BACKGROUND_H

#include "lib/sync.h"

static w_atomic_u32 n_ran;

static inline void count(void *arg)
{
        (void)arg;
        w_add_acqrel(&n_ran, 1);
}

static inline void start(void)
{
        test_set_dump(sched_dump);
        CHECK_EQ(weft_start(NULL), 0);
}

static inline void stop(void)
{
        CHECK_EQ(weft_stop(), 0);
}

#endif
