/* tests/unit/test_os_futex.c - sleeping on a word, and the clock it is measured by.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/os.h"

enum { MS = 1000000 };

static w_atomic_u32 word;

TEST(wait_returns_if_the_word_differs)
{
        int rc;

        KEEPS_ERRNO(rc = w_os_futex_wait(&word, 1, W_FOREVER));
        CHECK_EQ(rc, 0);
        CHECK_EQ(w_os_futex_wait(&word, 1, w_os_now() + 3600ll * 1000 * MS), 0);
}

TEST(wait_times_out_and_never_early)
{
        for (int i = 0; i < 10; i++) {
                int64_t at = w_os_now() + MS + i * 100000;
                int     rc;

                KEEPS_ERRNO(rc = w_os_futex_wait(&word, 0, at));
                CHECK_EQ(rc, -ETIMEDOUT);
                CHECK(w_os_now() >= at);
        }
}

TEST(wait_for_a_time_that_has_passed_times_out_at_once)
{
        const int64_t past[] = { w_os_now() - 1, 1, 0, -1, INT64_MIN };

        for (size_t i = 0; i < W_ARRAY_LEN(past); i++)
                CHECK_EQ(w_os_futex_wait(&word, 0, past[i]), -ETIMEDOUT);
}

TEST(wait_for_a_passed_time_still_sees_that_the_word_differs)
{
        CHECK_EQ(w_os_futex_wait(&word, 1, 0), 0);
}

static void sleep_on_word(void *arg)
{
        w_atomic_u32 *n_returned = arg;

        while (w_load_acq(&word) == 0)
                CHECK_EQ(w_os_futex_wait(&word, 0, W_FOREVER), 0);
        w_add_acqrel(n_returned, 1);
}

TEST(wake_ends_a_wait_without_deadline)
{
        w_atomic_u32       n_returned = W_ATOMIC_INIT(0);
        struct w_os_thread sleeper;

        CHECK_EQ(w_os_thread_start(&sleeper, "sleeper", 0, sleep_on_word, &n_returned), 0);
        w_os_sleep_until(w_os_now() + MS);
        w_store_rel(&word, 1);
        w_os_futex_wake(&word, 1);
        w_os_thread_join(&sleeper);
        CHECK_EQ(w_load_acq(&n_returned), 1);
}

static void sleep_once(void *arg)
{
        (void)arg;
        CHECK_EQ(w_os_futex_wait(&word, 0, W_FOREVER), 0);
}

TEST(wake_wakes_no_more_than_asked_and_counts_them)
{
        enum { N = 3 };
        struct w_os_thread sleepers[N];
        int                total = 0;

        for (int i = 0; i < N; i++)
                CHECK_EQ(w_os_thread_start(&sleepers[i], "sleeper", 0, sleep_once, NULL), 0);
        while (total < N) {
                int n;

                KEEPS_ERRNO(n = w_os_futex_wake(&word, 1));
                CHECK(n == 0 || n == 1);
                total += n;
                w_os_yield();
        }
        for (int i = 0; i < N; i++)
                w_os_thread_join(&sleepers[i]);
        CHECK_EQ(w_os_futex_wake(&word, N), 0);
}

TEST(wake_at_memory_that_is_gone_wakes_no_thread)
{
        void  *p;
        size_t size = w_os_page_size();
        int    n;

        NOT_UNDER_VALGRIND("valgrind wants every futex to be in memory");
        CHECK_EQ(w_os_vm_map(&p, size), 0);
        w_os_vm_unmap(p, size);
        KEEPS_ERRNO(n = w_os_futex_wake(p, 1));
        CHECK_EQ(n, 0);
        KEEPS_ERRNO(n = w_os_futex_wake((w_atomic_u32 *)(UINTPTR_MAX - 3), 1));
        CHECK_EQ(n, 0);
}

static void wait_nowhere(void *arg)
{
        (void)w_os_futex_wait(arg, 0, W_FOREVER);
}

TEST(wait_on_a_bad_address_is_fatal)
{
        void  *p;
        size_t size = w_os_page_size();

        CHECK_EQ(w_os_vm_map(&p, size), 0);
        CHECK_EQ(w_os_vm_guard_heavy(p, size), 0);
        test_expect_death(wait_nowhere, p, SIGABRT, "weft: fatal: futex wait on");
}

/* ---- Signals --------------------------------------------------------------------------------- */

TEST(signals_do_not_shorten_a_timed_wait)
{
        struct os_storm storm;

        os_storm_start(&storm);
        do {
                int64_t at = w_os_now() + 8 * MS;

                CHECK_EQ(w_os_futex_wait(&word, 0, at), -ETIMEDOUT);
                CHECK(w_os_now() >= at);
        } while (os_storm_seen() < 3);
        os_storm_stop(&storm);
}

static void wake_late(void *arg)
{
        (void)arg;
        w_os_sleep_until(w_os_now() + 10 * MS);
        w_store_rel(&word, 1);
        while (w_os_futex_wake(&word, 1) == 0 && w_load_acq(&word) != 2)
                w_os_yield();
}

TEST(signals_do_not_end_an_endless_wait)
{
        struct os_storm       storm;
        struct w_os_thread waker;

        os_storm_start(&storm);
        CHECK_EQ(w_os_thread_start(&waker, "waker", 0, wake_late, NULL), 0);
        CHECK_EQ(w_os_futex_wait(&word, 0, W_FOREVER), 0);
        CHECK_EQ(w_load_acq(&word), 1);
        w_store_rel(&word, 2);
        w_os_thread_join(&waker);
        os_storm_stop(&storm);
}

/* ---- The clock ------------------------------------------------------------------------------- */

TEST(now_is_the_monotonic_clock)
{
        struct timespec ts;
        int64_t         before, after;

        KEEPS_ERRNO(before = w_os_now());
        CHECK(clock_gettime(CLOCK_MONOTONIC, &ts) == 0);
        after = w_os_now();
        int64_t between = (int64_t)ts.tv_sec * 1000 * MS + ts.tv_nsec;
        CHECK(before <= between && between <= after);
}

TEST(now_never_goes_back)
{
        int64_t last = w_os_now();

        for (int i = 0; i < 10000; i++) {
                int64_t now = w_os_now();

                CHECK(now >= last);
                last = now;
        }
}

TEST(sleep_until_is_never_early)
{
        for (int i = 0; i < 10; i++) {
                int64_t at = w_os_now() + MS;

                KEEPS_ERRNO(w_os_sleep_until(at));
                CHECK(w_os_now() >= at);
        }
}

TEST(sleep_until_the_past_returns)
{
        w_os_sleep_until(w_os_now() - 1);
        w_os_sleep_until(0);
        w_os_sleep_until(-1);
        w_os_sleep_until(INT64_MIN);
}

TEST(signals_do_not_shorten_a_sleep)
{
        struct os_storm storm;

        os_storm_start(&storm);
        do {
                int64_t at = w_os_now() + 8 * MS;

                w_os_sleep_until(at);
                CHECK(w_os_now() >= at);
        } while (os_storm_seen() < 3);
        os_storm_stop(&storm);
}
