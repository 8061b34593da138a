/* tests/sim/scenario_sched_spawn.c - spawn, join, ids and exit: PROTOCOL ids with everything else.
 *
 * A tree of goroutines: each spawns, joins its children in any order, some twice and from two
 * places, and ends by return or weft_exit. More are spawned at once than a ring holds, and more in
 * all than a batch of ids.
 *
 * test: seeds=quarter
 *
 * SPDX-License-Identifier: MIT
 */
#include "sim/sched_world.h"

#include <errno.h>      /* ESRCH */

enum { DEPTH = 2, N_CHILDREN = 4, N_BURST = 20, MAX_ID = 1000 };

static uint32_t n_ended;                /* plain, counted by simulated threads one at a time */
static bool     ended[MAX_ID];          /* by id */

struct node {
        int64_t  ids[N_CHILDREN];
        uint32_t depth;
        uint32_t sum;                   /* plain: read after the join */
};

static void note_end(void)
{
        SIM_CHECK(weft_id() > 0 && weft_id() < MAX_ID && !ended[weft_id()],
                  "id %ld was given twice", (long)weft_id());
        ended[weft_id()] = true;
        n_ended++;
}

static void join_checked(int64_t id)
{
        sched_join(id);
        SIM_CHECK(ended[id], "join of %ld returned before its end", (long)id);
}

/* Joins a goroutine that another goroutine joins too. */
static void other_joiner(void *arg)
{
        struct node *node = arg;
        int64_t      id = node->ids[0];

        join_checked(id);
        note_end();
        if (sim_random(2))
                weft_exit();
}

static void branch(void *arg)
{
        struct node *node = arg;
        struct node  children[N_CHILDREN];
        uint32_t     n = node->depth ? N_CHILDREN : 0, from = sim_random(N_CHILDREN);

        for (uint32_t i = 0; i < n; i++) {
                children[i] = (struct node){ .depth = node->depth - 1 };
                node->ids[i] = sched_go(branch, &children[i]);
        }
        int64_t other = n ? sched_go(other_joiner, node) : 0;

        for (uint32_t i = 0; i < n; i++) {
                uint32_t k = (from + i) % N_CHILDREN;

                join_checked(node->ids[k]);
                node->sum += w_plain_load(&children[k].sum);
        }
        if (other)
                join_checked(other);
        node->sum++;
        note_end();
}

static void leaf(void *arg)
{
        (void)arg;
        if (sim_random(4) == 0)
                weft_yield();
        note_end();
}

static void burst(void)
{
        int64_t ids[N_BURST];

        for (uint32_t i = 0; i < N_BURST; i++)
                ids[i] = sched_go(leaf, NULL);
        for (uint32_t i = N_BURST; i-- > 0;)
                join_checked(ids[i]);
}

static void first(void *arg)
{
        struct node root = { .depth = DEPTH };

        (void)arg;
        SIM_CHECK(weft_id() == 1, "goroutine 1 is %ld", (long)weft_id());
        SIM_CHECK(weft_join(1) == -EDEADLK, "joined itself");
        SIM_CHECK(weft_join(MAX_ID) == -ESRCH, "joined an id that was never given");
        int64_t id = sched_go(branch, &root);

        burst();
        join_checked(id);
        uint32_t nodes = 1 + N_CHILDREN + N_CHILDREN * N_CHILDREN;
        uint32_t joiners = 1 + N_CHILDREN;

        SIM_CHECK(root.sum == nodes, "%u nodes of %u", root.sum, nodes);
        SIM_CHECK(n_ended == nodes + joiners + N_BURST, "%u ended", n_ended);
        for (int64_t i = 2; i < MAX_ID; i++)
                if (ended[i])
                        SIM_CHECK(weft_join(i) == 0, "an ended goroutine cannot be joined");
        SIM_CHECK(weft_count() == 1, "%ld goroutines are left", (long)weft_count());
}

static void spawn_main(void)
{
        n_ended = 0;
        for (int i = 0; i < MAX_ID; i++)
                ended[i] = false;
        sched_run_well(NULL, first);
}

SIM_SCENARIO(sched_spawn, "a tree of goroutines, joined twice, and more than a ring holds",
             spawn_main, .max_steps = SCHED_MAX_STEPS)

/* ---- Ids that end while they are looked up --------------------------------------------------- */

enum { N_SHORT = 24, N_OBSERVERS = 3 };

static int64_t short_ids[N_SHORT];
static w_atomic_u32 n_short;

static void short_life(void *arg)
{
        (void)arg;
        if (sim_random(2))
                sim_work(sim_random(300));
}

/* Unparks and joins what may end at this moment, or has, its page with it. */
static void observer(void *arg)
{
        (void)arg;
        for (uint32_t i = 0; i < N_SHORT; i++) {
                while (w_load_acq(&n_short) <= i)       /* scenario's own */
                        weft_yield();
                int rc = weft_unpark(short_ids[i]);

                SIM_CHECK(rc == 0 || rc == -ESRCH, "unpark returned %d", rc);
                sched_join(short_ids[i]);
                SIM_CHECK(weft_unpark(short_ids[i]) == -ESRCH, "found after its end");
        }
}

static void ids_first(void *arg)
{
        int64_t observers[N_OBSERVERS];

        (void)arg;
        w_store_rlx(&n_short, 0);
        for (uint32_t i = 0; i < N_OBSERVERS; i++)
                observers[i] = sched_go(observer, NULL);
        for (uint32_t i = 0; i < N_SHORT; i++) {
                short_ids[i] = sched_go(short_life, NULL);
                w_store_rel(&n_short, i + 1);           /* scenario's own */
        }
        for (uint32_t i = 0; i < N_OBSERVERS; i++)
                sched_join(observers[i]);
}

static void ids_main(void)
{
        sched_run_well(NULL, ids_first);
}

SIM_SCENARIO(sched_ids, "ids are looked up while their goroutines and pages go", ids_main,
             .max_steps = SCHED_MAX_STEPS)
