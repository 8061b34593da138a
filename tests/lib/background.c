/* tests/lib/background.c - what the tests of a runtime in the background share.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/background.h"

w_atomic_u32 background_n_ran;

void background_count(void *arg)
{
        (void)arg;
        w_add_acqrel(&background_n_ran, 1);
}

void background_start(void)
{
        test_set_dump(sched_dump);
        CHECK_EQ(weft_start(NULL), 0);
}

void background_stop(void)
{
        CHECK_EQ(weft_stop(), 0);
        CHECK_EQ(weft_threads_left(), 0);
}
