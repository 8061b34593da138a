/* tests/flow/sched/run/test_run.c - runs begin and end: again and again, early, late, refused.
 *
 * test: procs=1,2,4
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/sched.h"

#include "os/os.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static w_atomic_u32 n_ran;

static void count(void *arg)
{
        (void)arg;
        w_add_acqrel(&n_ran, 1);
}

/* ---- Begin and end --------------------------------------------------------------------------- */

static void note_thread(void *arg)
{
        *(pid_t *)arg = w_os_tid();
}

TEST(fn_starts_on_the_calling_thread)
{
        for (int i = 0; i < 20; i++) {
                pid_t inside = 0;

                sched_run(note_thread, &inside);
                CHECK_EQ(inside, w_os_tid());
        }
}

static void count_at(void *arg)
{
        w_add_acqrel((w_atomic_u32 *)arg, 1);
}

/* From thread to thread, by chance. */
static void wander(void *arg)
{
        w_atomic_u32 n = W_ATOMIC_INIT(0);

        (void)arg;
        for (int i = 0; i < 200; i++)
                sched_go(count_at, &n);
        sched_await(&n, 200);
        w_add_acqrel(&n_ran, 1);
}

TEST(run_returns_on_the_calling_thread)
{
        pid_t self = w_os_tid();

        for (int i = 0; i < 20; i++) {
                sched_run(wander, NULL);
                CHECK_EQ(w_os_tid(), self);
        }
}

static void outlive(void *arg);

static void busy_run(void *arg)
{
        int64_t ids[30];

        (void)arg;
        for (int i = 0; i < 30; i++)
                ids[i] = sched_go(i % 10 ? count : wander, NULL);
        for (int i = 0; i < 30; i += 2)
                sched_join(ids[i]);
        sched_go(outlive, NULL);        /* dropped in whatever state it is */
}

static void park_for_ever(void *arg)
{
        (void)arg;
        weft_park();
        test_fail(__FILE__, __LINE__, "a dropped goroutine ran");
}

static void drop_one(void *arg)
{
        int64_t id = sched_go(park_for_ever, arg);

        sched_await_parked(id);
        busy_run(NULL);
}

TEST(two_hundred_runs_leak_nothing)
{
        sched_warm_up();
        for (int i = 0; i < 5; i++)
                sched_run(drop_one, NULL);
        struct test_resources before = test_resources_now();

        for (int i = 0; i < (int)sched_scale(200); i++)
                sched_run(i % 2 ? drop_one : count, NULL);
        test_check_no_leak(&before);
}

TEST(null_function_is_refused)
{
        CHECK_EQ(weft_run(NULL, NULL), -EINVAL);
        CHECK_EQ(weft_run_with(NULL, NULL, NULL), -EINVAL);
        sched_run(count, NULL);
}

TEST(a_bad_configuration_changes_nothing)
{
        weft_config bad = { .procs = 1025 };

        CHECK_EQ(weft_run_with(&bad, count, NULL), -EINVAL);
        CHECK_EQ(w_load_acq(&n_ran), 0);
        CHECK_EQ(weft_go(count, NULL), -ESHUTDOWN);
        sched_run(count, NULL);
        CHECK_EQ(w_load_acq(&n_ran), 1);
}

static void run_with_garbage(void *arg)
{
        setenv("WEFT_PROCS", arg, 1);
        if (weft_run(count, NULL) != -EINVAL || w_load_acq(&n_ran) != 0)
                _exit(1);
}

TEST(garbage_in_the_environment_is_named_and_refused)
{
        static char *const garbage[] = { "0", "-1", "1000000000", "many", "" };

        for (size_t i = 0; i < W_ARRAY_LEN(garbage); i++) {
                char err[512];
                int  status = test_run_child(run_with_garbage, garbage[i], err, sizeof(err));

                CHECK_EQ(status, 0);
                CHECK_MSG(strstr(err, "WEFT_PROCS"), "said: %s", err);
        }
}

/* ---- One at a time --------------------------------------------------------------------------- */

static void *run_elsewhere(void *arg)
{
        *(int *)arg = weft_run(count, NULL);
        return NULL;
}

static void main_nested(void *arg)
{
        pthread_t thread;
        int       rc = 0;

        (void)arg;
        CHECK_EQ(weft_run(count, NULL), -EBUSY);
        CHECK(pthread_create(&thread, NULL, run_elsewhere, &rc) == 0);
        CHECK(pthread_join(thread, NULL) == 0);
        CHECK_EQ(rc, -EBUSY);
        CHECK_EQ(w_load_acq(&n_ran), 0);
}

TEST(a_second_run_is_busy)
{
        for (int i = 0; i < 3; i++)
                sched_run(main_nested, NULL);
}

/* ---- Main leaves early ----------------------------------------------------------------------- */

static void outlive(void *arg)
{
        for (int i = 0; i < 50; i++)
                weft_yield();
        if (arg)
                sched_go(outlive, NULL);
        count(NULL);
}

static void main_leaves(void *arg)
{
        (void)arg;
        for (int i = 0; i < 20; i++)
                sched_go(outlive, &n_ran);
        weft_exit();
}

TEST(exit_of_main_waits_for_all_others)
{
        for (uint32_t i = 1; i <= 20; i++) {
                sched_run(main_leaves, NULL);
                CHECK_EQ(w_load_acq(&n_ran), 40 * i);
        }
}

static void leave_alone(void *arg)
{
        (void)arg;
        weft_exit();
}

static void leave_with_one(void *arg)
{
        sched_go(count, arg);
        weft_exit();
}

/* The last two end at the same moment: one of them must notice. */
TEST(exit_of_main_races_with_the_last_one)
{
        long n = test_scale(300);

        for (long i = 0; i < n; i++) {
                sched_run(leave_alone, NULL);
                sched_run(leave_with_one, NULL);
        }
        CHECK_EQ(w_load_acq(&n_ran), n);
}

/* Each spawns its successor and ends; a count in between must not take that for the end. */
static void relay(void *arg)
{
        w_atomic_u32 *left = arg;

        if (w_sub_acqrel(left, 1) > 1)
                sched_go(relay, left);
        else
                count(NULL);
}

static void main_leaves_chains(void *arg)
{
        w_atomic_u32 *left = arg;

        for (int i = 0; i < 4; i++) {
                w_store_rel(&left[i], (uint32_t)test_scale(5000));
                sched_go(relay, &left[i]);
        }
        weft_exit();
}

TEST(chains_run_to_their_end_after_main_has_left)
{
        static w_atomic_u32 left[4];

        for (uint32_t i = 1; i <= 5; i++) {
                sched_run(main_leaves_chains, left);
                CHECK_EQ(w_load_acq(&n_ran), 4 * i);
        }
}

/* ---- Main returns while others run ----------------------------------------------------------- */

static w_atomic_u32 over;

static void yield_for_ever(void *arg)
{
        (void)arg;
        w_add_acqrel(&n_ran, 1);
        for (;;) {
                CHECK_EQ(w_load_acq(&over), 0);
                weft_yield();
        }
}

static void never(void *arg)
{
        (void)arg;
        weft_yield();
        yield_for_ever(NULL);
}

static void main_drops_all_kinds(void *arg)
{
        (void)arg;
        w_store_rel(&n_ran, 0);
        for (int i = 0; i < 3; i++) {
                sched_go(park_for_ever, NULL);
                sched_go(yield_for_ever, NULL);
        }
        sched_await(&n_ran, 3);
        for (int i = 0; i < 500; i++)   /* more than a ring: some in the global queue */
                sched_go(never, NULL);
}

TEST(what_is_left_when_main_returns_never_runs_again)
{
        for (int i = 0; i < 20; i++) {
                w_store_rel(&over, 0);
                sched_run(main_drops_all_kinds, NULL);
                w_store_rel(&over, 1);
        }
}

/* ---- Threads that do not come back ----------------------------------------------------------- */

static w_atomic_u32 stuck, released;

static void compute_for_long(void *arg)
{
        (void)arg;
        w_store_rel(&stuck, 1);
        while (!w_load_acq(&released))
                w_os_yield();
        (void)!weft_go(count, NULL);     /* never returns */
        dprintf(2, "an abandoned thread came back\n");
        _exit(3);
}

static void main_abandons_one(void *arg)
{
        (void)arg;
        sched_go(compute_for_long, NULL);
        while (!w_load_acq(&stuck))     /* without yielding: another thread must run it */
                w_os_yield();
}

static void abandon_one(void *arg)
{
        weft_config cfg = { .procs = 2, .shutdown_ms = 30 };

        (void)arg;
        CHECK_EQ(sched_run_left(&cfg, main_abandons_one, NULL), 1);
        CHECK_EQ(weft_go(count, NULL), -ESHUTDOWN);
        CHECK_EQ(weft_count(), 0);
        w_store_rel(&released, 1);
        w_os_sleep_until(w_os_now() + 50000000);
        kill(getpid(), SIGTERM);        /* tools would report the thread at exit */
        pause();
}

TEST(threads_that_do_not_come_back_are_counted_and_stay_away)
{
        char err[16384];
        int  status = test_run_child(abandon_one, NULL, err, sizeof(err));

        CHECK_MSG(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM, "wait status %#x\n%s",
                  (unsigned)status, err);
        CHECK_MSG(strstr(err, "did not return to weft within 30 ms"), "said: %s", err);
}

static void compute_a_while(void *arg)
{
        int64_t until = w_os_now() + 30000000;

        (void)arg;
        w_store_rel(&stuck, 1);
        while (w_os_now() < until)
                w_os_yield();
}

static void main_leaves_a_slow_one(void *arg)
{
        (void)arg;
        sched_go(compute_a_while, NULL);
        while (!w_load_acq(&stuck))
                w_os_yield();
}

TEST(threads_that_come_back_late_are_waited_for)
{
        weft_config           cfg = { .procs = 2, .shutdown_ms = 20000 };
        struct test_resources before;

        sched_warm_up();
        before = test_resources_now();
        for (int i = 0; i < 3; i++) {
                w_store_rel(&stuck, 0);
                CHECK_EQ(sched_run_left(&cfg, main_leaves_a_slow_one, NULL), 0);
        }
        test_check_no_leak(&before);
}

/* ---- Sizes ----------------------------------------------------------------------------------- */

TEST(a_run_with_1024_ps)
{
        weft_config           cfg = { .procs = 1024 };
        struct test_resources before;

        CHECK_EQ(sched_run_left(&cfg, wander, NULL), 0);
        before = test_resources_now();
        w_store_rel(&n_ran, 0);
        CHECK_EQ(sched_run_left(&cfg, wander, NULL), 0);
        CHECK_EQ(w_load_acq(&n_ran), 1);
        CHECK_EQ(test_resources_now().descriptors, before.descriptors);
}

static void hold_thread(void *arg)
{
        (void)arg;
        w_add_acqrel(&n_ran, 1);
        while (w_load_acq(&n_ran) < 3)
                w_os_yield();
}

static void main_needs_threads(void *arg)
{
        for (int i = 0; i < 2; i++)
                sched_go(hold_thread, arg);
        hold_thread(arg);
}

static void exceed_thread_limit(void *arg)
{
        weft_config cfg = { .procs = 4, .max_threads = 2 };

        (void)!weft_run_with(&cfg, main_needs_threads, arg);
}

TEST(more_threads_than_allowed_is_fatal)
{
        test_expect_death(exceed_thread_limit, NULL, SIGABRT,
                          "weft: fatal: program exceeds 2-thread limit");
}

/* Threads beyond need end when they have had nothing to do for idle_ms; the run goes on. */
static void main_idles(void *arg)
{
        (void)arg;
        for (int i = 0; i < 20; i++) {
                wander(NULL);
                usleep(3000);
        }
}

TEST(a_run_with_impatient_threads)
{
        weft_config           cfg = { .idle_ms = 1 };
        struct test_resources before;

        sched_warm_up();
        before = test_resources_now();
        for (int i = 0; i < 3; i++)
                CHECK_EQ(sched_run_left(&cfg, main_idles, NULL), 0);
        test_check_no_leak(&before);
}

/* Signals that the caller had blocked are blocked in every goroutine, wherever it runs. */
static void check_mask(void *arg)
{
        sigset_t now;

        CHECK(pthread_sigmask(SIG_BLOCK, NULL, &now) == 0);
        CHECK(sigismember(&now, SIGUSR2) == 1);
        CHECK(sigismember(&now, SIGUSR1) == 0);
        count(arg);
}

static void main_masks(void *arg)
{
        for (int i = 0; i < 100; i++)
                sched_go(check_mask, arg);
        sched_await(&n_ran, 100);
}

TEST(goroutines_have_the_signal_mask_of_the_caller)
{
        sigset_t set;

        sigemptyset(&set);
        sigaddset(&set, SIGUSR2);
        CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
        sched_run(main_masks, NULL);
}
