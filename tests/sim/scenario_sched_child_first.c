/* tests/sim/scenario_sched_child_first.c - PROTOCOL parents: depth first, and no goroutine is
 * hidden.
 *
 * A tree of goroutines in which children run first, deeper than there is room for parents, while
 * others yield and wake each other. Some compute for longer than work may wait (I10, checked at
 * each step): a parent that no thief can find is seen to wait.
 *
 * test: seeds=quarter
 *
 * SPDX-License-Identifier: MIT
 */
#include "sim/sched_world.h"

enum { LONG_NS = 13000000, DEPTH = 7, N_YIELDERS = 2 };

struct node {
        uint32_t depth;
        uint32_t sum;                   /* plain: read after the join */
};

static int64_t go_first(void (*fn)(void *), void *arg)
{
        static const weft_attr first = { .flags = WEFT_CHILD_FIRST };
        int64_t                id = weft_go_with(&first, fn, arg);

        SIM_CHECK(id > 0, "weft_go_with returned %ld", (long)id);
        return id;
}

static void branch(void *arg)
{
        struct node *node = arg;
        struct node  left = { node->depth - 1, 0 }, right = { node->depth - 1, 0 };

        node->sum = 1;
        if (node->depth == 0 || sim_random(5) == 0) {
                if (sim_random(6) == 0)
                        sim_work(LONG_NS);
                return;
        }
        int64_t first = go_first(branch, &left);

        if (sim_random(4) == 0)
                weft_yield();
        if (sim_random(8) == 0)         /* its parent waits below, with no goroutine before it */
                sim_work(LONG_NS);
        int64_t second = sim_random(2) ? go_first(branch, &right) : 0;

        sched_join(first);
        node->sum += w_plain_load(&left.sum);
        if (second) {
                sched_join(second);
                node->sum += w_plain_load(&right.sum);
        }
}

static void yielder(void *arg)
{
        (void)arg;
        for (uint32_t i = 0; i < 5; i++)
                weft_yield();
}

static void first(void *arg)
{
        struct node root = { DEPTH, 0 };
        int64_t     yielders[N_YIELDERS];

        (void)arg;
        for (uint32_t i = 0; i < N_YIELDERS; i++)
                yielders[i] = sched_go(yielder, NULL);
        sched_join(go_first(branch, &root));
        SIM_CHECK(w_plain_load(&root.sum) >= 1, "the root has not run");
        for (uint32_t i = 0; i < N_YIELDERS; i++)
                sched_join(yielders[i]);
        SIM_CHECK(weft_count() == 1, "%ld goroutines are left", (long)weft_count());
}

static void child_first_main(void)
{
        sched_run_well(NULL, first);
}

SIM_SCENARIO(sched_child_first, "children run first, their parents are there for all",
             child_first_main, .max_steps = SCHED_MAX_STEPS)
