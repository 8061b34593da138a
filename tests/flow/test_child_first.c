/* tests/flow/test_child_first.c - parents whose children went first have their turn, whatever those
 * children do: a P that always has somebody at hand must not forget who waits below.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched_util.h"

enum { PATIENCE = 5000000 };            /* hand-overs; a turn is due after 65,536 */

static const weft_attr first = { .flags = WEFT_CHILD_FIRST };

static w_atomic_u32 went_on, n_hops;
static w_atomic_u64 ids[2];

static void go_first(void (*fn)(void *), void *arg)
{
        CHECK(weft_go_with(&first, fn, arg) > 0);
}

static bool goes_on(void)
{
        CHECK_MSG(w_add_rlx(&n_hops, 1) < PATIENCE, "a parent has waited for %d hand-overs",
                  PATIENCE);
        return w_load_acq(&went_on) == 0;
}

static void parent(void *child)
{
        go_first((void (*)(void *))(uintptr_t)child, NULL);
        w_store_rel(&went_on, 1);
}

static void run_parent(void *child)
{
        sched_join(sched_go(parent, child));
}

static void check_turn(void (*child)(void *))
{
        sched_run(run_parent, (void *)(uintptr_t)child);
        CHECK_EQ(w_load_acq(&went_on), 1);
}

/* ---- Child first for ever -------------------------------------------------------------------- */

static void leaf(void *arg)
{
        (void)arg;
}

static void spawner(void *arg)
{
        (void)arg;
        while (goes_on())
                go_first(leaf, NULL);
}

TEST(a_parent_has_its_turn_beside_one_that_spawns_child_first_for_ever)
{
        check_turn(spawner);
}

/* ---- Two that hand over to each other -------------------------------------------------------- */

static void hand_over(int me)
{
        weft_unpark((int64_t)w_load_acq(&ids[!me]));
        CHECK_EQ(weft_park(), 0);
}

static void pong(void *arg)
{
        (void)arg;
        w_store_rel(&ids[1], (uint64_t)weft_id());
        while (goes_on())
                hand_over(1);
        weft_unpark((int64_t)w_load_acq(&ids[0]));
}

static void ping(void *arg)
{
        (void)arg;
        w_store_rel(&ids[0], (uint64_t)weft_id());
        go_first(pong, NULL);
        while (w_load_acq(&went_on) == 0)
                hand_over(0);
        weft_unpark((int64_t)w_load_acq(&ids[1]));
}

TEST(a_parent_has_its_turn_beside_two_that_hand_over_to_each_other)
{
        check_turn(ping);
}

/* ---- A chain of goroutines, each starting the next and ending -------------------------------- */

static void link_of_chain(void *arg)
{
        (void)arg;
        if (goes_on())
                (void)sched_go(link_of_chain, NULL);
}

static void chain(void *arg)
{
        (void)arg;
        go_first(link_of_chain, NULL);
        while (w_load_acq(&went_on) == 0)
                weft_yield();
}

TEST(a_parent_has_its_turn_beside_a_chain_of_spawns)
{
        check_turn(chain);
}
