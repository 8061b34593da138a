/* tests/sim/scenario_calls.c - PROTOCOL take, an M that gives: a goroutine that calls weft all the
 * time and never has to wait does not keep its P from other goroutines.
 *
 * Such a goroutine uses each P. In calls that might wait it gives other goroutines their turn; in
 * other calls it gives up its P, and is preempted in the end.
 *
 * test: seeds=quarter
 *
 * SPDX-License-Identifier: MIT
 */
#include "sim/sched_world.h"

enum { MS = 1000000, N_OTHERS = 3 };

static weft_chan   *empty, *roomy;
static w_atomic_u32 n_others;
static bool         may_wait;           /* the calls of these goroutines */

static bool all_had_a_turn(void)
{
        return w_load_acq(&n_others) == N_OTHERS;
}

static void call_once(void)
{
        weft_case cases[] = { WEFT_RECV(empty, NULL), WEFT_DEFAULT };

        if (may_wait) {
                SIM_CHECK(weft_chan_send(roomy, NULL) == 0, "send");
                SIM_CHECK(weft_chan_recv(roomy, NULL) == 0, "receive");
                return;
        }
        switch (sim_random(4)) {
        case 0: (void)weft_chan_try_recv(empty, NULL); break;
        case 1: (void)!weft_select(cases, 2); break;
        case 2: (void)weft_count(); break;
        default: weft_name("caller"); break;
        }
}

static void caller(void *arg)
{
        (void)arg;
        while (!all_had_a_turn()) {
                sim_work(sim_random(50000));
                call_once();
        }
}

static void other(void *arg)
{
        (void)arg;
        SIM_CHECK(weft_sleep((int64_t)sim_random(3) * MS) == 0, "sleep");
        w_add_acqrel(&n_others, 1);
}

static void calls_first(void *arg)
{
        int64_t callers[2], others[N_OTHERS];
        int     n = weft_procs(0);

        (void)arg;
        empty = weft_chan_new(0, 0);
        roomy = weft_chan_new(0, 8);
        w_store_rlx(&n_others, 0);
        for (int i = 0; i < N_OTHERS; i++)
                others[i] = sched_go(other, NULL);
        for (int i = 0; i < n; i++)
                callers[i] = sched_go(caller, NULL);
        for (int i = 0; i < n; i++)
                sched_join(callers[i]);
        for (int i = 0; i < N_OTHERS; i++)
                sched_join(others[i]);
        SIM_CHECK(weft_check() == 0, "check");
        weft_chan_unref(empty);
        weft_chan_unref(roomy);
}

static void run_calls(bool that_may_wait, int preempt)
{
        weft_config cfg = { .procs = 1 + (int)sim_random(2), .preempt = preempt };

        may_wait = that_may_wait;
        sched_run_well(&cfg, calls_first);
}

static void give_main(void)
{
        run_calls(false, WEFT_PREEMPT_ALL);
}

SIM_SCENARIO(take_calls, "a goroutine that makes calls that never wait gives up its P", give_main,
             .max_steps = 4 * SCHED_MAX_STEPS)

static void turn_main(void)
{
        run_calls(true, WEFT_PREEMPT_OFF + (int)sim_random(3));
}

SIM_SCENARIO(take_turns, "a goroutine that might have waited gives others their turn", turn_main,
             .max_steps = 4 * SCHED_MAX_STEPS)
