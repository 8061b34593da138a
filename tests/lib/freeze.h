/* tests/lib/freeze.h - for the tests of the world's second stop.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTS_LIB_FREEZE_H
#define TESTS_LIB_FREEZE_H

#include "lib/sync.h"

#include "sched/run/freeze.h"

/* TSan holds signals back until a thread calls something: nobody stands, what waits is seen. */
#if defined(W_TSAN)
enum { STANDS_AT_ALL = 0 };
#else
enum { STANDS_AT_ALL = 1 };
#endif

static inline void need_kernel(void)
{
        struct w_os_thread_state sight;

        if (test_is_emulated())
                test_skip("the emulator's threads are not those that the kernel tells of");
        if (w_os_thread_state(w_os_tid(), &sight) < 0)
                test_skip("the kernel does not tell what threads wait for");
}

#endif
