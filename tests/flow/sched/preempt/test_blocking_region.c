/* tests/flow/sched/preempt/test_blocking_region.c - blocking regions: other goroutines continue,
 * and some calls are allowed in a region.
 *
 * test: procs=1,2,4
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/others.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void await_go_on(void *arg)
{
        (void)arg;
        while (!w_load_acq(&others_done))
                w_os_sleep_until(w_os_now() + 200000);
}

static void in_region(void *arg)
{
        weft_block_begin();
        await_go_on(arg);
        weft_block_end();
        weft_yield();
}

static void in_call(void *arg)
{
        CHECK_EQ(weft_blocking(await_go_on, arg), 0);
        weft_yield();
}

static void run_beside(void (*fn)(void *))
{
        others_go_on(fn, NULL, others_more_than_ps());
        CHECK_EQ(weft_check(), 0);
}

static void main_region(void *arg)
{
        (void)arg;
        run_beside(in_region);
}

static void main_call(void *arg)
{
        (void)arg;
        run_beside(in_call);
}

TEST(others_go_on_beside_a_region)        { sched_run(main_region, NULL); }
TEST(others_go_on_beside_a_blocking_call) { sched_run(main_call, NULL); }

/* Short regions, one after the other: no P is taken from them, and they never wait. */
static void in_short_regions(void *arg)
{
        (void)arg;
        while (!w_load_acq(&others_done)) {
                weft_block_begin();
                w_os_sleep_until(w_os_now() + 50000);
                weft_block_end();
        }
}

/* When the P is needed the monitor makes a round every 10 ms only, and finds another region each
 * time. */
static void main_short_regions(void *arg)
{
        int64_t  ids[8];
        uint32_t n = (uint32_t)sched_procs();

        (void)arg;
        for (uint32_t i = 0; i < n; i++)
                ids[i] = sched_go(in_short_regions, NULL);
        CHECK_EQ(weft_sleep(WEFT_MS(50)), 0);
        w_store_rel(&others_done, 1);
        for (uint32_t i = 0; i < n; i++)
                sched_join(ids[i]);
}

TEST(others_go_on_beside_short_regions)   { sched_run(main_short_regions, NULL); }

/* ---- At full rate ---------------------------------------------------------------------------- */

enum { N_PER_P = 4, N_FULL_MAX = 64, N_FULL_ROUNDS = 1000 };

static w_atomic_u32 rounds[N_FULL_MAX];

static void in_regions_at_full_rate(void *count)
{
        while (!w_load_acq(&others_done)) {
                weft_block_begin();
                w_add_rlx((w_atomic_u32 *)count, 1);              /* counter */
                weft_block_end();
        }
}

/* Four goroutines for each P: all of them make progress, and no P is lost. */
static void main_full_rate(void *arg)
{
        int64_t  ids[N_FULL_MAX];
        uint32_t n = N_PER_P * (uint32_t)sched_procs(), least = sched_scale(N_FULL_ROUNDS) + 1;

        (void)arg;
        CHECK(n <= N_FULL_MAX);
        for (uint32_t i = 0; i < n; i++)
                ids[i] = sched_go(in_regions_at_full_rate, &rounds[i]);
        for (uint32_t i = 0; i < n; i++)
                while (w_load_acq(&rounds[i]) < least)
                        CHECK_EQ(weft_sleep(WEFT_MS(1)), 0);
        CHECK_EQ(weft_check(), 0);
        w_store_rel(&others_done, 1);
        for (uint32_t i = 0; i < n; i++)
                sched_join(ids[i]);
        CHECK_EQ(weft_check(), 0);
}

TEST(regions_at_full_rate_take_turns)     { sched_run(main_full_rate, NULL); }

/* ---- Within ---------------------------------------------------------------------------------- */

/* Calls that need not wait. */
static void use_and_set_errno(void *arg)
{
        weft_chan *c = arg;
        int        v = 7;

        CHECK_EQ(weft_chan_try_send(c, &v), 0);
        CHECK_EQ(weft_chan_try_recv(c, &v), 0);
        CHECK(weft_id() > 0);
        CHECK(sched_go(others_ping, NULL) > 0);
        CHECK_EQ(weft_unpark(weft_id()), 0);
        weft_yield();
        errno = EDOM;
}

GO_TEST(calls_that_need_not_wait_work_within)
{
        weft_chan *c = weft_chan_new(sizeof(int), 1);

        weft_block_begin();
        weft_block_begin();
        use_and_set_errno(c);
        weft_block_end();
        use_and_set_errno(c);
        CHECK_EQ(weft_blocking(use_and_set_errno, c), 0);
        weft_block_end();
        errno = 0;
        CHECK_EQ(weft_blocking(use_and_set_errno, c), 0);
        CHECK_EQ(errno, EDOM);
        CHECK_EQ(weft_park(), 0);       /* the token that it gave itself */
        CHECK_EQ(weft_blocking(NULL, NULL), -EINVAL);
        weft_chan_unref(c);
}

/* Deeper than a goroutine's own stack could be. */
static void use_much_stack(void *arg)
{
        volatile char deep[900 << 10];

        memset((char *)deep, 1, sizeof(deep));
        *(int *)arg = deep[4711];
}

static void main_stack(void *arg)
{
        (void)arg;
        for (int i = 0; i < 5; i++) {
                int seen = 0;

                CHECK_EQ(weft_blocking(use_much_stack, &seen), 0);
                CHECK_EQ(seen, 1);
        }
}

GO_TEST(a_blocking_call_has_a_mebibyte_of_stack)
{
        int64_t ids[8];

        for (int i = 0; i < 8; i++)
                ids[i] = sched_go(main_stack, NULL);
        for (int i = 0; i < 8; i++)
                sched_join(ids[i]);
}

/* Also in a region within a region: the stack of a goroutine is too small for either. */
static void main_stack_within(void *arg)
{
        int seen = 0;

        (void)arg;
        weft_block_begin();
        CHECK_EQ(weft_blocking(use_much_stack, &seen), 0);
        CHECK_EQ(seen, 1);
        weft_block_end();
        weft_yield();
}

GO_TEST(a_blocking_call_within_a_region_has_as_much)
{
        for (int i = 0; i < 8; i++)
                sched_join(sched_go(main_stack_within, NULL));
        CHECK_EQ(weft_check(), 0);
}

TEST(a_foreign_thread_may_begin_a_region)
{
        int seen = 0;

        weft_block_begin();
        weft_block_end();
        CHECK_EQ(weft_blocking(use_much_stack, &seen), 0);
        CHECK_EQ(seen, 1);
}

/* ---- Misuse ---------------------------------------------------------------------------------- */

static void wait_within(void *arg)
{
        (void)arg;
        weft_name("waits within");
        weft_block_begin();
        (void)weft_sleep(WEFT_MS(1));
}

static void park_in_call(void *arg)
{
        (void)arg;
        (void)weft_park();
}

static void wait_in_call(void *arg)
{
        (void)arg;
        (void)weft_blocking(park_in_call, NULL);
}

static void end_within(void *arg)
{
        (void)arg;
        weft_block_begin();
}

static void end_unbegun(void *arg)
{
        (void)arg;
        weft_block_end();
}

static void say_and_compute(void *arg)
{
        (void)arg;
        w_add_acqrel(&others_n_pings, 1);
        for (;;)
                w_cpu_pause();
}

/* Waits until the monitor has taken the P, and no other P is available. */
static void lose_p(void)
{
        for (int i = 0; i < sched_procs(); i++)
                (void)sched_go(say_and_compute, NULL);
        while (w_load_acq(&others_n_pings) < (uint32_t)sched_procs())
                w_os_sleep_until(w_os_now() + 200000);
}

static void sleep_without_p(void *arg)
{
        (void)arg;
        weft_block_begin();
        lose_p();
        (void)weft_sleep(WEFT_MS(1));
}

static void end_without_p(void *arg)
{
        (void)arg;
        weft_block_begin();
        lose_p();
}

/* Two goroutines stop the world: one of them could not stop for the other. */
static void check_within(void *arg)
{
        (void)arg;
        weft_block_begin();
        (void)weft_check();
}

static void run_it(void *arg)
{
        (void)!weft_run((void (*)(void *))(uintptr_t)arg, NULL);
}

static void expect(void (*fn)(void *), const char *text)
{
        test_expect_death(run_it, (void *)(uintptr_t)fn, SIGABRT, text);
}

TEST(a_wait_within_is_refused_by_name)
{
        expect(wait_within, "\"waits within\" waits inside a blocking region: sleep");
        expect(wait_in_call, "goroutine 1 waits inside a blocking region: park");
        expect(sleep_without_p, "waits inside a blocking region: sleep");
        expect(check_within, "waits inside a blocking region: stop the world");
}

/* After weft_nopreempt_end a goroutine still must not wait on the stack of its thread. The wait is
 * refused while it is on that stack, and its own calls are still known. */
static void keep_and_sleep(void *arg)
{
        (void)arg;
        weft_nopreempt_begin();
        weft_nopreempt_end();
        (void)weft_sleep(WEFT_MS(1));
}

static void keep_and_sleep_in_call(void *arg)
{
        (void)weft_blocking(keep_and_sleep, arg);
}

TEST(a_wait_within_is_refused_after_nopreempt)
{
        char said[16384];
        int  status = test_run_child(run_it, (void *)(uintptr_t)keep_and_sleep_in_call, said,
                                     sizeof(said));

        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
        CHECK_MSG(strstr(said, "waits inside a blocking region: sleep"), "%s", said);
        CHECK_MSG(strstr(said, "goroutine 1 [blocking region]:\n\t0x"), "%s", said);
}

static void end_of_call(void *arg)
{
        (void)weft_blocking(end_unbegun, arg);
}

TEST(an_unbalanced_region_is_refused)
{
        expect(end_of_call, "ends a blocking region that it has not begun");
        expect(end_within, "ends inside a blocking region");
        expect(end_without_p, "ends inside a blocking region");
        expect(end_unbegun, "ends a blocking region that it has not begun");
}
