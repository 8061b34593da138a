/* tests/unit/test_activity.c - what a late monitor forgets about a thread, and what it does not.
 *
 * The thread judges itself: it is awake then, and has used the CPU time that it reports.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/monitor/activity.h"

#include "harness/test.h"
#include "lib/os.h"
#include "sched/sched.h"

#include "weft.h"

enum { MS = 1000000, WINDOW_NS = 10 * MS };

static struct m     me;
static struct sample w;

static void begin(void)
{
        int fd = w_os_cpu_usage_open(w_os_tid());

        if (fd < 0)
                test_skip("no schedstat in /proc");
        w_os_cpu_usage_close(fd);
        w_store_rlx(&me.tid, (uint32_t)w_os_tid());
        w_sched.config.preempt = WEFT_PREEMPT_ALL;
        w.m = &me;
        w_activity_forget(&w, w_os_now());
}

static int64_t run_time(void)
{
        struct w_os_cpu_usage use = { 0 };
        int             fd = w_os_cpu_usage_open(w_os_tid());
        int             rc = fd < 0 ? fd : w_os_cpu_usage_read(fd, &use);

        if (fd >= 0)
                w_os_cpu_usage_close(fd);
        if (rc < 0)
                test_skip("the kernel keeps no such figures");
        return use.run;
}

static void compute(int64_t ns)
{
        for (int64_t until = run_time() + ns; run_time() < until;)
                ;
}

/* The rest of a window, without running. */
static enum activity judge(void)
{
        w_os_sleep_until(w.base_at + WINDOW_NS);
        w_activity_update(&w, w_os_now());
        return w.activity;
}

TEST(cpu_time_before_a_late_round_counts)
{
        begin();
        w_activity_update(&w, w_os_now());
        compute(4 * MS);
        w_activity_rebase(&w, w_os_now());
        CHECK_EQ(w.activity, W_ACTIVITY_NOT_YET);
        w_os_sleep_until(w_os_now() + MS);      /* the kernel is read once in that time */
        w_activity_update(&w, w_os_now());
        compute(MS + MS / 2);
        CHECK_EQ(judge(), W_ACTIVITY_RUNNING);
        w_activity_rebase(&w, w_os_now());
        CHECK_EQ(w.activity, W_ACTIVITY_RUNNING);
        w_activity_end(&me);
}

TEST(cpu_time_before_a_forget_does_not_count)
{
        begin();
        w_activity_update(&w, w_os_now());
        compute(6 * MS);
        w_activity_forget(&w, w_os_now());
        w_os_sleep_until(w_os_now() + MS);
        w_activity_update(&w, w_os_now());
        CHECK_EQ(judge(), W_ACTIVITY_STARVED);
        w_activity_end(&me);
}

TEST(the_end_of_a_window_is_known)
{
        begin();
        CHECK_EQ(w_activity_next(&w), W_FOREVER);
        w_activity_update(&w, w_os_now());
        CHECK_EQ(w_activity_next(&w), w.base_at + WINDOW_NS);
        w_activity_end(&me);
}
