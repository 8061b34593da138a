/* tests/flow/sched/test_child_first.c - parents of child-first spawns have their turn, whatever
 * their children do: a P that always has a ready goroutine must not forget the parents that wait
 * below.
 *
 * test: procs=1,2,4
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/sched.h"

#include <errno.h>

enum { PATIENCE = 5000000 };            /* hand-overs; a turn is due after 65,536 */

static const weft_attr first = { .flags = WEFT_CHILD_FIRST };

static w_atomic_u32 went_on, n_hops;
static w_atomic_u64 ids[2];

/* Once the parent has had its turn the run may end before a child comes here. */
static void go(const weft_attr *attr, void (*fn)(void *))
{
        int64_t id = weft_go_with(attr, fn, NULL);

        CHECK_MSG(id > 0 || id == -ESHUTDOWN, "weft_go_with returned %ld", (long)id);
}

static bool goes_on(void)
{
        CHECK_MSG(w_add_rlx(&n_hops, 1) < PATIENCE, "a parent has waited for %d hand-overs",
                  PATIENCE);
        return w_load_acq(&went_on) == 0;
}

static void parent(void *child)
{
        go(&first, (void (*)(void *))(uintptr_t)child);
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
                go(&first, leaf);
}

TEST(a_parent_has_its_turn_beside_endless_child_first_spawns)
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
        go(&first, pong);
        while (w_load_acq(&went_on) == 0)
                hand_over(0);
        weft_unpark((int64_t)w_load_acq(&ids[1]));
}

TEST(a_parent_has_its_turn_beside_two_goroutines_that_hand_over)
{
        check_turn(ping);
}

/* ---- A chain of goroutines, each starting the next and ending -------------------------------- */

static void link_of_chain(void *arg)
{
        (void)arg;
        if (goes_on())
                go(NULL, link_of_chain);
}

static void chain(void *arg)
{
        (void)arg;
        go(&first, link_of_chain);
        while (w_load_acq(&went_on) == 0)
                weft_yield();
}

TEST(a_parent_has_its_turn_beside_a_chain_of_spawns)
{
        check_turn(chain);
}
