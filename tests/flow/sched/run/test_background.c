/* tests/flow/sched/run/test_background.c - weft_start and weft_stop: a runtime in the background of
 * a program.
 *
 * test: procs=1,2,4
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/background.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- Start and stop -------------------------------------------------------------------------- */

static void park_for_ever(void *arg)
{
        background_count(arg);
        weft_park();
        test_fail(__FILE__, __LINE__, "a dropped goroutine ran");
}

static void some_work(void)
{
        int64_t ids[20];

        for (int i = 0; i < 20; i++)
                CHECK((ids[i] = weft_go(background_count, NULL)) > 0);
        for (int i = 0; i < 20; i++)
                CHECK_EQ(weft_join(ids[i]), 0);
        CHECK(weft_go(park_for_ever, NULL) > 0);
}

TEST(two_hundred_starts_leak_nothing)
{
        sched_warm_up();
        for (int i = 0; i < 5; i++) {
                background_start();
                some_work();
                background_stop();
        }
        struct test_resources before = test_resources_now();

        for (int i = 0; i < (int)sched_scale(200); i++) {
                background_start();
                if (i % 2)
                        some_work();
                background_stop();
        }
        test_check_no_leak(&before);
}

TEST(runs_of_both_kinds_follow_each_other)
{
        for (int i = 0; i < 10; i++) {
                background_start();
                some_work();
                background_stop();
                sched_run(background_count, NULL);
        }
}

TEST(a_bad_configuration_starts_nothing)
{
        weft_config bad = { .procs = 1025 };

        CHECK_EQ(weft_start(&bad), -EINVAL);
        CHECK_EQ(weft_go(background_count, NULL), -ESHUTDOWN);
        CHECK_EQ(weft_stop(), -ESHUTDOWN);
        background_start();
        background_stop();
}

TEST(the_caller_stays_a_thread_of_the_program)
{
        pid_t self = w_os_tid();

        background_start();
        CHECK_EQ(weft_id(), 0);
        CHECK_EQ(w_os_tid(), self);
        CHECK(!w_m());
        background_stop();
}

/* ---- Goroutine 1 is not special -------------------------------------------------------------- */

static void say_id(void *arg)
{
        *(int64_t *)arg = weft_id();
}

static void leave(void *arg)
{
        say_id(arg);
        weft_exit();
}

TEST(the_end_of_the_first_goroutine_ends_nothing)
{
        static void (*const ends[])(void *) = { say_id, leave };

        for (size_t i = 0; i < W_ARRAY_LEN(ends); i++) {
                int64_t id = 0;

                background_start();
                CHECK_EQ(weft_go(ends[i], &id), 1);
                CHECK_EQ(weft_join(1), 0);
                CHECK_EQ(id, 1);
                w_os_sleep_until(w_os_now() + 2000000);
                some_work();
                background_stop();
        }
}

/* ---- Threads that may stop ------------------------------------------------------------------- */

static void stop_from_inside(void *arg)
{
        CHECK_EQ(weft_stop(), -EBUSY);
        CHECK_EQ(weft_start(NULL), -EBUSY);
        background_count(arg);
}

TEST(a_goroutine_cannot_stop_its_runtime)
{
        background_start();
        CHECK_EQ(weft_join(weft_go(stop_from_inside, NULL)), 0);
        CHECK_EQ(w_load_acq(&background_n_ran), 1);
        background_stop();
        CHECK_EQ(weft_stop(), -ESHUTDOWN);
}

static void stop_here(void *arg)
{
        *(int *)arg = weft_stop();
}

static void main_not_stopped(void *arg)
{
        struct sync_thread thread;
        int                rc = 0;

        CHECK_EQ(weft_stop(), -EBUSY);
        sync_thread_start(&thread, stop_here, &rc);
        sync_thread_join(&thread);
        CHECK_EQ(rc, -ESHUTDOWN);
        sched_join(sched_go(background_count, arg));
}

TEST(stop_does_not_stop_weft_run)
{
        sched_run(main_not_stopped, NULL);
        CHECK_EQ(w_load_acq(&background_n_ran), 1);
}

TEST(of_many_concurrent_stops_one_succeeds)
{
        enum { N = 4 };

        for (int i = 0; i < 20; i++) {
                struct sync_thread threads[N];
                int                rcs[N], n_stopped = 0;

                background_start();
                some_work();
                for (int k = 0; k < N; k++)
                        sync_thread_start(&threads[k], stop_here, &rcs[k]);
                for (int k = 0; k < N; k++) {
                        sync_thread_join(&threads[k]);
                        CHECK(rcs[k] == 0 || rcs[k] == -ESHUTDOWN);
                        n_stopped += rcs[k] == 0;
                }
                CHECK_EQ(n_stopped, 1);
        }
}

/* ---- Stop while others run ------------------------------------------------------------------- */

static void wait_for_ever(void *arg)
{
        weft_chan *c = weft_chan_new(0, 0);

        if (!c)
                return;
        background_count(arg);
        CHECK_EQ(weft_chan_recv(c, NULL), -ESHUTDOWN);
}

TEST(calls_that_wait_hear_of_the_stop)
{
        enum { N = 3 };
        struct sync_thread threads[N];

        for (uint32_t i = 0; i < 10; i++) {
                w_store_rel(&background_n_ran, 0);
                background_start();
                for (int k = 0; k < N; k++)
                        sync_thread_start(&threads[k], wait_for_ever, NULL);
                while (w_load_acq(&background_n_ran) < N)
                        w_os_yield();
                if (i % 2)
                        w_os_sleep_until(w_os_now() + 1000000);
                background_stop();
                for (int k = 0; k < N; k++)
                        sync_thread_join(&threads[k]);
        }
}

static w_atomic_u32 over;

/* Every answer but these would be wrong at any time. */
static void call_and_call(void *arg)
{
        (void)arg;
        while (!w_load_acq(&over)) {
                int64_t    id = weft_go(background_count, NULL);
                weft_chan *c = weft_chan_new(sizeof(int), 1);
                int        rc = id < 0 ? (int)id : weft_join(id);

                CHECK_MSG(rc == 0 || rc == -ESHUTDOWN || rc == -ESRCH, "%d", rc);
                rc = weft_check();
                CHECK_MSG(rc == 0 || rc == -ESHUTDOWN || rc == -ESRCH, "%d", rc);
                (void)c;                /* of this run or none: it goes with it */
        }
}

/* Runs in the background, one after the other, beside threads that call. */
static void race(void (*fn)(void *), uint32_t n_least, uint32_t n_runs, int64_t step)
{
        enum { N = 3 };
        struct sync_thread threads[N];

        for (int k = 0; k < N; k++)
                sync_thread_start(&threads[k], fn, NULL);
        for (uint32_t i = 0; test_again(i, n_least, n_runs); i++) {
                background_start();
                w_os_sleep_until(w_os_now() + (i % 4) * step);
                background_stop();
        }
        w_store_rel(&over, 1);
        for (int k = 0; k < N; k++)
                sync_thread_join(&threads[k]);
}

TEST(starts_and_stops_race_with_calls)
{
        uint32_t n = sched_scale(100);

        race(call_and_call, n, n, 100000);
}

/* The call reads memory that the end of the run frees. */
static void call_at_full_rate(void *arg)
{
        (void)arg;
        while (!w_load_acq(&over)) {
                weft_stats_t st = { .size = sizeof(st) };
                int          rc = weft_stats(&st);

                CHECK(rc == 0 || rc == -ESHUTDOWN);
                CHECK(rc < 0 || st.procs > 0);
        }
}

TEST(starts_and_stops_race_with_calls_at_full_rate)
{
        race(call_at_full_rate, 8, sched_scale(200), 50000);
}

/* ---- Threads that do not come back ----------------------------------------------------------- */

static void never_back(void *arg)
{
        background_count(arg);
        for (;;)
                w_os_sleep_until(w_os_now() + 1000000000);
}

static void abandon_one(void *arg)
{
        weft_config cfg = { .procs = 2, .shutdown_ms = 30 };

        CHECK_EQ(weft_start(&cfg), 0);
        CHECK(weft_go(never_back, arg) > 0);
        while (w_load_acq(&background_n_ran) == 0)
                w_os_yield();
        CHECK_EQ(weft_threads_left(), 0);
        CHECK_EQ(weft_stop(), 0);
        CHECK_EQ(weft_threads_left(), 1);
        CHECK_EQ(weft_go(background_count, NULL), -ESHUTDOWN);
        kill(getpid(), SIGTERM);        /* tools would report the thread at exit */
        pause();
}

TEST(threads_that_do_not_come_back_are_counted)
{
        char err[16384];
        int  status = test_run_child(abandon_one, NULL, err, sizeof(err));

        CHECK_MSG(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM, "wait status %#x\n%s",
                  (unsigned)status, err);
        CHECK_MSG(strstr(err, "did not return to weft within 30 ms"), "said: %s", err);
}

/* ---- Nothing to do --------------------------------------------------------------------------- */

static void all_asleep(void *arg)
{
        int64_t id;

        background_start();
        CHECK((id = weft_go(park_for_ever, arg)) > 0);
        while (sched_state_of(id) != G_WAITING)
                w_os_yield();
        w_os_sleep_until(w_os_now() + 150000000);
        some_work();
        background_stop();
}

TEST(a_background_run_reports_no_deadlock)
{
        char err[16384];
        int  status = test_run_child(all_asleep, NULL, err, sizeof(err));

        CHECK_MSG(status == 0, "wait status %#x\n%s", (unsigned)status, err);
        CHECK_STR(err, "");
}

/* ---- A host that forks ----------------------------------------------------------------------- */

static void fork_and_exec(void)
{
        int   status;
        pid_t pid = fork();

        CHECK(pid >= 0);
        if (pid == 0) {
                execl("/bin/true", "true", (char *)NULL);
                _exit(127);
        }
        test_wait_for(pid, &status);
        CHECK_EQ(status, 0);
}

TEST(the_host_may_fork_and_exec)
{
        background_start();
        for (int i = 0; i < 5; i++) {
                some_work();
                fork_and_exec();
        }
        background_stop();
}

/* With nothing running the child is a program like any other. */
TEST(a_child_of_the_host_may_start_its_own_runtime)
{
        int status;

        background_start();
        some_work();
        background_stop();
        pid_t pid = fork();

        CHECK(pid >= 0);
        if (pid == 0) {
                background_start();
                some_work();
                background_stop();
                _exit(5);
        }
        background_start();
        some_work();
        test_wait_for(pid, &status);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 5);
        background_stop();
}
