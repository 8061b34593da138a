/* tests/flow/signal/test_signal_storm.c - signals hit every thread a thousand times a second while
 * goroutines and other threads use everything: nothing is lost, nothing is early, no call reports
 * EINTR.
 *
 * The handler does not ask for system calls to be restarted.
 *
 * test: procs=1,2,4 valgrind=no
 * Valgrind reports the threads of a child that ends as leaks, and fails by its exit status. It also
 * takes a change from a goroutine's stack to a near signal stack and back for a large frame that
 * is gone, with everything between the two; with both stacks registered it loses count.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/sched.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { N_WORKERS = 3 };

static w_atomic_u32 n_signals, calm;

static void on_signal(int sig)
{
        (void)sig;
        w_add_rlx(&n_signals, 1);
}

static void signal_all(void)
{
        DIR *dir = opendir("/proc/self/task");

        CHECK(dir != NULL);
        for (struct dirent *d; (d = readdir(dir));) {
                long tid = strtol(d->d_name, NULL, 10);

                if (tid > 0)
                        (void)syscall(SYS_tgkill, getpid(), tid, SIGUSR1);      /* it may be gone */
        }
        closedir(dir);
}

static void *storm(void *arg)
{
        (void)arg;
        while (!w_load_acq(&calm)) {
                signal_all();
                test_sleep_us(1000);
        }
        return NULL;
}

/* ---- What runs meanwhile --------------------------------------------------------------------- */

static struct {
        weft_chan   *chan;
        weft_mutex   mutex;
        weft_rwmutex rwmutex;
        uint64_t     counter;           /* mutex */
        w_atomic_u32 n_sent, n_got, n_calls;
        uint32_t     rounds;
} world;

static void sleep_exactly(int64_t ns)
{
        int64_t from = weft_now();

        CHECK_EQ(weft_sleep(ns), 0);
        CHECK(weft_now() - from >= ns);
}

static void sleeper(void *arg)
{
        (void)arg;
        for (uint32_t i = 0; i < world.rounds; i++)
                sleep_exactly(WEFT_US(300));
}

static void sender(void *arg)
{
        (void)arg;
        for (uint32_t i = 0; i < world.rounds; i++) {
                int v = 1;

                CHECK_EQ(weft_chan_send(world.chan, &v), 0);
                w_add_rlx(&world.n_sent, 1);
        }
}

static void receiver(void *arg)
{
        int v;

        (void)arg;
        while (weft_chan_recv(world.chan, &v) == 0)
                w_add_rlx(&world.n_got, (uint32_t)v);
}

static void locker(void *arg)
{
        (void)arg;
        for (uint32_t i = 0; i < world.rounds; i++) {
                weft_mutex_lock(&world.mutex);
                uint64_t n = world.counter;

                weft_yield();
                world.counter = n + 1;
                weft_mutex_unlock(&world.mutex);
                weft_rwmutex_rlock(&world.rwmutex);
                weft_rwmutex_runlock(&world.rwmutex);
        }
}

/* The kernel's EINTR is the user's own in the user's own calls. */
static void call_the_kernel(void *arg)
{
        (void)arg;
        w_add_rlx(&world.n_calls, 1);
        (void)usleep(200);
}

static void blocker(void *arg)
{
        (void)arg;
        for (uint32_t i = 0; i < world.rounds; i++) {
                CHECK_EQ(weft_blocking(call_the_kernel, NULL), 0);
                weft_block_begin();
                call_the_kernel(NULL);
                weft_block_end();
        }
}

static void fire(void *arg)
{
        weft_sem_release(arg);
}

/* Timers, select with a time-out, scopes with a deadline. */
static void timekeeper(void *arg)
{
        (void)arg;
        for (uint32_t i = 0; i < world.rounds; i++) {
                weft_sem    fired = WEFT_SEM_INIT(0);
                weft_scope  scope;
                weft_timer *t = weft_timer_new(WEFT_US(200), fire, &fired);

                CHECK(t != NULL);
                CHECK_EQ(weft_sem_acquire(&fired), 0);
                weft_timer_free(t);
                weft_case cases[] = { WEFT_AFTER(WEFT_US(100)),
                                      WEFT_RECV((weft_chan *)NULL, NULL) };
                int64_t   from = weft_now();

                CHECK_EQ(weft_select(cases, 2), 0);
                CHECK(weft_now() - from >= WEFT_US(100));
                CHECK_EQ(weft_scope_open(&scope, WEFT_US(100)), 0);
                CHECK_EQ(weft_sleep(WEFT_SEC(100)), -ETIMEDOUT);
                CHECK_EQ(weft_scope_close(&scope), 0);
        }
}

static void nothing(void *arg)
{
        (void)arg;
}

static void parent(void *arg)
{
        (void)arg;
        for (uint32_t i = 0; i < world.rounds; i++) {
                sched_join(sched_go(nothing, NULL));
                if (i % 16 == 0)
                        CHECK_EQ(weft_check(), 0);
        }
}

/* A thread of the program waits through weft, too. */
static void *foreign(void *arg)
{
        (void)arg;
        sender(NULL);
        locker(NULL);
        for (uint32_t i = 0; i < world.rounds / 8; i++) {
                sleep_exactly(WEFT_US(200));
                sched_join(sched_go(nothing, NULL));
        }
        return NULL;
}

static void (*const kinds[])(void *) = { sleeper, sender, locker, blocker, timekeeper, parent };
enum { N_KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static void everything(void)
{
        int64_t   ids[N_KINDS * N_WORKERS], receivers[2];
        pthread_t other;

        for (int i = 0; i < 2; i++)
                receivers[i] = sched_go(receiver, NULL);
        for (int i = 0; i < N_KINDS * N_WORKERS; i++)
                ids[i] = sched_go(kinds[i % N_KINDS], NULL);
        weft_block_begin();
        CHECK_EQ(pthread_create(&other, NULL, foreign, NULL), 0);
        CHECK_EQ(pthread_join(other, NULL), 0);
        weft_block_end();
        for (int i = 0; i < N_KINDS * N_WORKERS; i++)
                sched_join(ids[i]);
        CHECK_EQ(weft_chan_close(world.chan), 0);
        for (int i = 0; i < 2; i++)
                sched_join(receivers[i]);
}

static void main_storm(void *arg)
{
        pthread_t thread;
        uint32_t  n = world.rounds;

        (void)arg;
        world.chan = weft_chan_new(sizeof(int), 2);
        CHECK(world.chan != NULL);
        CHECK_EQ(pthread_create(&thread, NULL, storm, NULL), 0);
        everything();
        w_store_rel(&calm, 1);
        weft_block_begin();
        CHECK_EQ(pthread_join(thread, NULL), 0);
        weft_block_end();
        CHECK_EQ(w_load_rlx(&world.n_sent), n * (N_WORKERS + 1));
        CHECK_EQ(w_load_rlx(&world.n_got), n * (N_WORKERS + 1));
        CHECK_EQ(world.counter, (uint64_t)n * (N_WORKERS + 1));
        CHECK_EQ(w_load_rlx(&world.n_calls), 2 * n * N_WORKERS);
}

/* At start and end of a run as well. */
TEST(nothing_is_lost_in_a_storm_of_signals)
{
        struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };

        CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
        world.rounds = sched_scale(200) > 10 ? sched_scale(200) : 10;
        sched_run(main_storm, NULL);
        CHECK_MSG(w_load_rlx(&n_signals) > 10, "%u signals", w_load_rlx(&n_signals));
}
