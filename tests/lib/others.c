/* tests/lib/others.c - goroutines that stay in user code, and others that run beside them.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/others.h"

w_atomic_u32 others_done, others_n_pings;

void others_ping(void *arg)
{
        (void)arg;
        for (int i = 0; i < OTHERS_PINGS; i++) {
                w_add_acqrel(&others_n_pings, 1);
                weft_yield();
        }
}

uint32_t others_more_than_ps(void)
{
        return (uint32_t)sched_procs() + 1;
}

void others_go_on(void (*fn)(void *), void *arg, uint32_t n)
{
        int64_t pings[OTHERS_PINGERS], stuck[OTHERS_STUCK_MAX];

        for (uint32_t i = 0; i < n; i++)
                stuck[i] = sched_go(fn, arg);
        for (int i = 0; i < OTHERS_PINGERS; i++)
                pings[i] = sched_go(others_ping, NULL);
        for (int i = 0; i < OTHERS_PINGERS; i++)
                sched_join(pings[i]);
        CHECK_EQ(w_load_acq(&others_n_pings), OTHERS_PINGERS * OTHERS_PINGS);
        w_store_rel(&others_done, 1);
        for (uint32_t i = 0; i < n; i++)
                sched_join(stuck[i]);
}
