/* tests/flow/stack/test_stack_inherit.c - a goroutine that continues with the stack of an ended
 * goroutine finds nothing of it: no errno, no rounding mode, no local values, no name.
 *
 * At one P the goroutines of these tests follow each other on one stack; at more Ps mostly.
 *
 * test: procs=1,2,4 libs=m
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/sched.h"

#include <errno.h>
#include <fenv.h>
#include <string.h>

enum { N = 20 };

static weft_key      key;
static w_atomic_u32  n_clean, n_destroyed, n_same_place;
static W_ATOMIC(void *) last_frame;

static void count_destroyed(void *value)
{
        CHECK(value == &key);
        w_add_rlx(&n_destroyed, 1);
}

/* Checks what it inherited, then leaves all that it can leave to the next goroutine. */
static void tenant(void *arg)
{
        volatile char here = 0;

        CHECK_EQ(errno, 0);
        CHECK_EQ(fegetround(), FE_TONEAREST);
        CHECK(weft_local_get(key) == NULL);
        CHECK(strlen(w_g_cold(w_g())->name) == 0);
        CHECK(w_g_cold(w_g())->fn.plain == tenant);
        CHECK(w_g_cold(w_g())->arg == arg);
        if (w_xchg_rlx(&last_frame, (void *)(uintptr_t)&here) == (void *)(uintptr_t)&here)
                w_add_rlx(&n_same_place, 1);
        w_add_rlx(&n_clean, 1);
        errno = EBADF;
        CHECK_EQ(fesetround(FE_UPWARD), 0);
        CHECK_EQ(weft_local_set(key, &key), 0);
        weft_name("the one before");
}

static void follow_each_other(void *arg)
{
        int64_t ids[N];

        (void)arg;
        CHECK_EQ(weft_key_new(&key, count_destroyed), 0);
        for (int i = 0; i < N; i++)
                ids[i] = sched_go(tenant, &ids[i]);
        for (int i = 0; i < N; i++)
                sched_join(ids[i]);
        CHECK_EQ(w_load_acq(&n_clean), N);
        CHECK_EQ(w_load_acq(&n_destroyed), N);
        weft_key_free(key);
}

TEST(nothing_is_left_of_the_goroutine_before)
{
        sched_run(follow_each_other, NULL);
#if !defined(W_TSAN) && !defined(W_ASAN)
        if (sched_procs() == 1)         /* so that this test tests what it says */
                CHECK(w_load_acq(&n_same_place) > N / 2);
#endif
}

/* ---- A copied argument leaves less room: no goroutine follows on that stack ------------------ */

static void with_copy(void *arg)
{
        CHECK_EQ(*(unsigned char *)arg, 7);
}

static void deep(void *arg)
{
        volatile char room[8 * 1024];

        (void)arg;
        memset((char *)(uintptr_t)room, 1, sizeof(room));
        w_add_rlx(&n_clean, 1);
}

static void copies_and_others(void *arg)
{
        unsigned char copy[4096] = { 7 };
        int64_t       ids[2 * N];

        (void)arg;
        for (int i = 0; i < N; i++) {
                ids[2 * i] = weft_go_copy(with_copy, copy, sizeof(copy));
                CHECK(ids[2 * i] > 0);
                ids[2 * i + 1] = sched_go(deep, NULL);
        }
        for (int i = 0; i < 2 * N; i++)
                sched_join(ids[i]);
        CHECK_EQ(w_load_acq(&n_clean), N);
}

TEST(a_copied_argument_takes_no_room_from_the_next)
{
        weft_config config = { .procs = sched_procs(), .stack_size = 16 * 1024 };

#if defined(W_ASAN) || defined(W_TSAN)
        test_skip("frames of instrumented code are larger than this stack");
#endif
        CHECK_EQ(sched_run_left(&config, copies_and_others, NULL), 0);
}

/* ---- Ends that others wait for, and weft_exit from below ------------------------------------- */

static void exits_from_below(void *arg)
{
        (void)arg;
        w_add_rlx(&n_clean, 1);
        weft_exit();
}

GO_TEST(returns_and_exits_take_turns)
{
        int64_t ids[3 * N];

        for (int i = 0; i < 3 * N; i++)
                ids[i] = sched_go(i % 3 == 0 ? exits_from_below : deep, NULL);
        for (int i = 3 * N; i-- > 0;)
                sched_join(ids[i]);
        CHECK_EQ(w_load_acq(&n_clean), 3 * N);
        CHECK_EQ(weft_count(), 1);
        CHECK_EQ(weft_check(), 0);
}
