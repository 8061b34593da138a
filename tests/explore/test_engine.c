/* tests/explore/test_engine.c - the explorer counted: how many executions there are in scenarios
 * small enough to enumerate by hand, what the bounds cut, and that a trail replays.
 *
 * SPDX-License-Identifier: MIT
 */
#include "harness/test.h"

#include "base/atomic.h"
#include "os/explore/explore.h"
#include "os/os.h"

#include <string.h>

static w_atomic_u32 x, y, z;
static int          order, n_steps;

static void setup(void)
{
        x.raw = y.raw = z.raw = 0;
        order = n_steps = 0;
}

static void stores(w_atomic_u32 *word)
{
        w_store_rlx(word, 1);
        w_store_rlx(word, 2);
}

static void left(void)   { stores(&x); }
static void right(void)  { stores(&y); }
static void middle(void) { stores(&z); }

static struct explore_result *run(const struct explore_scenario *s, int bound, int stale)
{
        static struct explore_result result;
        struct explore_options       o = { .bound = bound, .stale = stale, .quiet = true };

        w_explore_run(s, &o, &result);
        return &result;
}

static uint64_t executions(const struct explore_scenario *s, int bound, int stale)
{
        struct explore_result *r = run(s, bound, stale);

        CHECK_EQ(r->failure, W_EXPLORE_OK);
        CHECK(r->complete);
        return r->executions;
}

/* Two threads of two stores each: LLRR and RRLL without a preemption, LRRL and RLLR with one, LRLR
 * and RLRL with two; that is all 4! / (2! 2!). */
TEST(explorer_finds_every_interleaving_of_two)
{
        static const struct explore_scenario s = {
                .name = "two", .threads = { { "left", left }, { "right", right } },
                .setup = setup,
        };

        CHECK_EQ(executions(&s, 0, -1), 2);
        CHECK_EQ(executions(&s, 1, -1), 4);
        CHECK_EQ(executions(&s, 2, -1), 6);
        CHECK_EQ(executions(&s, -1, -1), 6);
}

/* Three threads: 6! / (2! 2! 2!). */
TEST(explorer_finds_every_interleaving_of_three)
{
        static const struct explore_scenario s = {
                .name = "three",
                .threads = { { "left", left }, { "middle", middle }, { "right", right } },
                .setup = setup,
        };

        CHECK_EQ(executions(&s, 0, -1), 6);
        CHECK_EQ(executions(&s, -1, -1), 90);
}

static void peek(void) { (void)w_load_rlx(&x); }

/* One load against two stores: before, between and after, where it may read 1, 2 and 3 values. */
TEST(explorer_counts_stale_reads)
{
        static const struct explore_scenario s = {
                .name = "stale", .threads = { { "left", left }, { "look", peek } }, .setup = setup,
        };

        CHECK_EQ(executions(&s, -1, 0), 3);
        CHECK_EQ(executions(&s, -1, -1), 6);
}

static void wait_for_x(void)
{
        while (w_load_rlx(&x) != 2)
                n_steps++;
}

/* A waiting thread reads each old value a few times only, and never waits for a finished thread. */
TEST(explorer_makes_stores_visible_in_the_end)
{
        static const struct explore_scenario s = {
                .name = "visible", .threads = { { "left", left } , { "wait", wait_for_x } },
                .setup = setup, .may_spin = true,
        };
        struct explore_result *r = run(&s, 0, -1);

        CHECK_EQ(r->failure, W_EXPLORE_OK);
        CHECK(r->complete);
        CHECK(r->executions > r->pruned);
        CHECK(r->pruned > 0);
}

/* Accesses to a thread's own memory are no steps: the only choice is which thread begins. */
static void own_x(void)
{
        w_explore_own(&x, sizeof(x));
        stores(&x);
        CHECK_EQ(w_load_rlx(&x), 2);
}

static void own_y(void)
{
        w_explore_own(&y, sizeof(y));
        stores(&y);
}

TEST(explorer_makes_no_steps_in_memory_of_one_thread)
{
        static const struct explore_scenario s = {
                .name = "own", .threads = { { "left", own_x }, { "right", own_y } },
                .setup = setup,
        };

        CHECK_EQ(executions(&s, -1, -1), 2);
}

static void run_not_own(void *arg)
{
        static const struct explore_scenario s = {
                .name = "not own", .threads = { { "owner", own_x }, { "other", left } },
                .setup = setup,
        };

        (void)arg;
        (void)run(&s, -1, -1);
}

TEST(explorer_refuses_what_is_not_one_threads_own)
{
        test_expect_death(run_not_own, NULL, 6, "is not one thread's own");
}

/* An object in a frame that is entered again: the previous object at that address is forgotten. */
static void begin_again(void)
{
        stores(&x);
        x.raw = 7;
        w_store_rlx(&y, 1);
        order = (int)w_load_rlx(&x);
}

static void wait_for_new(void)
{
        if (w_load_rlx(&y))
                n_steps = (int)w_load_rlx(&x);
}

static int check_new(void)
{
        EXPLORE_CHECK(order == 7 && (n_steps == 0 || n_steps == 7));
        return n_steps == 7;
}

TEST(explorer_sees_a_new_object_at_an_old_address)
{
        static const struct explore_scenario s = {
                .name = "new life",
                .threads = { { "owner", begin_again }, { "other", wait_for_new } },
                .setup = setup, .check = check_new, .required = 3,
        };

        CHECK(executions(&s, -1, -1) > 0);
}

static void fail_in_the_middle(void)
{
        order = order * 10 + (int)w_load_rlx(&x);
        order = order * 10 + (int)w_load_rlx(&x);
        EXPLORE_CHECK(order != 12);
}

TEST(explorer_replays_a_failure)
{
        static const struct explore_scenario s = {
                .name = "replay", .threads = { { "left", left }, { "look", fail_in_the_middle } },
                .setup = setup,
        };
        struct explore_options o = { .bound = 2, .stale = -1, .quiet = true };
        struct explore_result  found, again;

        w_explore_run(&s, &o, &found);
        CHECK_EQ(found.failure, W_EXPLORE_ASSERTION);
        CHECK(strstr(found.text, "order != 12"));
        CHECK(w_explore_trail_ok(found.trail));
        o.replay = found.trail;
        w_explore_run(&s, &o, &again);
        CHECK_EQ(again.failure, W_EXPLORE_ASSERTION);
        CHECK_STR(again.trail, found.trail);
        CHECK_STR(again.text, found.text);
}

TEST(explorer_recognizes_a_trail)
{
        CHECK(w_explore_trail_ok("2:-:01az"));
        CHECK(w_explore_trail_ok("-:0:"));
        CHECK(!w_explore_trail_ok(""));
        CHECK(!w_explore_trail_ok("2"));
        CHECK(!w_explore_trail_ok("2:3"));
        CHECK(!w_explore_trail_ok("-2:3:0"));
        CHECK(!w_explore_trail_ok("2:3:0-1"));
}

static void call_what_is_not_there(void) { (void)w_os_cpu_count(0); }

static void run_refused(void *arg)
{
        static const struct explore_scenario s = {
                .name = "refused", .threads = { { "call", call_what_is_not_there } },
                .setup = setup,
        };

        (void)arg;
        (void)run(&s, 0, 0);
}

TEST(explorer_refuses_what_it_does_not_model_by_name)
{
        test_expect_death(run_refused, NULL, 6, "explorer: w_os_cpu_count is not modelled");
}

/* In every other execution it lets another thread go first. */
static void unsteady(void)
{
        static int n;

        if (++n % 2)
                w_os_yield();
        stores(&y);
}

static void run_unsteady(void *arg)
{
        static const struct explore_scenario s = {
                .name = "unsteady",
                .threads = { { "unsteady", unsteady }, { "look", peek }, { "left", left } },
                .setup = setup,
        };

        (void)arg;
        (void)run(&s, -1, -1);
}

TEST(explorer_notices_a_scenario_that_is_not_deterministic)
{
        test_expect_death(run_unsteady, NULL, 6, "the scenario is not deterministic");
}
