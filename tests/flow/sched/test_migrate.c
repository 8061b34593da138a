/* tests/flow/sched/test_migrate.c - a goroutine that moves: what belongs to it, and what to its
 * thread.
 *
 * With WEFT_DEBUG=migrate=1 every switch ends with the P in the hands of another thread, even at
 * one P, and yields go through the global queue: a goroutine is on another thread after most.
 *
 * test: procs=1,2,4 libs=m
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/sched.h"

#include <fenv.h>
#include <string.h>

/* An odd number: with two threads taking turns, a round of all brings each to the other thread. */
enum { N_GOROUTINES = 15, N_YIELDS = 300 };

static w_atomic_u32 n_moves;

/* Read anew each time: nothing may be saved across a yield. */
static _Thread_local int thread_id_slot;

static W_NOIPA int *slot_of_this_thread(void)
{
        return &thread_id_slot;
}

static W_NOIPA double third(void)
{
        volatile double one = 1.0, three = 3.0;

        return one / three;
}

static void check_thread_locals(void)
{
        int *slot = slot_of_this_thread();

        if (*slot == 0)
                *slot = w_os_tid();
        CHECK_EQ(*slot, w_os_tid());
}

static void yield_and_look(void)
{
        pid_t before = w_os_tid();

        weft_yield();
        if (w_os_tid() != before)
                w_add_acqrel(&n_moves, 1);
}

/* errno through the macro of weft.h, set and read in one function that moves in between. */
static void check_errno(int value)
{
        errno = value;
        yield_and_look();
        CHECK_EQ(errno, value);
        errno = value + 1;
        yield_and_look();
        CHECK_EQ(errno, value + 1);
}

static void check_rounding(int mode)
{
        double before;

        CHECK(fesetround(mode) == 0);
        before = third();
        yield_and_look();
        CHECK_EQ(fegetround(), mode);
        double after = third();

        CHECK(memcmp(&before, &after, sizeof(before)) == 0);
}

static void move_about(void *arg)
{
        static const int modes[] = { FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO };
        intptr_t         me = (intptr_t)arg;

        CHECK_EQ(errno, 0);
        CHECK_EQ(fegetround(), FE_TONEAREST);
        for (int i = 0; i < N_YIELDS; i++) {
                check_errno((int)me * 1000 + i);
                check_rounding(modes[(me + i) % 4]);
                check_thread_locals();
        }
}

static void main_migrates(void *arg)
{
        int64_t ids[N_GOROUTINES];

        (void)arg;
        for (intptr_t i = 0; i < N_GOROUTINES; i++)
                ids[i] = sched_go(move_about, (void *)(i + 1));
        for (int i = 0; i < N_GOROUTINES; i++)
                sched_join(ids[i]);
        CHECK_EQ(fegetround(), FE_TONEAREST);
}

/* Without real moves this test would show nothing: there must be many. Where the kernel lets few
 * threads run at a time one run may have too few. */
TEST(errno_rounding_and_thread_locals_after_moves)
{
        enum { ENOUGH = N_GOROUTINES * N_YIELDS / 10, RUNS_MAX = 20 };

        setenv("WEFT_DEBUG", "migrate=1", 1);
        for (int i = 0; i < RUNS_MAX && w_load_acq(&n_moves) < ENOUGH; i++)
                sched_run(main_migrates, NULL);
        uint32_t found = w_load_acq(&n_moves);

        printf("%u moves\n", found);
        CHECK_MSG(found >= ENOUGH, "%u moves", found);
}

TEST(errno_rounding_and_thread_locals_after_chance_moves)
{
        sched_run(main_migrates, NULL);
}

/* Different orders, same results. */
TEST(errno_rounding_and_thread_locals_with_randomized_queues)
{
        setenv("WEFT_DEBUG", "migrate=1,randomize=12345", 1);
        sched_run(main_migrates, NULL);
}

/* ---- Park instead of yield ------------------------------------------------------------------- */

static int64_t  ring[N_GOROUTINES];
static uint64_t n_passed;       /* written by the goroutine that has the token */

static void pass_on(void *arg)
{
        intptr_t me = (intptr_t)arg;

        CHECK(fesetround(FE_UPWARD) == 0);
        for (int i = 0; i < N_YIELDS; i++) {
                errno = (int)me;
                CHECK_EQ(weft_park(), 0);
                CHECK_EQ(errno, me);
                CHECK_EQ(fegetround(), FE_UPWARD);
                check_thread_locals();
                n_passed++;
                int64_t next = ring[(me + 1) % N_GOROUTINES];

                if (n_passed < (uint64_t)N_GOROUTINES * N_YIELDS)
                        CHECK_EQ(weft_unpark(next), 0);
        }
}

static void main_ring(void *arg)
{
        (void)arg;
        for (intptr_t i = 0; i < N_GOROUTINES; i++)
                ring[i] = sched_go(pass_on, (void *)i);
        for (int i = 0; i < N_GOROUTINES; i++)
                sched_await_parked(ring[i]);
        CHECK_EQ(weft_unpark(ring[0]), 0);
        for (int i = 0; i < N_GOROUTINES; i++)
                sched_join(ring[i]);
        CHECK_EQ(n_passed, (uint64_t)N_GOROUTINES * N_YIELDS);
}

TEST(a_token_that_goes_round_finds_every_goroutine_intact)
{
        setenv("WEFT_DEBUG", "migrate=1", 1);
        sched_run(main_ring, NULL);
}
