/* tests/crash/test_fork_and_exit.c - what a program must not do: use weft in the child of a fork,
 * end a thread that runs goroutines.
 *
 * test: valgrind=no
 * The tests only fork and abort: valgrind takes long and finds nothing.
 *
 * SPDX-License-Identifier: MIT
 */
#include "harness/test.h"

#include "weft.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static weft_chan *channel;

/* ---- Fork ------------------------------------------------------------------------------------ */

static void nothing(void *arg)
{
        (void)arg;
}

static void go(void)
{
        (void)!weft_go(nothing, NULL);
}

static void send_one(void)
{
        (void)weft_chan_try_send(channel, &(int){ 1 });
}

static void yield(void)
{
        weft_yield();
}

static void run(void)
{
        (void)!weft_run(nothing, NULL);
}

static void stop(void)
{
        (void)weft_stop();
}

static void sleep_a_while(void)
{
        (void)weft_sleep(1);
}

static void signals(void)
{
        sigset_t set;

        sigemptyset(&set);
        sigaddset(&set, SIGUSR1);
        (void)!weft_signal(&set);
}

static void fork_again(void)
{
        int   status = 0;
        pid_t pid = fork();

        if (pid == 0)
                yield();
        test_wait_for(pid, &status);
        if (WIFSIGNALED(status))
                abort();
}

/* Forks; the child calls fn and must die in that call. The parent only waits for the child. */
static void fork_and(void (*fn)(void))
{
        int   status = 0;
        pid_t pid = fork();

        if (pid == 0) {
                fn();
                _exit(0);
        }
        CHECK(pid > 0);
        test_wait_for(pid, &status);
        if (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT)
                _exit(42);
        _exit(1);
}

struct forker {
        void (*fn)(void);
        bool   foreign;
};

static void *on_thread(void *arg)
{
        fork_and(((struct forker *)arg)->fn);
        return NULL;
}

static void main_forker(void *arg)
{
        struct forker *f = arg;
        pthread_t      thread;

        channel = weft_chan_new(sizeof(int), 4);
        CHECK(channel != NULL);
        if (!f->foreign)
                fork_and(f->fn);
        weft_block_begin();
        CHECK(pthread_create(&thread, NULL, on_thread, f) == 0);
        CHECK(pthread_join(thread, NULL) == 0);
        weft_block_end();
}

static void run_forker(void *arg)
{
        (void)!weft_run(main_forker, arg);
}

static void must_be_refused(struct forker f)
{
        char err[8192];
        int  status = test_run_child(run_forker, &f, err, sizeof(err));

        CHECK_MSG(WIFEXITED(status) && WEXITSTATUS(status) == 42, "status %#x\n%s",
                  (unsigned)status, err);
        CHECK_MSG(strstr(err, "weft: fatal: weft call in a child of fork: it may only exec or "
                              "_exit\n"), "%s", err);
        CHECK_MSG(!strstr(err, "goroutine 1"), "the parent's goroutines are shown:\n%s", err);
}

TEST(in_the_child_of_a_fork_weft_is_refused)
{
        void (*const calls[])(void) = { go, send_one, yield, run, stop, sleep_a_while,
                                        signals, fork_again };

        for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
                must_be_refused((struct forker){ calls[i], false });
}

/* weft_yield is sched_yield there. */
TEST(weft_is_refused_also_after_a_fork_by_another_thread)
{
        void (*const calls[])(void) = { go, send_one, run, stop, sleep_a_while, signals };

        for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
                must_be_refused((struct forker){ calls[i], true });
}

static void end(void)
{
        exit(0);
}

/* The atexit function is for the parent's end, but the child runs it too. */
static void start_and_fork(void *arg)
{
        (void)arg;
        CHECK(weft_start(NULL) == 0);
        CHECK(atexit(stop) == 0);
        fork_and(end);
}

TEST(a_run_in_the_background_is_not_stopped_by_a_forked_child)
{
        char err[8192];
        int  status = test_run_child(start_and_fork, NULL, err, sizeof(err));

        CHECK_MSG(WIFEXITED(status) && WEXITSTATUS(status) == 42, "status %#x\n%s",
                  (unsigned)status, err);
        CHECK_MSG(strstr(err, "weft call in a child of fork"), "%s", err);
}

/* The child returns from the goroutine's function instead of ending. */
static void main_returns(void *arg)
{
        int   status = 0;
        pid_t pid = fork();

        (void)arg;
        if (pid == 0)
                return;
        CHECK(pid > 0);
        test_wait_for(pid, &status);
        _exit(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT ? 42 : 1);
}

static void run_returns(void *arg)
{
        (void)!weft_run(main_returns, arg);
}

TEST(a_forked_goroutine_cannot_return)
{
        char err[8192];
        int  status = test_run_child(run_returns, NULL, err, sizeof(err));

        CHECK_MSG(WIFEXITED(status) && WEXITSTATUS(status) == 42, "status %#x\n%s",
                  (unsigned)status, err);
        CHECK_MSG(strstr(err, "weft call in a child of fork"), "%s", err);
}

/* ---- Threads that end ------------------------------------------------------------------------ */

static void leave(void *arg)
{
        (void)arg;
        weft_name("leaver");
        pthread_exit(NULL);
}

static void skip_if_it_is_refused(void)
{
#if defined(W_BUILT_WITH_TSAN)
        test_skip("ThreadSanitizer itself refuses pthread_exit on a goroutine's stack");
#endif
}

static void main_leaves(void *arg)
{
        leave(arg);
}

static void run_main_leaves(void *arg)
{
        (void)!weft_run(main_leaves, arg);
}

TEST(goroutine_1_calls_pthread_exit)
{
        skip_if_it_is_refused();
        test_expect_death(run_main_leaves, NULL, SIGABRT,
                          "weft: fatal: goroutine 1 \"leaver\" called pthread_exit\n");
}

static void main_child_leaves(void *arg)
{
        (void)arg;
        (void)weft_join(weft_go(leave, NULL));
        _exit(0);
}

static void run_child_leaves(void *arg)
{
        (void)!weft_run(main_child_leaves, arg);
}

TEST(another_goroutine_calls_pthread_exit)
{
        skip_if_it_is_refused();
        test_expect_death(run_child_leaves, NULL, SIGABRT,
                          "weft: fatal: goroutine 2 \"leaver\" called pthread_exit\n");
}

static void main_blocking_leaves(void *arg)
{
        (void)weft_blocking(leave, arg);
        _exit(0);
}

static void run_blocking_leaves(void *arg)
{
        (void)!weft_run(main_blocking_leaves, arg);
}

TEST(pthread_exit_on_the_stack_of_the_thread)
{
        skip_if_it_is_refused();
        test_expect_death(run_blocking_leaves, NULL, SIGABRT,
                          "weft: fatal: goroutine 1 \"leaver\" called pthread_exit\n");
}

/* Threads that weft starts cannot be cancelled. The thread that called weft_run can, while its
 * goroutine is in user code. */
static void *cancel(void *arg)
{
        CHECK(pthread_cancel(*(pthread_t *)arg) == 0);
        return NULL;
}

static void main_cancelled(void *arg)
{
        pthread_t victim = pthread_self(), other;

        (void)arg;
        CHECK(pthread_create(&other, NULL, cancel, &victim) == 0);
        weft_block_begin();
        for (;;)
                pause();
}

static void run_cancelled(void *arg)
{
        (void)!weft_run(main_cancelled, arg);
}

TEST(the_thread_of_goroutine_1_is_cancelled)
{
        skip_if_it_is_refused();
        test_expect_death(run_cancelled, NULL, SIGABRT,
                          "weft: fatal: goroutine 1 called pthread_exit\n");
}

/* Before and after a run this is allowed. */
static void *run_and_leave(void *arg)
{
        CHECK_EQ(weft_run(nothing, arg), 0);
        CHECK_EQ(weft_threads_left(), 0);
        pthread_exit(NULL);
}

TEST(after_the_run_its_thread_may_call_pthread_exit)
{
        pthread_t thread;

        CHECK_EQ(pthread_create(&thread, NULL, run_and_leave, NULL), 0);
        CHECK_EQ(pthread_join(thread, NULL), 0);
        run();
}
