/* tests/flow/sched/preempt/test_preempt_loops.c - loops that call nothing are preempted wherever
 * they are, and their results are right.
 *
 * A thread that computes is stopped at an arbitrary instruction, and goes on there with all its
 * registers, while other goroutines run and the world stops.
 *
 * test: procs=1,2,4 valgrind=no
 * Valgrind reports the threads of a child that ends as leaks, and fails by its exit status. It also
 * takes a change from a goroutine's stack to a near signal stack and back for a large frame that
 * is gone, with everything between the two; with both stacks registered it loses count.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/others.h"

enum { N_TURNS = 20000000 };

static uint64_t n_turns;        /* of each loop: about 10 ms */

#if defined(__clang__)
#define FRAMELESS __attribute__((noinline))
#else
#define FRAMELESS __attribute__((noinline, optimize("omit-frame-pointer")))
#endif

/* Calls nothing and has no frame, if the compiler has an attribute for that. */
FRAMELESS static uint64_t leaf(uint64_t n)
{
        uint64_t x = 1;

        for (uint64_t i = 0; i < n; i++)
                x = x * 6364136223846793005u + (x >> 33);
        return x;
}

/* Nothing but a count, in a register. */
__attribute__((noinline)) static uint64_t empty(uint64_t n)
{
        uint64_t i = 0;

        for (; i < n; i++)
                __asm__ volatile("" : "+r"(i));
        return i;
}

/* Its data is in floating-point registers; each bit counts. */
__attribute__((noinline)) static uint64_t floating(uint64_t n)
{
        union {
                double   d;
                uint64_t bits;
        } sum = { .d = 0 };
        double x = 1;

        for (uint64_t i = 0; i < n; i++) {
                x = x * 1.0000001 + 0.1;
                sum.d += 1 / x;
        }
        return sum.bits;
}

static uint64_t (*shape)(uint64_t);
static uint64_t expected;

static void loop_on(void *arg)
{
        (void)arg;
        while (!w_load_acq(&others_done))
                CHECK_EQ(shape(n_turns), expected);
}

static bool may_be_preempted(void)
{
#if defined(W_TSAN) || (defined(W_ASAN) && defined(__clang__))
        return false;           /* signals are delayed, or malloc is the program's own */
#endif
        return !test_is_emulated();
}

static uint64_t n_held(void)
{
        weft_stats_t st = { .size = sizeof(st) };

        CHECK_EQ(weft_stats(&st), 0);
        return st.preemptions;
}

static void main_loops(void *arg)
{
        int64_t ids[OTHERS_STUCK_MAX];

        (void)arg;
        for (uint32_t i = 0; i < others_more_than_ps(); i++)
                ids[i] = sched_go(loop_on, NULL);
        for (int i = 0; i < 20 || (may_be_preempted() && n_held() < 5); i++) {
                CHECK_EQ(weft_check(), 0);
                CHECK_EQ(weft_sleep(WEFT_MS(1)), 0);
        }
        w_store_rel(&others_done, 1);
        for (uint32_t i = 0; i < others_more_than_ps(); i++)
                sched_join(ids[i]);
}

static void run_loops(uint64_t (*fn)(uint64_t))
{
        n_turns = (uint64_t)test_scale(N_TURNS);
        shape = fn;
        expected = fn(n_turns);
        sched_run(main_loops, NULL);
}

TEST(a_loop_without_a_frame_is_preempted)   { run_loops(leaf); }
TEST(an_empty_loop_is_preempted)            { run_loops(empty); }
TEST(a_loop_in_floating_point_is_preempted) { run_loops(floating); }
