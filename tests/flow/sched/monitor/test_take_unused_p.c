/* tests/flow/sched/monitor/test_take_unused_p.c - work that waits behind a goroutine that computes
 * gets the P of a goroutine that does not use its P.
 *
 * Every P is with a goroutine that stays in user code. Half of them compute, the other half block
 * or are in a region. Then a computing goroutine queues a goroutine or arms a timer, on its own P.
 *
 * test: procs=1,2,4
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/sync.h"

#include <unistd.h>

#define LONG_NS 30000000000

enum { SOON_NS = 5000000, PROCS_MAX = 16 };

static w_atomic_u32 n_at_it, n_behind, go_on;
static int          ends[2];
static bool         in_region, by_timer;

static int n_ps(void)
{
        return sched_procs() < 2 ? 2 : sched_procs();
}

static void behind(void *arg)
{
        (void)arg;
        w_add_acqrel(&n_behind, 1);
}

/* Makes no call of weft from here on. */
static void arrive(void)
{
        w_add_acqrel(&n_at_it, 1);
}

static bool spin_until(w_atomic_u32 *word, uint32_t n)
{
        int64_t until = w_os_now() + LONG_NS;

        while (w_load_acq(word) < n && w_os_now() < until)
                w_cpu_pause();
        return w_load_acq(word) >= n;
}

static void computes(void *arg)
{
        (void)arg;
        arrive();
        while (!w_load_acq(&go_on))
                w_cpu_pause();
}

static void blocks(void *arg)
{
        char c;

        (void)arg;
        if (in_region)
                weft_block_begin();
        arrive();
        CHECK_EQ(test_read(ends[0], &c, 1), 1);
        if (in_region)
                weft_block_end();
}

static void first(void *arg)
{
        int         n = n_ps(), n_block = n / 2;
        int64_t     ids[PROCS_MAX];
        weft_timer *timer = NULL;

        (void)arg;
        for (int i = 1; i < n; i++)
                ids[i] = sched_go(i <= n_block ? blocks : computes, NULL);
        arrive();
        CHECK(spin_until(&n_at_it, (uint32_t)n));
        if (by_timer)
                timer = weft_timer_new(SOON_NS, behind, NULL);
        else
                (void)sched_go(behind, NULL);
        bool passed = spin_until(&n_behind, 1);

        CHECK_EQ(write(ends[1], "12345678", (size_t)n_block), n_block);
        w_store_rel(&go_on, 1);
        CHECK_MSG(passed, "the waiting work was not run");
        for (int i = 1; i < n; i++)
                sched_join(ids[i]);
        weft_timer_free(timer);
        CHECK_EQ(weft_check(), 0);
}

static void run(int preempt, bool region, bool timer)
{
        weft_config cfg = { .procs = n_ps(), .preempt = preempt };

        in_region = region;
        by_timer = timer;
        test_set_dump(sched_dump);
        CHECK_EQ(pipe(ends), 0);
        CHECK_EQ(sched_run_left(&cfg, first, NULL), 0);
}

#define OFF     WEFT_PREEMPT_OFF
#define BLOCKED WEFT_PREEMPT_BLOCKED
#define ALL     WEFT_PREEMPT_ALL

TEST(a_blocked_m_gives_way_for_work_elsewhere_if_blocked)   { run(BLOCKED, false, false); }
TEST(a_blocked_m_gives_way_for_timers_elsewhere_if_blocked) { run(BLOCKED, false, true); }
TEST(a_blocked_m_gives_way_for_work_elsewhere_if_all)       { run(ALL, false, false); }
TEST(a_blocked_m_gives_way_for_timers_elsewhere_if_all)     { run(ALL, false, true); }
TEST(regions_make_way_for_work_elsewhere_if_off)            { run(OFF, true, false); }
TEST(regions_make_way_for_timers_elsewhere_if_off)          { run(OFF, true, true); }
TEST(regions_make_way_for_work_elsewhere_if_blocked)        { run(BLOCKED, true, false); }
TEST(regions_make_way_for_timers_elsewhere_if_blocked)      { run(BLOCKED, true, true); }
