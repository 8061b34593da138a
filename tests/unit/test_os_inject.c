/* tests/unit/test_os_inject.c - the k-th call fails, and only that one.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/os.h"

TEST(once_fails_the_kth_call_of_its_kind)
{
        NEEDS_INJECTION();
        w_inject_once(W_CALL_MMAP, 3, ENOMEM);
        CHECK_EQ(w_inject_point(W_CALL_MMAP), 0);
        CHECK_EQ(w_inject_point(W_CALL_MADVISE), 0);
        CHECK_EQ(w_inject_point(W_CALL_MMAP), 0);
        CHECK_EQ(w_inject_point(W_CALL_MMAP), -ENOMEM);
        CHECK_EQ(w_inject_point(W_CALL_MMAP), 0);
        CHECK_EQ(w_inject_hits(), 1);
        CHECK_EQ(w_inject_calls(W_CALL_MMAP), 4);
        CHECK_EQ(w_inject_calls(W_CALL_MADVISE), 1);
        CHECK_EQ(w_inject_calls(W_CALL_ANY), 5);
}

TEST(from_fails_every_later_call_too)
{
        NEEDS_INJECTION();
        w_inject_from(W_CALL_THREAD, 2, EAGAIN);
        CHECK_EQ(w_inject_point(W_CALL_THREAD), 0);
        for (int i = 0; i < 3; i++)
                CHECK_EQ(w_inject_point(W_CALL_THREAD), -EAGAIN);
        CHECK_EQ(w_inject_point(W_CALL_MMAP), 0);
        CHECK_EQ(w_inject_hits(), 3);
}

TEST(any_counts_calls_of_all_kinds)
{
        NEEDS_INJECTION();
        w_inject_once(W_CALL_ANY, 2, EPERM);
        CHECK_EQ(w_inject_point(W_CALL_MMAP), 0);
        CHECK_EQ(w_inject_point(W_CALL_MEMBARRIER), -EPERM);
        CHECK_EQ(w_inject_point(W_CALL_MMAP), 0);
}

TEST(nothing_fails_unless_asked_for)
{
        NEEDS_INJECTION();
        for (int kind = 0; kind < W_N_CALLS; kind++)
                CHECK_EQ(w_inject_point((enum w_os_call)kind), 0);
        CHECK_EQ(w_inject_calls(W_CALL_ANY), W_N_CALLS);
        CHECK_EQ(w_inject_hits(), 0);
}

TEST(off_forgets_the_request_and_the_counts)
{
        NEEDS_INJECTION();
        w_inject_from(W_CALL_ANY, 1, EPERM);
        CHECK_EQ(w_inject_point(W_CALL_OPEN), -EPERM);
        w_inject_off();
        CHECK_EQ(w_inject_calls(W_CALL_ANY), 0);
        CHECK_EQ(w_inject_hits(), 0);
        CHECK_EQ(w_inject_point(W_CALL_OPEN), 0);
}

static void ask_for_the_impossible(void *arg)
{
        (void)arg;
        w_inject_once(W_CALL_MMAP, 0, ENOMEM);
}

TEST(request_without_sense_is_fatal)
{
        NEEDS_INJECTION();
        test_expect_death(ask_for_the_impossible, NULL, SIGABRT, "bad injection");
}

enum { N_THREADS = 4, N_CALLS_EACH = 1000 };

static void make_calls(void *arg)
{
        w_atomic_u32 *n_refused = arg;

        for (int i = 0; i < N_CALLS_EACH; i++)
                if (w_inject_point(W_CALL_MMAP) < 0)
                        w_add_rlx(n_refused, 1);
}

TEST(one_call_of_many_threads_fails)
{
        struct w_os_thread threads[N_THREADS];
        w_atomic_u32       n_refused = W_ATOMIC_INIT(0);

        NEEDS_INJECTION();
        w_inject_once(W_CALL_MMAP, 1777, ENOMEM);
        for (int i = 0; i < N_THREADS; i++)
                CHECK_EQ(w_os_thread_start(&threads[i], "calls", 0, make_calls, &n_refused), 0);
        for (int i = 0; i < N_THREADS; i++)
                w_os_thread_join(&threads[i]);
        CHECK_EQ(w_load_rlx(&n_refused), 1);
        CHECK_EQ(w_inject_hits(), 1);
        CHECK_EQ(w_inject_calls(W_CALL_MMAP), N_THREADS * N_CALLS_EACH);
}
