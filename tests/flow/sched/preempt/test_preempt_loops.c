/* tests/flow/sched/preempt/test_preempt_loops.c - loops that call nothing are held wherever they
 * are, and their results are right.
 *
 * A thread that computes is held at an arbitrary instruction, and goes on there with all that it
 * had in registers, while others run and the world stops.
 *
 * test: procs=1,2,4 valgrind=no
 * Valgrind reports the threads of a child that ends as leaks, and fails by its exit status. It also
 * takes a change from a goroutine's stack to a near signal stack and back for a large frame that
 * is gone, with everything between the two; told of both stacks it loses count of them.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/others.h"

enum { N_TURNS = 20000000 };

static uint64_t n_turns;        /* of each loop: some 10 ms */

#if defined(__clang__)
#define FRAMELESS __attribute__((noinline))
#else
#define FRAMELESS __attribute__((noinline, optimize("omit-frame-pointer")))
#endif

/* Calls nothing and has no frame, where the compiler can be told so. */
FRAMELESS static uint64_t leaf(uint64_t n)
{
        uint64_t x = 1;

        for (uint64_t i = 0; i < n; i++)
                x = x * 6364136223846793005u + (x >> 33);
        return x;
}

/* Nothing in it but a count, which is in a register. */
__attribute__((noinline)) static uint64_t empty(uint64_t n)
{
        uint64_t i = 0;

        for (; i < n; i++)
                __asm__ volatile("" : "+r"(i));
        return i;
}

/* What it has is in the registers of the floating-point unit; each bit of it counts. */
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

TEST(a_loop_without_a_frame_is_held)              { run_loops(leaf); }
TEST(an_empty_loop_is_held)                       { run_loops(empty); }
TEST(a_loop_in_floating_point_is_held)            { run_loops(floating); }
