/* tests/crash/test_deadlock.c - all goroutines wait and nothing can wake one: the program reports
 * it. While something can, it does not.
 *
 * The children of a test have one thread of their own. A sanitizer or an emulator may add one to
 * every process: then a deadlock cannot be recognised, and the tests of the report are skipped.
 *
 * test: valgrind=no
 * The tests only fork and abort: valgrind takes long and finds nothing.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/sanitizer.h"
#include "harness/test.h"

#include "os/os.h"

#include "weft.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEADLOCK "weft: fatal: all goroutines are asleep - deadlock!"

static weft_chan *chan;
static weft_mutex mutex = WEFT_MUTEX_INIT;
static weft_sem   sem = WEFT_SEM_INIT(0);
static weft_wg    wg = WEFT_WG_INIT;
static weft_cond  cond = WEFT_COND_INIT;

struct program {
        void (*fn)(void *);
        int    procs;
};

static void run(void *arg)
{
        const struct program *p = arg;
        weft_config           cfg = { .procs = p->procs };

        (void)!weft_run_with(&cfg, p->fn, NULL);
}

static void skip_if_not_alone(void)
{
#if defined(W_TSAN)             /* which starts threads of its own at any time */
        test_skip("something may put a thread into this process");
#endif
        if (w_os_thread_count() != 1)
                test_skip("something has put a thread into this process");
}

static void expect_deadlock(void (*fn)(void *))
{
        skip_if_not_alone();
        for (int procs = 1; procs <= 4; procs *= 2) {
                struct program p = { fn, procs };

                test_expect_death(run, &p, SIGABRT, DEADLOCK);
        }
}

/* The child exits normally; `said` gets what it wrote. */
static void expect_none(void (*fn)(void *), char *said, size_t size)
{
        for (int procs = 1; procs <= 4; procs *= 2) {
                struct program p = { fn, procs };
                int            status = test_run_child(run, &p, said, size);

                CHECK_MSG(status == 0, "wait status %#x with %d Ps, said %s", (unsigned)status,
                          procs, said);
        }
}

static void nap(int ms)
{
        w_os_sleep_until(w_os_now() + (int64_t)ms * 1000000);
}

/* ---- Reports --------------------------------------------------------------------------------- */

static void receive_without_sender(void *arg)
{
        (void)arg;
        chan = weft_chan_new(sizeof(int), 0);
        (void)weft_chan_recv(chan, NULL);
}

TEST(main_receives_from_a_channel_without_senders)
{
        expect_deadlock(receive_without_sender);
}

static void lock_twice(void *arg)
{
        (void)arg;
        weft_mutex_lock(&mutex);
        weft_mutex_lock(&mutex);
}

TEST(main_locks_twice)
{
        expect_deadlock(lock_twice);
}

static void select_nothing(void *arg)
{
        (void)arg;
        (void)!weft_select(NULL, 0);
}

TEST(main_selects_from_nothing)
{
        expect_deadlock(select_nothing);
}

static void wait_somehow(void *arg)
{
        switch ((int)(intptr_t)arg % 5) {
        case 0: (void)!weft_sem_acquire(&sem); break;
        case 1: (void)weft_wg_wait(&wg); break;
        case 2: (void)weft_park(); break;
        case 3: (void)weft_chan_send(NULL, NULL); break;
        case 4: (void)weft_join(1); break;
        }
}

static void all_kinds_wait(void *arg)
{
        (void)arg;
        weft_wg_add(&wg, 1);
        for (int i = 0; i < 50; i++)
                (void)!weft_go(wait_somehow, (void *)(intptr_t)i);
        weft_mutex_lock(&mutex);
        (void)!weft_cond_wait(&cond, &mutex);
}

TEST(goroutines_wait_in_every_kind_of_call)
{
        expect_deadlock(all_kinds_wait);
}

/* Timers, regions and foreign threads that have come and gone do not hide it. */
static void *come_and_go(void *arg)
{
        weft_sem_release(&sem);
        (void)!weft_go(wait_somehow, (void *)2);
        return arg;
}

static void after_a_busy_life(void *arg)
{
        pthread_t thread;

        (void)weft_sleep(WEFT_MS(2));
        weft_timer *t = weft_timer_new(WEFT_SEC(1000), wait_somehow, NULL);

        (void)weft_timer_stop(t);
        weft_block_begin();
        nap(2);
        weft_block_end();
        nap(25);                                        /* blocks: its P is taken, maybe */
        if (pthread_create(&thread, NULL, come_and_go, NULL) != 0)
                return;
        (void)!weft_sem_acquire(&sem);
        (void)pthread_join(thread, NULL);
        receive_without_sender(arg);
}

TEST(a_deadlock_after_a_busy_life)
{
        expect_deadlock(after_a_busy_life);
}

static void *end_later(void *arg)
{
        nap(50);
        return arg;
}

static void last_hope_ends(void *arg)
{
        pthread_t thread;

        if (pthread_create(&thread, NULL, end_later, NULL) == 0)
                receive_without_sender(arg);
}

TEST(the_last_thread_of_the_program_ends_without_a_word)
{
        expect_deadlock(last_hope_ends);
}

static void main_leaves(void *arg)
{
        (void)!weft_go(receive_without_sender, arg);
        weft_exit();
}

TEST(main_has_left_and_the_others_wait)
{
        expect_deadlock(main_leaves);
}

/* The dump shows which goroutine waits for what. */
TEST(the_dump_shows_the_waiting_goroutines)
{
        struct program p = { receive_without_sender, 2 };
        char           err[4096];

        skip_if_not_alone();
        (void)test_run_child(run, &p, err, sizeof(err));
        CHECK_MSG(strstr(err, "goroutine 1 [chan receive"), "said: %s", err);
}

/* ---- No report ------------------------------------------------------------------------------- */

static void *send_later(void *arg)
{
        int v = 1;

        nap(*(int *)arg);
        (void)weft_chan_send(chan, &v);
        return NULL;
}

/* Waits until weft has printed something, passes it on and sends. */
static void *send_after_report(void *arg)
{
        char    text[1024];
        int    *err = arg, v = 1;
        ssize_t n = test_read(err[0], text, sizeof(text));

        if (n > 0)
                (void)!write(err[1], text, (size_t)n);
        (void)weft_chan_send(chan, &v);
        return NULL;
}

static void wait_for_a_thread(void *arg)
{
        pthread_t thread;
        int       report[2], err[2];

        (void)arg;
        if (pipe(report) != 0)
                return;
        err[0] = report[0];
        err[1] = dup(2);
        dup2(report[1], 2);
        chan = weft_chan_new(sizeof(int), 0);
        if (pthread_create(&thread, NULL, send_after_report, err) != 0)
                return;
        (void)weft_chan_recv(chan, NULL);
        (void)pthread_join(thread, NULL);
}

TEST(a_thread_of_the_program_may_wake_them)
{
        char said[1024];

        skip_if_not_alone();
        expect_none(wait_for_a_thread, said, sizeof(said));
        CHECK_STR(said, "weft: all 1 goroutines are asleep, 1 threads of the program are not\n");
}

static void wait_beside_others(void *arg)
{
        static int ms = 3600000;
        pthread_t  thread;

        if (pthread_create(&thread, NULL, send_later, &ms) != 0)
                return;
        for (int i = 0; i < 2; i++)
                (void)!weft_go(wait_somehow, (void *)2);
        wait_for_a_thread(arg);
}

TEST(a_deadlock_report_counts_the_goroutines)
{
        char said[1024];

        skip_if_not_alone();
        expect_none(wait_beside_others, said, sizeof(said));
        CHECK_STR(said, "weft: all 3 goroutines are asleep, 2 threads of the program are not\n");
}

static void wait_for_threads_again_and_again(void *arg)
{
        (void)arg;
        chan = weft_chan_new(sizeof(int), 0);
        for (int i = 0; i < 40; i++) {
                pthread_t thread;
                int       ms = i % 4;

                if (pthread_create(&thread, NULL, send_later, &ms) != 0)
                        return;
                (void)weft_chan_recv(chan, NULL);
                (void)pthread_join(thread, NULL);
        }
}

TEST(threads_that_send_and_end_are_no_false_alarm)
{
        char said[1024];

        expect_none(wait_for_threads_again_and_again, said, sizeof(said));
        /* weft waits for a thread that gets no CPU, and reports that. */
        CHECK_MSG(!strstr(said, "deadlock"), "said: %s", said);
}

static void sleep_long(void *arg)
{
        (void)arg;
        (void)weft_sleep(WEFT_MS(60));
}

TEST(a_timer_is_a_wake_source)
{
        char said[1024];

        expect_none(sleep_long, said, sizeof(said));
        CHECK_STR(said, "");
}

/* Sent by another process, because the program has no other thread. */
static void wait_for_a_signal(void *arg)
{
        pid_t      parent = getpid();
        sigset_t   set;
        int        sig = 0, status;

        (void)arg;
        sigemptyset(&set);
        sigaddset(&set, SIGUSR1);
        weft_chan *signals = weft_signal(&set);
        pid_t      child = signals ? fork() : -1;

        if (child == 0) {
                nap(200);
                _exit(kill(parent, SIGUSR1));
        }
        (void)!weft_go(wait_somehow, (void *)2);
        if (weft_chan_recv(signals, &sig) != 0 || sig != SIGUSR1)
                _exit(3);
        test_wait_for(child, &status);
        _exit(status);
}

TEST(a_signal_is_a_wake_source)
{
        char said[1024];

        expect_none(wait_for_a_signal, said, sizeof(said));
        CHECK_STR(said, "");
}

static int ends[2];

static void write_later(void *arg)
{
        (void)arg;
        weft_block_begin();
        nap(60);
        weft_block_end();
        (void)!write(ends[1], "x", 1);
}

/* One goroutine in read(2), one in a region, a third that waits for both. */
static void blocked_ones(void *arg)
{
        char c;

        (void)arg;
        (void)!read(ends[0], &c, 1);
        weft_wg_done(&wg);
}

static void wait_for_blocked(void *arg)
{
        weft_wg_add(&wg, 1);
        if (pipe(ends) != 0)
                return;
        (void)!weft_go(blocked_ones, arg);
        (void)!weft_go(write_later, arg);
        (void)weft_wg_wait(&wg);
}

TEST(a_blocked_goroutine_is_a_wake_source)
{
        char said[4096];

        expect_none(wait_for_blocked, said, sizeof(said));
        CHECK_MSG(!strstr(said, "asleep"), "said: %s", said);
}

/* A process that is stopped as a whole continues as a whole. */
static void stop_oneself(void *arg)
{
        pid_t parent = getpid();
        pid_t child = fork();

        if (child == 0) {
                nap(20);
                kill(parent, SIGSTOP);
                nap(100);
                kill(parent, SIGCONT);
                _exit(0);
        }
        sleep_long(arg);
        (void)waitpid(child, NULL, 0);
}

TEST(a_process_that_is_stopped_is_not_asleep)
{
        char said[1024];

        expect_none(stop_oneself, said, sizeof(said));
        CHECK_STR(said, "");
}
