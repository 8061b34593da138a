/* tests/flow/sched/test_go.c - the life of goroutines: spawn, join, ids, names, yield, exit, errno.
 *
 * test: procs=1,2,4
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/sched.h"

#include <signal.h>
#include <string.h>

static w_atomic_u32 n_ran;

static void count(void *arg)
{
        (void)arg;
        w_add_acqrel(&n_ran, 1);
}

/* ---- Spawn and join -------------------------------------------------------------------------- */

static void set_word(void *arg)
{
        *(int *)arg = 4711;
}

GO_TEST(go_runs_and_join_sees_what_it_did)
{
        int value = 0;

        sched_join(sched_go(set_word, &value));
        CHECK_EQ(value, 4711);
}

GO_TEST(join_of_an_ended_goroutine_returns_at_once)
{
        int64_t id = sched_go(count, NULL);

        for (int i = 0; i < 3; i++)
                sched_join(id);
        CHECK_EQ(w_load_acq(&n_ran), 1);
        for (int i = 0; i < 100; i++)
                sched_join(sched_go(count, NULL));
        sched_join(id);         /* its batch of ids has long been retired */
}

static void join_it(void *arg)
{
        sched_join(*(int64_t *)arg);
        w_add_acqrel(&n_ran, 1);
}

static void park_once(void *arg)
{
        (void)arg;
        CHECK_EQ(weft_park(), 0);
}

GO_TEST(many_join_one)
{
        enum { N_JOINERS = 50 };
        int64_t target = sched_go(park_once, NULL), joiners[N_JOINERS];

        for (int i = 0; i < N_JOINERS; i++)
                joiners[i] = sched_go(join_it, &target);
        for (int i = 0; i < N_JOINERS; i++)
                sched_await_parked(joiners[i]);
        CHECK_EQ(w_load_acq(&n_ran), 0);
        CHECK_EQ(weft_unpark(target), 0);
        for (int i = 0; i < N_JOINERS; i++)
                sched_join(joiners[i]);
        CHECK_EQ(w_load_acq(&n_ran), N_JOINERS);
}

/* Neighbours in one batch of ids: each joiner must be woken by its own goroutine only. */
GO_TEST(each_joiner_waits_for_its_own)
{
        enum { N = 8 };
        int64_t targets[N], joiners[N];

        for (int i = 0; i < N; i++)
                targets[i] = sched_go(park_once, NULL);
        for (int i = 0; i < N; i++)
                joiners[i] = sched_go(join_it, &targets[i]);
        for (int i = 0; i < N; i++)
                sched_await_parked(joiners[i]);
        for (int i = 0; i < N; i++) {
                CHECK_EQ(weft_unpark(targets[i]), 0);
                sched_join(joiners[i]);
                CHECK_EQ(w_load_acq(&n_ran), i + 1);
        }
}

GO_TEST(join_refuses_ids_that_were_never_given)
{
        CHECK_EQ(weft_join(weft_id()), -EDEADLK);
        CHECK_EQ(weft_join(0), -ESRCH);
        CHECK_EQ(weft_join(-1), -ESRCH);
        CHECK_EQ(weft_join(INT64_MIN), -ESRCH);
        CHECK_EQ(weft_join(INT64_MAX), -ESRCH);
        CHECK_EQ(weft_join(1000000), -ESRCH);
        CHECK_EQ(weft_join(2), -ESRCH);         /* in the first batch, not given yet */
}

/* ---- Ids, names, count ----------------------------------------------------------------------- */

enum { N_IDS = 1000 };
static int64_t seen_ids[N_IDS];

static void note_id(void *arg)
{
        *(int64_t *)arg = weft_id();
}

static int by_value(const void *a, const void *b)
{
        int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

        return x < y ? -1 : x > y;
}

static void main_ids(void *arg)
{
        static int64_t given[N_IDS];

        (void)arg;
        CHECK_EQ(weft_id(), 1);
        for (int i = 0; i < N_IDS; i++)
                given[i] = sched_go(note_id, &seen_ids[i]);
        for (int i = 0; i < N_IDS; i++) {
                sched_join(given[i]);
                CHECK_EQ(seen_ids[i], given[i]);
        }
        qsort(given, N_IDS, sizeof(given[0]), by_value);
        CHECK(given[0] > 1);
        for (int i = 1; i < N_IDS; i++)
                CHECK(given[i] != given[i - 1]);
}

TEST(ids_are_unique_and_main_is_1)
{
        CHECK_EQ(weft_id(), 0);
        for (int i = 0; i < 3; i++)
                sched_run(main_ids, NULL);
        CHECK_EQ(weft_id(), 0);
}

static const char *name_of_self(void)
{
        return w_g_cold(w_g())->name;
}

static void check_names(void *arg)
{
        CHECK_STR(name_of_self(), arg);
        weft_name("other");
        CHECK_STR(name_of_self(), "other");
        weft_name("0123456789012345678901234567890123456789");
        CHECK_STR(name_of_self(), "0123456789012345678901234567890");
        /* Byte 30 begins a character of two bytes, which would be cut. */
        weft_name("012345678901234567890123456789\xc3\xa4");
        CHECK_STR(name_of_self(), "012345678901234567890123456789");
        weft_name("a\nb\"c\033d\177 \xc3\xa4");
        CHECK_STR(name_of_self(), "a?b?c?d? \xc3\xa4");
        weft_name(NULL);
        CHECK_STR(name_of_self(), "");
}

static void main_names(void *arg)
{
        char      text[8] = "worker";
        weft_attr attr = { .size = sizeof(attr), .name = text };
        int64_t   id = weft_go_with(&attr, check_names, "worker");

        (void)arg;
        memset(text, 'x', sizeof(text) - 1);    /* it was copied */
        CHECK(id > 0);
        sched_join(id);
        id = weft_go_with(NULL, check_names, "");
        CHECK(id > 0);
        sched_join(id);
}

TEST(names_are_copied_and_cut)
{
        weft_name("ignored");   /* outside goroutines */
        sched_run(main_names, NULL);
}

static void main_count(void *arg)
{
        enum { N = 100 };
        int64_t ids[N];

        (void)arg;
        CHECK_EQ(weft_count(), 1);
        for (int i = 0; i < N; i++)
                ids[i] = sched_go(park_once, NULL);
        CHECK_EQ(weft_count(), N + 1);
        for (int i = 0; i < N; i++)
                CHECK_EQ(weft_unpark(ids[i]), 0);
        for (int i = 0; i < N; i++)
                sched_join(ids[i]);
        while (weft_count() != 1)       /* an end is counted a moment after the join */
                weft_yield();
}

TEST(count_follows_spawns_and_ends)
{
        CHECK_EQ(weft_count(), 0);
        sched_run(main_count, NULL);
        CHECK_EQ(weft_count(), 0);
}

/* Never less than the live goroutines, whatever is spawned and ends elsewhere at the time. */
static void chain(void *arg)
{
        w_atomic_u32 *left = arg;

        if (w_sub_acqrel(left, 1) > 1)
                sched_go(chain, left);
}

GO_TEST(count_in_motion_is_never_below_the_live_goroutines)
{
        static w_atomic_u32 left[4];
        uint32_t            n = (uint32_t)test_scale(20000);

        for (int i = 0; i < 4; i++) {
                w_store_rlx(&left[i], n);
                sched_go(chain, &left[i]);
        }
        for (int i = 0; i < 4; i++)
                for (; (int32_t)w_load_acq(&left[i]) > 0; weft_yield())
                        CHECK_MSG(weft_count() >= 1, "%lld goroutines",
                                  (long long)weft_count());
}

/* ---- Yield and exit -------------------------------------------------------------------------- */

static void yield_some(void *arg)
{
        for (int i = 0; i < 100; i++)
                weft_yield();
        count(arg);
}

static void main_yields(void *arg)
{
        int64_t ids[100];

        (void)arg;
        for (int i = 0; i < 100; i++)
                ids[i] = sched_go(yield_some, NULL);
        yield_some(NULL);
        for (int i = 0; i < 100; i++)
                sched_join(ids[i]);
        CHECK_EQ(w_load_acq(&n_ran), 101);
}

TEST(yield_comes_back)
{
        weft_yield();           /* outside: sched_yield */
        sched_run(main_yields, NULL);
}

GO_TEST(yield_lets_a_new_goroutine_run_at_one_p)
{
        if (sched_procs() != 1)
                return;
        for (int i = 0; i < 100; i++) {
                sched_go(count, NULL);
                weft_yield();
                CHECK_EQ(w_load_acq(&n_ran), i + 1);
        }
}

static volatile int exit_depth = 50;

static W_NOINLINE int exit_at_depth(int depth)
{
        if (depth == exit_depth)
                weft_exit();
        return depth > 1000 ? 0 : exit_at_depth(depth + 1) + exit_depth;
}

static void exit_deep(void *arg)
{
        count(arg);
        exit_depth = exit_at_depth(0);
        count(arg);
}

GO_TEST(exit_ends_from_any_depth)
{
        sched_join(sched_go(exit_deep, NULL));
        CHECK_EQ(w_load_acq(&n_ran), 1);
}

static void exit_outside(void *arg)
{
        (void)arg;
        weft_exit();
}

TEST(exit_outside_a_goroutine_is_fatal)
{
        test_expect_death(exit_outside, NULL, SIGABRT, "weft: fatal: weft_exit");
}

static void main_checkpoints(void *arg)
{
        int64_t begin = w_os_now();
        int     n_yields = 0;

        (void)arg;
        sched_go(yield_some, NULL);
        while (n_yields == 0 && w_os_now() - begin < INT64_C(20000000000))
                n_yields += weft_checkpoint();
        CHECK_EQ(n_yields, 1);
}

TEST(checkpoint_yields_when_the_slice_is_over)
{
        CHECK_EQ(weft_checkpoint(), 0);
        sched_run(main_checkpoints, NULL);
}

/* ---- errno ----------------------------------------------------------------------------------- */

static void keep_errno(void *arg)
{
        int mine = (int)(intptr_t)arg;

        CHECK_EQ(errno, 0);
        for (int i = 0; i < 100; i++) {
                errno = mine + i;
                weft_yield();
                CHECK_EQ(errno, mine + i);
        }
}

GO_TEST(errno_belongs_to_the_goroutine)
{
        int64_t ids[20];

        for (int i = 0; i < 20; i++) {
                errno = 77;
                ids[i] = sched_go(keep_errno, (void *)(intptr_t)(1000 * i));
                CHECK_EQ(errno, 77);
        }
        for (int i = 0; i < 20; i++) {
                sched_join(ids[i]);
                CHECK_EQ(errno, 77);
        }
        CHECK_EQ(weft_join(-5), -ESRCH);
        CHECK_EQ(weft_unpark(-5), -ESRCH);
        CHECK_EQ(errno, 77);
}
