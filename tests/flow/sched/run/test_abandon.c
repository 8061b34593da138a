/* tests/flow/sched/run/test_abandon.c - threads that do not come back when their run ends are
 * abandoned, and another run may begin.
 *
 * Each test is in a child process, because abandoned threads stay until the process ends.
 *
 * test: procs=1,2,4 valgrind=no
 * Valgrind reports the threads of a child that ends as leaks, and fails by its exit status. It also
 * takes a change from a goroutine's stack to a near signal stack and back for a large frame that is
 * gone, with everything between the two; with both stacks registered it loses count.
 *
 * SPDX-License-Identifier: MIT
 */
#include "harness/storm.h"
#include "lib/sync.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { N_ABANDONED = 6, N_BUSY = 500 };

static int          ends[2];
static void       (*then)(void);        /* what an abandoned thread does */
static w_atomic_u32 n_there, n_ran, n_handled;
static w_atomic_u64 progress;
static w_atomic_u32 computing_tids[2];

static void count(void *arg)
{
        (void)arg;
        w_add_acqrel(&n_ran, 1);
        CHECK_EQ(weft_sleep(WEFT_US(100)), 0);
}

static void main_busy(void *arg)
{
        (void)arg;
        sync_together(N_BUSY, count, NULL);
        CHECK_EQ(weft_check(), 0);
}

/* A whole run after a run that abandoned threads. */
static void run_again(void)
{
        uint32_t before = w_load_acq(&n_ran);

        sched_run(main_busy, NULL);
        CHECK_EQ(w_load_acq(&n_ran), before + N_BUSY);
}

static void await_n(const w_atomic_u32 *n, uint32_t wanted)
{
        while (w_load_acq(n) != wanted)
                CHECK_EQ(weft_sleep(WEFT_MS(1)), 0);
}

static void run_child(void (*fn)(void *), void *arg)
{
        char said[16384];
        int  status = test_run_child(fn, arg, said, sizeof(said));

        CHECK_MSG(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %#x\n%s",
                  (unsigned)status, said);
        CHECK_MSG(strstr(said, "did not return to weft within"), "%s", said);
}

/* ---- In the kernel --------------------------------------------------------------------------- */

static void read_one(void *arg)
{
        char c = 0;

        (void)arg;
        test_storm_spare();             /* an abandoned thread that computes may be stopped */
        w_add_acqrel(&n_there, 1);
        CHECK_EQ(test_read(ends[0], &c, 1), 1);
        w_add_acqrel(&n_there, 1);
}

/* The code after the read may run; the weft call must not return. */
static void read_for_ever(void *arg)
{
        read_one(arg);
        then();
        dprintf(2, "an abandoned thread came back\n");
        _exit(3);
}

static void (*reader)(void *) = read_for_ever;

static void main_leaves_readers(void *n)
{
        for (int i = 0; i < *(int *)n; i++)
                (void)sched_go(reader, NULL);
        await_n(&n_there, (uint32_t)*(int *)n);
}

static void leave_readers(void *n)
{
        /* Otherwise a thread that returns from the kernel may be stopped before it reports: its
         * timer expires as soon as a clock tick finds it in code other than libc. */
        weft_config cfg = { .shutdown_ms = 30, .preempt = WEFT_PREEMPT_BLOCKED };
        uint32_t    each = (uint32_t)*(int *)n;

        CHECK_EQ(pipe(ends), 0);
        CHECK_EQ(sched_run_left(&cfg, main_leaves_readers, n), *(int *)n);
        run_again();
        CHECK_EQ(write(ends[1], "xxxxxx", each), (int)each);
        while (w_load_acq(&n_there) != 2 * each)
                w_os_sleep_until(w_os_now() + 1000000);
        run_again();                    /* while they are about to enter, and after */
        run_again();
        _exit(0);
}

static void abandon_readers_that(void (*fn)(void), int n)
{
        then = fn;
        run_child(leave_readers, &n);
}

TEST(a_thread_in_the_kernel_is_abandoned)
{
        abandon_readers_that(weft_yield, 1);
}

TEST(several_threads_are_abandoned)
{
        abandon_readers_that(weft_yield, N_ABANDONED);
}

static void leave_readers_that_are(void (*fn)(void *))
{
        int n = N_ABANDONED;

        reader = fn;
        run_child(leave_readers, &n);
}

/* Into weft, which would reuse what is gone. */
TEST(an_abandoned_thread_may_return_from_its_function)
{
        leave_readers_that_are(read_one);
}

static void read_once(void *arg)
{
        weft_once once = WEFT_ONCE_INIT;

        weft_once_do(&once, read_one, arg);
        dprintf(2, "a once of an abandoned thread returned\n");
        _exit(3);
}

TEST(an_abandoned_thread_may_return_from_a_once)
{
        leave_readers_that_are(read_once);
}

static void do_nothing(void *arg)
{
        (void)arg;
}

static void do_once(void)
{
        weft_once once = WEFT_ONCE_INIT;

        weft_once_do(&once, do_nothing, NULL);
}

TEST(an_abandoned_thread_begins_no_once)
{
        abandon_readers_that(do_once, N_ABANDONED);
}

static void begin_a_run(void)
{
        (void)!weft_run(main_busy, NULL);
}

/* Between the runs of the others as well. */
TEST(an_abandoned_thread_begins_no_run)
{
        abandon_readers_that(begin_a_run, N_ABANDONED);
}

static void end_thread(void)
{
        pthread_exit(NULL);
}

TEST(an_abandoned_thread_may_end)
{
#if defined(W_TSAN)
        test_skip("it refuses that a thread ends on a fiber");
#endif
        abandon_readers_that(end_thread, N_ABANDONED);
}

/* ---- Computing ------------------------------------------------------------------------------- */

static void compute_for_ever(void *arg)
{
        w_store_rel((w_atomic_u32 *)arg, (uint32_t)w_os_tid());
        w_add_acqrel(&n_there, 1);
        for (;;)
                w_add_rlx(&progress, 1);                          /* counter */
}

static void main_abandons_computing(void *arg)
{
        (void)arg;
        (void)sched_go(compute_for_ever, &computing_tids[0]);
        (void)sched_go(compute_for_ever, &computing_tids[1]);
        await_n(&n_there, 2);
}

/* Both sleep, for a while; a thread that only waits for a CPU is ready. */
static bool stays_stopped(void)
{
        uint64_t before = w_load_acq(&progress);

        if (w_os_thread_is_ready((int)w_load_acq(&computing_tids[0])) > 0 ||
            w_os_thread_is_ready((int)w_load_acq(&computing_tids[1])) > 0)
                return false;
        w_os_sleep_until(w_os_now() + 50000000);
        return w_load_acq(&progress) == before;
}

static void abandon_computing(void *arg)
{
        weft_config cfg = { .shutdown_ms = 30 };

        CHECK_EQ(sched_run_left(&cfg, main_abandons_computing, arg), 2);
        while (!stays_stopped())
                w_os_yield();
        uint64_t stood_at = w_load_acq(&progress);

        run_again();
        while (!stays_stopped())         /* a signal may have woken one for a moment */
                w_os_yield();
        CHECK_EQ(w_load_acq(&progress), stood_at);
        _exit(0);
}

TEST(threads_that_compute_are_stopped_for_ever)
{
#if defined(W_TSAN) || (defined(W_ASAN) && defined(__clang__))
        test_skip("threads are not stopped where signals are delayed or malloc is the program's");
#endif
        if (test_is_emulated())
                test_skip("the emulator has no timers on the CPU time of threads");
        run_child(abandon_computing, NULL);
}

/* ---- In a handler ---------------------------------------------------------------------------- */

static void read_by_name(void *arg)
{
        w_store_rel(&computing_tids[0], (uint32_t)w_os_tid());
        read_one(arg);
}

/* Long enough to be hit by the signal. */
static void handle_slowly(int sig)
{
        struct timespec used, begin;

        (void)sig;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
        do {
                for (volatile int i = 0; i < 100000; i++)
                        ;
                clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
        } while ((used.tv_sec - begin.tv_sec) * 1000000000 + used.tv_nsec - begin.tv_nsec <
                 50000000);
        w_add_acqrel(&n_handled, 1);
}

static void leave_one_to_signals(void *n)
{
        weft_config      cfg = { .shutdown_ms = 30 };
        struct sigaction action = { .sa_handler = handle_slowly,
                                    .sa_flags = SA_ONSTACK | SA_RESTART };

        CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
        CHECK_EQ(pipe(ends), 0);
        CHECK_EQ(sched_run_left(&cfg, main_leaves_readers, n), *(int *)n);
        CHECK_EQ(syscall(SYS_tgkill, getpid(), (int)w_load_acq(&computing_tids[0]), SIGUSR1), 0);
        while (w_load_acq(&n_handled) == 0)
                w_os_sleep_until(w_os_now() + 1000000);
        run_again();
        _exit(0);
}

/* Else the work of the signal would never be done. */
TEST(an_abandoned_thread_comes_to_the_end_of_a_handler)
{
        int n = 1;

#if defined(W_TSAN)
        test_skip("it delays the handler until the read is over");
#endif
        reader = read_by_name;
        run_child(leave_one_to_signals, &n);
}

/* ---- Many times ------------------------------------------------------------------------------ */

static void main_leaves_one(void *arg)
{
        uint32_t before = w_load_acq(&n_there);

        (void)sched_go(read_for_ever, arg);
        await_n(&n_there, before + 1);
        sync_together(50, count, NULL);
}

static void leave_one_each_time(void *arg)
{
        weft_config cfg = { .shutdown_ms = 2 };

        then = weft_yield;
        CHECK_EQ(pipe(ends), 0);
        for (int i = 0; i < 20; i++)
                CHECK_EQ(sched_run_left(&cfg, main_leaves_one, arg), 1);
        run_again();
        _exit(0);
}

TEST(every_run_may_abandon_a_thread)
{
        run_child(leave_one_each_time, NULL);
}

/* ---- How many, and the exit status ----------------------------------------------------------- */

static void main_sees_the_last_count(void *n)
{
        CHECK_EQ(weft_threads_left(), *(int *)n);
        main_busy(NULL);
}

static void count_of_the_last_run(void *n)
{
        weft_config cfg = { .shutdown_ms = 30 }, bad = { .procs = -1 };

        then = weft_yield;
        CHECK_EQ(pipe(ends), 0);
        CHECK_EQ(weft_threads_left(), 0);       /* there was no run yet */
        CHECK_EQ(weft_run_with(&cfg, main_leaves_readers, n), 0);
        CHECK_EQ(weft_threads_left(), *(int *)n);
        CHECK_EQ(weft_run_with(&bad, main_busy, NULL), -EINVAL);
        CHECK_EQ(weft_threads_left(), *(int *)n);
        cfg.shutdown_ms = 300000;
        CHECK_EQ(weft_run_with(&cfg, main_sees_the_last_count, n), 0);
        CHECK_EQ(weft_threads_left(), 0);
        _exit(0);
}

TEST(the_count_is_of_the_last_run)
{
        int n = N_ABANDONED;

        run_child(count_of_the_last_run, &n);
}

static void exit_with_the_result(void *n)
{
        weft_config cfg = { .shutdown_ms = 30 };

        then = weft_yield;
        CHECK_EQ(pipe(ends), 0);
        _exit(weft_run_with(&cfg, main_leaves_readers, n));
}

TEST(a_run_that_abandons_threads_exits_with_0)
{
        int n = N_ABANDONED;

        run_child(exit_with_the_result, &n);    /* checks the status */
}

static void exit_with_a_failed_start(void *arg)
{
        weft_config bad = { .procs = -1 };

        _exit(weft_run_with(&bad, main_busy, arg));
}

TEST(a_run_that_cannot_start_does_not_exit_with_0)
{
        char said[1024];
        int  status = test_run_child(exit_with_a_failed_start, NULL, said, sizeof(said));

        CHECK_MSG(WIFEXITED(status) && WEXITSTATUS(status) != 0, "status %#x\n%s",
                  (unsigned)status, said);
}
