/* tests/lib/others.h - goroutines that do not come back soon, and others that go on beside them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTS_LIB_OTHERS_H
#define TESTS_LIB_OTHERS_H

#include "lib/sync.h"

enum { N_PINGERS = 8, N_PINGS = 20, STUCK_MAX = 8 };

static w_atomic_u32 go_on, n_pings;

static inline void ping(void *arg)
{
        (void)arg;
        for (int i = 0; i < N_PINGS; i++) {
                w_add_acqrel(&n_pings, 1);
                weft_yield();
        }
}

static inline uint32_t more_than_ps(void)
{
        return (uint32_t)sched_procs() + 1;
}

/* Goroutine 1 starts n that do not come back before go_on is set, fn says how, and some that ping;
 * go_on is set when those are done. */
static inline void others_go_on(void (*fn)(void *), void *arg, uint32_t n)
{
        int64_t pings[N_PINGERS], stuck[STUCK_MAX];

        for (uint32_t i = 0; i < n; i++)
                stuck[i] = sched_go(fn, arg);
        for (int i = 0; i < N_PINGERS; i++)
                pings[i] = sched_go(ping, NULL);
        for (int i = 0; i < N_PINGERS; i++)
                sched_join(pings[i]);
        CHECK_EQ(w_load_acq(&n_pings), N_PINGERS * N_PINGS);
        w_store_rel(&go_on, 1);
        for (uint32_t i = 0; i < n; i++)
                sched_join(stuck[i]);
}

#endif
