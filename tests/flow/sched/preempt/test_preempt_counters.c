/* tests/flow/sched/preempt/test_preempt_counters.c - hand-offs of Ps and preemptions are counted,
 * and no sum goes down.
 *
 * test: procs=1,2,4 valgrind=no
 * Valgrind reports the threads of a child that ends as leaks, and fails by its exit status. It also
 * takes a change from a goroutine's stack to a near signal stack and back for a large frame that
 * is gone, with everything between the two; with both stacks registered it loses count.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/sched.h"

static w_atomic_u32 over;
static w_atomic_u32 n_turns;

/* The counters now; none is less than before. */
static weft_stats_t counted(void)
{
        static weft_stats_t before;
        weft_stats_t        st = { .size = sizeof(st) };

        CHECK_EQ(weft_stats(&st), 0);
        CHECK(st.handoffs >= before.handoffs && st.takes >= before.takes);
        CHECK(st.preemptions >= before.preemptions && st.switches >= before.switches);
        before = st;
        return st;
}

static void run_at_one_p(void (*fn)(void *))
{
        weft_config cfg = { .procs = 1, .preempt = WEFT_PREEMPT_ALL, .shutdown_ms = 300000 };

        test_set_dump(sched_dump);
        CHECK_EQ(sched_run_left(&cfg, fn, NULL), 0);
}

static void take_turns(void *arg)
{
        (void)arg;
        while (!w_load_acq(&over)) {
                w_add_acqrel(&n_turns, 1);
                weft_yield();
        }
}

/* ---- Preemptions ----------------------------------------------------------------------------- */

static void compute(void *arg)
{
        (void)arg;
        while (!w_load_acq(&over))
                continue;
}

/* The three are preempted in turn, while this goroutine sleeps and while it is ready. */
static void main_computes(void *arg)
{
        enum { N = 3 };
        int64_t ids[N];

        (void)arg;
        CHECK_EQ(counted().preemptions, 0);
        for (int i = 0; i < N; i++)
                ids[i] = sched_go(compute, NULL);
        while (counted().preemptions < 2 * N)
                CHECK_EQ(weft_sleep(WEFT_MS(1)), 0);
        CHECK(counted().handoffs > 0);  /* from a preempted M to the next */
        w_store_rel(&over, 1);
        for (int i = 0; i < N; i++)
                sched_join(ids[i]);
}

TEST(stopped_threads_are_preemptions)
{
#if defined(W_TSAN)
        test_skip("ThreadSanitizer delays signals: no thread is stopped");
#endif
        run_at_one_p(main_computes);
}

static void be_in_regions(void *arg)
{
        (void)arg;
        while (!w_load_acq(&over)) {
                weft_block_begin();
                weft_block_end();
        }
}

/* Each of its turns begins when the other goroutine was asked to yield. */
static void main_beside_regions(void *arg)
{
        int64_t id = sched_go(be_in_regions, NULL);

        (void)arg;
        while (counted().preemptions < 3)
                weft_yield();
        w_store_rel(&over, 1);
        sched_join(id);
}

TEST(regions_that_end_with_a_yield_for_others_are_preemptions)
{
        run_at_one_p(main_beside_regions);
}

/* Asks as the monitor does. The monitor may ask as well, or have taken the P. */
static void main_checkpoint(void *arg)
{
        enum { N = 100 };
        int64_t id = sched_go(take_turns, NULL);

        (void)arg;
        for (int i = 0; i < N; i++) {
                struct p *pp = w_p();

                if (pp)
                        w_or_rlx(&pp->attention, W_ATTENTION_YIELD);      /* hint */
                CHECK(weft_checkpoint() == 1 || !pp);
        }
        CHECK(counted().preemptions > N / 2);
        w_store_rel(&over, 1);
        sched_join(id);
}

TEST(checkpoints_that_yield_for_others_are_preemptions)
{
        run_at_one_p(main_checkpoint);
}

/* ---- Hand-offs ------------------------------------------------------------------------------- */

/* The other goroutine gets its first turn after the P was taken from this one. */
static void main_region(void *arg)
{
        int64_t      id = sched_go(take_turns, NULL);
        weft_stats_t before = counted();

        (void)arg;
        weft_block_begin();
        while (!w_load_acq(&n_turns))
                w_os_sleep_until(w_os_now() + 100000);
        weft_block_end();
        CHECK(counted().takes > before.takes && counted().handoffs > before.handoffs);
        w_store_rel(&over, 1);
        sched_join(id);
}

TEST(a_region_that_is_retaken_is_a_hand_off)
{
        run_at_one_p(main_region);
}

enum { N_YIELDS = 50 };

static void yield_locked(void *arg)
{
        (void)arg;
        weft_thread_lock();
        for (int i = 0; i < N_YIELDS; i++)
                weft_yield();
        weft_thread_unlock();
}

/* Each time its thread hands the P off, and the M that finds it hands the P over. */
static void main_locked(void *arg)
{
        int64_t  other = sched_go(take_turns, NULL);
        uint64_t before = counted().handoffs;

        (void)arg;
        sched_join(sched_go(yield_locked, NULL));
        CHECK(counted().handoffs >= before + 2 * N_YIELDS);
        w_store_rel(&over, 1);
        sched_join(other);
}

TEST(a_goroutine_that_is_locked_to_its_thread_has_the_p_handed_to_it)
{
        run_at_one_p(main_locked);
}
