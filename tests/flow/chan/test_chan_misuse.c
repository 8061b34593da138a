/* tests/flow/chan/test_chan_misuse.c - channels: bad input, references, memory, no partner.
 *
 * test: procs=1,2,4
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/refusal.h"
#include "lib/sched.h"

#include <pthread.h>
#include <signal.h>

/* ---- Sizes ----------------------------------------------------------------------------------- */

GO_TEST(sizes_that_overflow_are_refused)
{
        CHECK(!weft_chan_new(2, SIZE_MAX));
        CHECK(!weft_chan_new(SIZE_MAX, 2));
        CHECK(!weft_chan_new((size_t)1 << 33, (size_t)1 << 33));
        CHECK(!weft_chan_new(1, SIZE_MAX));
        CHECK(!weft_chan_new(1, PTRDIFF_MAX));
        CHECK(!weft_chan_new(SIZE_MAX, 0));
        CHECK(!weft_chan_new(0, SIZE_MAX));
        weft_chan *c = weft_chan_new(0, PTRDIFF_MAX);   /* signals take no room */

        CHECK(c);
        CHECK_EQ(weft_chan_try_send(c, NULL), 0);
        CHECK_EQ(weft_chan_len(c), 1);
        weft_chan_unref(c);
}

/* ---- NULL ------------------------------------------------------------------------------------ */

static void recv_nil(void *arg)
{
        (void)arg;
        weft_chan_recv(NULL, NULL);
        CHECK_MSG(false, "a receive from no channel returned");
}

static void send_nil(void *arg)
{
        (void)arg;
        weft_chan_send(NULL, NULL);
        CHECK_MSG(false, "a send to no channel returned");
}

GO_TEST(no_channel_is_never_ready)
{
        weft_chan *c = weft_chan_new(4, 1);

        CHECK_EQ(weft_chan_close(NULL), -EINVAL);
        CHECK_EQ(weft_chan_try_send(NULL, NULL), -EAGAIN);
        CHECK_EQ(weft_chan_try_recv(NULL, NULL), -EAGAIN);
        CHECK_EQ(weft_chan_len(NULL), 0);
        CHECK_EQ(weft_chan_cap(NULL), 0);
        CHECK(!weft_chan_ref(NULL));
        weft_chan_unref(NULL);
        CHECK_EQ(weft_chan_send(c, NULL), -EINVAL);
        CHECK_EQ(weft_chan_try_send(c, NULL), -EINVAL);
        sched_await_parked(sched_go(recv_nil, NULL));
        sched_await_parked(sched_go(send_nil, NULL));
        weft_chan_unref(c);
}

TEST(without_a_runtime_there_are_no_channels)
{
        CHECK(!weft_chan_new(1, 1));
        CHECK_EQ(weft_chan_close((weft_chan *)&(int){ 0 }), -ESHUTDOWN);
        CHECK_EQ(weft_chan_recv(NULL, NULL), -ESHUTDOWN);
        CHECK_EQ(weft_chan_send(NULL, NULL), -ESHUTDOWN);
        CHECK_EQ(weft_chan_try_recv(NULL, NULL), -ESHUTDOWN);
        CHECK_EQ(weft_select(NULL, 0), -ESHUTDOWN);
}

/* ---- References ------------------------------------------------------------------------------ */

static void main_one_unref_too_many(void *arg)
{
        weft_chan *c = weft_chan_new(4, 1);

        (void)arg;
        weft_chan_unref(c);
        weft_chan_unref(c);
}

static void die_by_unref(void *arg)
{
        (void)arg;
        (void)!weft_run(main_one_unref_too_many, NULL);
}

TEST(one_unref_too_many_is_misuse)
{
        test_expect_death(die_by_unref, NULL, SIGABRT, "more references dropped than taken");
}

static void wait_on(void *c)
{
        weft_chan_recv(c, NULL);
}

static void main_unref_waited_on(void *arg)
{
        weft_chan *c = weft_chan_new(4, 0);

        (void)arg;
        sched_await_parked(sched_go(wait_on, c));
        weft_chan_unref(c);
}

static void die_by_last_unref(void *arg)
{
        (void)arg;
        (void)!weft_run(main_unref_waited_on, NULL);
}

TEST(the_last_unref_under_a_waiter_is_misuse)
{
        test_expect_death(die_by_last_unref, NULL, SIGABRT, "while a call waits on it");
}

GO_TEST(channels_are_used_again)
{
        weft_chan *first = weft_chan_new(8, 100);

        CHECK_EQ(weft_chan_ref(first) == first, 1);
        weft_chan_unref(first);
        CHECK_EQ(weft_chan_cap(first), 100);
        weft_chan_unref(first);
        long before = test_resident_kib();

        for (uint32_t i = 0; i < sched_scale(20000); i++) {
                weft_chan *c = weft_chan_new(1 + i % 50, i % 60 * (i % 7 ? 1 : 40));

                CHECK(c);
                CHECK_EQ(weft_chan_len(c), 0);
                weft_chan_unref(c);
        }
        if (!test_is_slow())
                CHECK_MSG(test_resident_kib() < before + 1000, "memory grows");
}

/* ---- What is left at the end ----------------------------------------------------------------- */

static void main_leave_channels(void *arg)
{
        (void)arg;
        for (size_t size = 0; size < 200000; size += 1 + size / 2) {
                weft_chan *c = weft_chan_new(size, 3);

                CHECK(c);
                sched_go(wait_on, c);
        }
        weft_yield();
}

TEST(unfreed_channels_are_freed_with_the_run)
{
        sched_warm_up();
        sched_run(main_leave_channels, NULL);
        struct test_resources before = test_resources_now();

        for (int i = 0; i < 3; i++)
                sched_run(main_leave_channels, NULL);
        test_check_no_leak(&before);
}

#if defined(W_DEBUG)

static void main_refused(void *arg)
{
        struct refusal *r = arg;

        r->inject(r->kind, r->k, r->error);
        for (size_t size = 8; size < 100000; size *= 5) {
                weft_chan *c = weft_chan_new(size, 4);

                if (!c)
                        continue;
                CHECK_EQ(weft_chan_cap(c), 4);
                CHECK_EQ(weft_chan_len(c), 0);
                weft_chan_unref(c);
        }
}

static void attempt(void *arg)
{
        sched_run(main_refused, arg);
        refusal_end(w_inject_hits());
}

TEST(no_memory_is_no_channel)
{
        refusal_each(attempt, (struct refusal){ w_inject_once, W_CALL_MMAP, 0, ENOMEM });
}

#else

TEST(no_memory_is_no_channel)
{
        test_skip("release builds have no fault injection");
}

#endif

/* ---- The end of the run ---------------------------------------------------------------------- */

static void *thread_waits(void *c)
{
        int value;

        return (void *)(intptr_t)weft_chan_recv(c, &value);
}

static void main_end_early(void *arg)
{
        weft_chan *c = weft_chan_new(4, 0);

        CHECK_EQ(pthread_create(arg, NULL, thread_waits, c), 0);
        for (int i = 0; i < 20; i++) {
                w_os_sleep_until(w_os_now() + 100000);
                weft_yield();
        }
}

TEST(a_thread_that_waits_hears_of_the_end)
{
        pthread_t thread;
        void     *result;

        sched_run(main_end_early, &thread);
        CHECK_EQ(pthread_join(thread, &result), 0);
        CHECK_EQ((intptr_t)result, -ESHUTDOWN);
}
