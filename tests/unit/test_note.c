/* tests/unit/test_note.c - sleep and wake of one thread by another.
 *
 * SPDX-License-Identifier: MIT
 */
#include "harness/test.h"

#include "base/note.h"
#include "os/os.h"

enum { STACK = 64 << 10, ROUNDS = 200 };

static const int64_t MS = 1000000;

static struct note there, back;
static int         data;

TEST(note_wake_before_sleep_is_not_lost)
{
        w_note_wake(&there);
        w_note_sleep(&there);
}

TEST(note_sleep_until_a_passed_deadline_ends_at_once)
{
        CHECK(!w_note_sleep_until(&there, w_os_now() - 1));
        w_note_wake(&there);
        CHECK(w_note_sleep_until(&there, w_os_now() - 1));
}

TEST(note_sleep_until_does_not_end_early)
{
        int64_t at = w_os_now() + 5 * MS;

        CHECK(!w_note_sleep_until(&there, at));
        CHECK(w_os_now() >= at);
}

static void wake_twice(void *arg)
{
        (void)arg;
        w_note_wake(&there);
        w_note_wake(&there);
}

TEST(note_second_wake_is_fatal)
{
        test_expect_death(wake_twice, NULL, 6, "woken twice");
}

static void wake_late(void *arg)
{
        (void)arg;
        w_os_sleep_until(w_os_now() + 5 * MS);
        data = 42;
        w_note_wake(&there);
}

TEST(note_wakes_a_thread_that_sleeps)
{
        struct w_os_thread t;

        CHECK_EQ(w_os_thread_start(&t, "waker", STACK, wake_late, NULL), 0);
        w_note_sleep(&there);
        CHECK_EQ(data, 42);
        w_os_thread_join(&t);
}

TEST(note_wakes_a_thread_that_sleeps_with_a_deadline)
{
        struct w_os_thread t;

        CHECK_EQ(w_os_thread_start(&t, "waker", STACK, wake_late, NULL), 0);
        CHECK(w_note_sleep_until(&there, w_os_now() + 30000 * MS));
        CHECK_EQ(data, 42);
        w_os_thread_join(&t);
}

static void answer(void *arg)
{
        (void)arg;
        for (int i = 0; i < ROUNDS; i++) {
                w_note_sleep(&there);
                w_note_clear(&there);
                CHECK_EQ(data, 2 * i + 1);
                data = 2 * i + 2;
                w_note_wake(&back);
        }
}

TEST(note_hands_plain_data_there_and_back)
{
        struct w_os_thread t;

        CHECK_EQ(w_os_thread_start(&t, "answer", STACK, answer, NULL), 0);
        for (int i = 0; i < ROUNDS; i++) {
                data = 2 * i + 1;
                w_note_wake(&there);
                w_note_sleep(&back);
                w_note_clear(&back);
                CHECK_EQ(data, 2 * i + 2);
        }
        w_os_thread_join(&t);
}

enum { N_POKERS = 3 };
static w_atomic_u32 left;

static void poke_often(void *arg)
{
        (void)arg;
        for (int i = 0; i < ROUNDS; i++) {
                w_add_rlx(&left, 1);
                w_note_poke(&there);
        }
}

TEST(note_that_several_poke_misses_none)
{
        struct w_os_thread t[N_POKERS];
        uint32_t           found = 0;

        for (int i = 0; i < N_POKERS; i++)
                CHECK_EQ(w_os_thread_start(&t[i], "poker", STACK, poke_often, NULL), 0);
        while (found < N_POKERS * ROUNDS) {
                w_note_sleep(&there);
                w_note_take(&there);
                found += w_xchg_rlx(&left, 0);
        }
        CHECK_EQ(found, N_POKERS * ROUNDS);
        for (int i = 0; i < N_POKERS; i++)
                w_os_thread_join(&t[i]);
}
