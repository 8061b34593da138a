/* sched/live.c - how many goroutines are alive, and the end of a run that goroutine 1 left early.
 *
 * PROTOCOL live
 *
 * Goal      A spawn or exit writes no shared cache line and passes no fence. If goroutine 1 ended
 *           by weft_exit, the run still ends when the last goroutine has ended.
 * Parties   spawner, ending goroutine, idle M (it released its P and found no work).
 * Words     spawned and ended of each P, written by its owner; spawned of threads without a P;
 *           main_exited.
 * End       1. ended + 1 on the own P [LV2].
 * Main      1. main_exited := 1.   2. As any other goroutine that ends.
 * Idle M    1. Full fence [LV1].
 *           2. main_exited is 0: done.
 *           3. Sum all `ended`, then all `spawned`. Equal: end the run.
 * Edges     [LV1] counters <-> main_exited and the counters of other Ps   its own partner
 *           [LV2] a goroutine's birth   ended store-release -> count: ended load-acquire
 * Why the end is noticed   When no goroutine is left, every M runs out of work and becomes an idle
 *           M. Its fence comes after its own counts. The last of these fences sees every count and
 *           main_exited.
 * Why not too early   `spawned` is read after `ended`: an end that was counted has its birth
 *           counted. Equal sums mean that no goroutine was alive between the two passes, and only a
 *           goroutine that is alive can spawn.
 * Tests     flow/sched/run/test_run.c, sim scenarios sched_exit, sched_exit_count.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/live.h"

#include "sched/run/world.h"
#include "sched/sched.h"

/* All ends before the first birth: a goroutine that is born and ends during the count is seen as
 * alive, never as an end without a birth. */
int64_t w_live_count(void)
{
        int64_t n = 0;

        for (uint32_t i = 0; i < w_n_p(); i++)
                n -= (int64_t)w_load_acq(&w_sched.all_p[i]->stats.ended);       /* [LV2] */
        n += (int64_t)w_load_rlx(&w_sched.without_p.spawned);     /* counter */
        for (uint32_t i = 0; i < w_n_p(); i++)
                n += (int64_t)w_load_rlx(&w_sched.all_p[i]->stats.spawned);     /* counter */
        return n;
}

void w_live_main_exited(void)
{
        w_store_rlx(&w_sched.main_exited, 1);                       /* guarded by LV1 */
}

void w_live_idle(void)
{
        w_fence_full();                                           /* [LV1] */
        if (w_load_rlx(&w_sched.main_exited) && w_live_count() == 0)      /* guarded by LV1 */
                w_world_end();
}
