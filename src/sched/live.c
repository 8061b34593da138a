/* sched/live.c - how many goroutines there are, and the end of a run that goroutine 1 left early.
 *
 * Called by   spawn, exit and idle.
 *
 * PROTOCOL live
 *
 * Goal      no shared line is written and no fence passed per spawn or exit; yet if goroutine 1 has
 *           ended by weft_exit, somebody notices when none are left.
 * Parties   everyone who spawns or ends; an M that has found nothing to do.
 * Words     spawned and ended of each P, written by its owner; spawned of those without a P;
 *           main_exited.
 * Ender     own `ended` + 1
 * Main      main_exited := 1, then as the others
 * Idler     gave its P up: 1 [LV1] full fence   2 main_exited? 3 sum the ends, then the births;
 *           equal: end the run
 * Edges     [LV1] counters <-> main_exited and counters of others   its own partner
 *           [LV2] the birth of who ended   ended store-release -> count: ended load-acquire
 * Why somebody notices   when none are left every M runs out of work and becomes an idler, and its
 *           fence comes after its own counts. The last fence of all sees every count and
 *           main_exited.
 * Why nobody notices too early   the births were read after the ends: an end that was seen has its
 *           birth seen. Equal sums mean that none lived between the two passes, and only one that
 *           lives can spawn.
 * Tests     flow/sched/run/test_run.c, sim scenarios sched_exit, sched_exit_count.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/sched.h"

/* All ends before the first birth: who is born and dies while we count is seen as alive, never as a
 * death without a birth. */
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
                w_run_end();
}
