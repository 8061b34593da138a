/* tests/flow/sched/test_spawn.c - kinds of spawns: copies, child first, from foreign threads; what
 * is refused.
 *
 * test: procs=1,2,4
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/sched.h"

#include <pthread.h>
#include <string.h>

static w_atomic_u32 n_ran;

static void count(void *arg)
{
        (void)arg;
        w_add_acqrel(&n_ran, 1);
}

static void nothing(void *arg)
{
        (void)arg;
}

/* ---- Copies ---------------------------------------------------------------------------------- */

struct load {
        unsigned char bytes[4096];
};

static w_atomic_u64 sum;

static void add_bytes(const unsigned char *bytes, size_t n)
{
        CHECK_EQ((uintptr_t)bytes % 16, 0);
        for (size_t i = 0; i < n; i++)
                w_add_acqrel(&sum, bytes[i]);
}

static void add_1(void *arg)
{
        add_bytes(arg, 1);
}

static void add_17(void *arg)
{
        add_bytes(arg, 17);
        memset(arg, 0, 17);     /* it is ours */
}

static void add_4096(void *arg)
{
        add_bytes(arg, 4096);
        weft_yield();
        add_bytes(arg, 4096);
}

static void add_nothing(void *arg)
{
        (void)arg;
        w_add_acqrel(&sum, 1);
}

static void check_copy(void (*fn)(void *), size_t size, uint64_t expected)
{
        struct load load;

        memset(&load, 1, sizeof(load));
        w_store_rlx(&sum, 0);
        int64_t id = weft_go_copy(fn, &load, size);

        CHECK(id > 0);
        memset(&load, 2, sizeof(load));
        sched_join(id);
        CHECK_EQ(w_load_acq(&sum), expected);
}

GO_TEST(go_copy_gives_a_private_copy)
{
        struct load load = { { 0 } };

        check_copy(add_1, 1, 1);
        check_copy(add_17, 17, 17);
        check_copy(add_4096, 4096, 2 * 4096);
        check_copy(add_nothing, 0, 1);
        CHECK_EQ(weft_go_copy(add_1, &load, 4097), -E2BIG);
        CHECK_EQ(weft_go_copy(add_1, &load, SIZE_MAX), -E2BIG);
        CHECK_EQ(weft_go_copy(add_1, NULL, 1), -EINVAL);
        CHECK_EQ(weft_go_copy(NULL, &load, 1), -EINVAL);
        int64_t id = weft_go_copy(add_nothing, NULL, 0);

        CHECK(id > 0);
        sched_join(id);
        CHECK_EQ(w_load_acq(&sum), 2);
}

/* ---- Child first ----------------------------------------------------------------------------- */

static w_atomic_u32 order;

static void run_first(void *arg)
{
        *(uint32_t *)arg = w_add_acqrel(&order, 1);
}

/* At one P no thief can steal the parent, so the child has ended before its parent continues. */
GO_TEST(child_first_runs_the_child_at_once)
{
        weft_attr attr = { .flags = WEFT_CHILD_FIRST };
        uint32_t  child = 99;
        int64_t   id = weft_go_with(&attr, run_first, &child);
        uint32_t  parent = w_add_acqrel(&order, 1);

        CHECK(id > 0);
        sched_join(id);
        CHECK_EQ(child + parent, 1);
        if (sched_procs() == 1)
                CHECK_EQ(child, 0);
}

static int64_t fib(int n);

struct fib_call {
        int     n;
        int64_t result;
};

static void fib_goroutine(void *arg)
{
        struct fib_call *call = arg;

        call->result = fib(call->n);
}

static int64_t fib(int n)
{
        weft_attr       attr = { .flags = WEFT_CHILD_FIRST };
        struct fib_call left = { n - 1, 0 };

        if (n < 2)
                return n;
        int64_t id = weft_go_with(&attr, fib_goroutine, &left);

        CHECK(id > 0);
        int64_t right = fib(n - 2);

        sched_join(id);
        return left.result + right;
}

GO_TEST(child_first_computes_fib)
{
        CHECK_EQ(fib(15), 610);
}

/* ---- Refusals -------------------------------------------------------------------------------- */

static void use_stack(void *arg)
{
        size_t        n = *(size_t *)arg;
        volatile char bytes[1 << 20];

        bytes[0] = 1;
        CHECK(n > sizeof(bytes));
}

GO_TEST(absurd_stack_sizes_are_refused)
{
        const size_t bad[] = { 1, 1024, (16 << 10) - 1, ((size_t)1 << 30) + 1, SIZE_MAX,
                               SIZE_MAX - 1023, (size_t)1 << 63 };
        const size_t good[] = { 16 << 10, (16 << 10) + 1, 100000, 2 << 20 };

        for (size_t i = 0; i < W_ARRAY_LEN(bad); i++) {
                weft_attr attr = { .stack_size = bad[i] };

                CHECK_EQ(weft_go_with(&attr, nothing, NULL), -EINVAL);
        }
        for (size_t i = 0; i < W_ARRAY_LEN(good); i++) {
                weft_attr attr = { .stack_size = good[i] };
                size_t    size = good[i];
                int64_t   id = weft_go_with(&attr, size > 1 << 20 ? use_stack : nothing, &size);

                CHECK(id > 0);
                sched_join(id);
        }
        CHECK_EQ(weft_count(), 1);
}

GO_TEST(null_functions_and_unknown_flags_are_refused)
{
        weft_attr unknown = { .flags = ~0u };

        CHECK_EQ(weft_go(NULL, NULL), -EINVAL);
        CHECK_EQ(weft_go_with(NULL, NULL, NULL), -EINVAL);
        CHECK_EQ(weft_go_with(&unknown, nothing, NULL), -EINVAL);
        CHECK_EQ(weft_count(), 1);
}

TEST(without_a_runtime_calls_say_so)
{
        weft_attr attr = { .flags = WEFT_CHILD_FIRST };
        int       word = 0;

        for (int i = 0; i < 2; i++) {
                CHECK_EQ(weft_go(nothing, NULL), -ESHUTDOWN);
                CHECK_EQ(weft_go_copy(nothing, &word, sizeof(word)), -ESHUTDOWN);
                CHECK_EQ(weft_go_with(&attr, nothing, NULL), -ESHUTDOWN);
                CHECK_EQ(weft_join(1), -ESHUTDOWN);
                CHECK_EQ(weft_park(), -ESHUTDOWN);
                CHECK_EQ(weft_unpark(1), -ESHUTDOWN);
                CHECK_EQ(weft_id(), 0);
                CHECK_EQ(weft_count(), 0);
                CHECK_EQ(weft_checkpoint(), 0);
                sched_run(nothing, NULL);
        }
}

/* ---- A foreign thread ------------------------------------------------------------------------ */

static void *foreign(void *arg)
{
        int64_t *main_id = arg;

        CHECK_EQ(weft_id(), 0);
        CHECK_EQ(weft_join(*main_id + 1000000), -ESRCH);        /* it would wait for a live one */
        CHECK_EQ(weft_park(), -EPERM);
        CHECK_EQ(weft_checkpoint(), 0);
        weft_yield();
        for (int i = 0; i < 100; i++)
                CHECK(weft_go(count, NULL) > 0);
        weft_attr attr = { .flags = WEFT_CHILD_FIRST, .name = "from afar" };

        CHECK(weft_go_with(&attr, count, NULL) > 0);
        CHECK_EQ(weft_unpark(*main_id), 0);
        return NULL;
}

GO_TEST(foreign_threads_may_spawn_and_unpark)
{
        int64_t   id = weft_id();
        pthread_t thread;

        CHECK(pthread_create(&thread, NULL, foreign, &id) == 0);
        CHECK_EQ(weft_park(), 0);
        sched_await(&n_ran, 101);
        CHECK(pthread_join(thread, NULL) == 0);
}
