/* tests/flow/sched/run/test_process_exit.c - the program ends by exit() while goroutines run, wait
 * and block.
 *
 * test: procs=1,2,4 valgrind=no
 * Valgrind reports the threads of a child that ends as leaks, and fails by its exit status. It also
 * takes a change from a goroutine's stack to a near signal stack and back for a large frame that
 * is gone, with everything between the two; with both stacks registered it loses count.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/sched.h"

#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static weft_mutex mutex = WEFT_MUTEX_INIT;
static weft_chan *channel;
static w_atomic_u32 n_going;

static void going(void)
{
        w_add_rel(&n_going, 1);
}

/* Memory that only its stack knows: LeakSanitizer finds it there. Not in a register, while malloc
 * returns: it does not know the main thread of a process that was forked. */
static void hold(void *arg)
{
        void *volatile memory = malloc(100);

        (void)arg;
        going();
        (void)weft_sleep(WEFT_FOREVER);
        free(memory);
}

static void spin(void *arg)
{
        (void)arg;
        for (going();;)
                weft_yield();
}

static void send_all(void *arg)
{
        (void)arg;
        going();
        for (int v = 0; weft_chan_send(channel, &v) == 0;)
                continue;
}

static void receive_all(void *arg)
{
        (void)arg;
        going();
        for (int v; weft_chan_recv(channel, &v) == 0;)
                continue;
}

static void lock_and_unlock(void *arg)
{
        (void)arg;
        for (going();;) {
                weft_mutex_lock(&mutex);
                weft_yield();
                weft_mutex_unlock(&mutex);
        }
}

static void block(void *arg)
{
        (void)arg;
        going();
        for (;;) {
                weft_block_begin();
                usleep(50);
                weft_block_end();
        }
}

static void spawn_and_join(void *arg)
{
        if (arg)
                return;
        for (going();;)
                sched_join(sched_go(spawn_and_join, &mutex));
}

static void tick(void *arg)
{
        weft_chan *c = weft_tick(WEFT_US(50));
        int64_t    at;

        (void)arg;
        going();
        while (weft_chan_recv(c, &at) == 0)
                continue;
}

/* Loses its P, and is preempted. */
static void compute(void *arg)
{
        (void)arg;
        for (going();;)
                w_cpu_pause();
}

static int fds[2];

static void read_plainly(void *arg)
{
        char c;

        (void)arg;
        going();
        (void)!read(fds[0], &c, 1);
}

static void read_by_weft(void *arg)
{
        char c;

        (void)arg;
        going();
        (void)!weft_read(fds[0], &c, 1);
}

static void sleep_locked(void *arg)
{
        (void)arg;
        weft_thread_lock();
        going();
        (void)weft_sleep(WEFT_FOREVER);
}

static void (*const kinds[])(void *) = { spin, send_all, receive_all, lock_and_unlock, block,
                                         spawn_and_join, tick, read_by_weft, sleep_locked,
                                         compute, read_plainly };
enum { N_KINDS = sizeof(kinds) / sizeof(kinds[0]), N_STUCK = 2, N_HOLD = 2 };

/* ---- The ends -------------------------------------------------------------------------------- */

static bool in_region;

/* Runs on the stack of the thread that calls exit, and may use weft there. */
static void at_end(void)
{
        if (!in_region) {
                weft_mutex_lock(&mutex);
                weft_mutex_unlock(&mutex);
        }
        CHECK_EQ(weft_chan_try_send(NULL, &(int){ 1 }), -EAGAIN);
        (void)!write(2, "at end\n", 7);
}

static void exit_here(void *arg)
{
        (void)arg;
        exit(7);
}

static void *exit_on_thread(void *arg)
{
        exit_here(arg);
        return NULL;
}

static void start_thread(void *arg)
{
        pthread_t thread;

        CHECK_EQ(pthread_create(&thread, NULL, exit_on_thread, arg), 0);
}

static void exit_in_goroutine(void *arg)
{
        sched_go(exit_here, arg);
}

static void exit_in_region(void *arg)
{
        weft_block_begin();
        in_region = true;
        exit_here(arg);
}

static void exit_blocking(void *arg)
{
        in_region = true;
        (void)weft_blocking(exit_here, arg);
}

static void main_world(void *arg)
{
        void (*const ends[])(void *) = { exit_here, exit_in_goroutine, exit_in_region,
                                         exit_blocking, start_thread };
        uint32_t n = *(uint32_t *)arg;
        uint32_t n_kinds = n % 4 == 3 ? N_KINDS : N_KINDS - N_STUCK;    /* these builds are slow */

        CHECK_EQ(pipe(fds), 0);
        channel = weft_chan_new(sizeof(int), 0);
        for (int i = 0; i < N_HOLD; i++)
                sched_go(hold, NULL);
        sched_await(&n_going, N_HOLD);
        for (uint32_t i = 0; i < 2 * n_kinds; i++)
                sched_go(kinds[i % n_kinds], NULL);
        sched_await(&n_going, N_HOLD + 1 + n % (2 * n_kinds));
        ends[n % (sizeof(ends) / sizeof(ends[0]))](NULL);
        (void)weft_sleep(WEFT_FOREVER);
}

static void run_world(void *arg)
{
        CHECK_EQ(atexit(at_end), 0);
        (void)!weft_run(main_world, arg);
        _exit(1);
}

TEST(exit_is_safe_while_goroutines_run)
{
        uint32_t n_rounds = getenv("TEST_LONG") ? 200 : test_is_slow() ? 10 : 50;

        for (uint32_t n = 0; n < n_rounds; n++) {
                char err[8192];
                int  status = test_run_child(run_world, &n, err, sizeof(err));

                CHECK_MSG(WIFEXITED(status) && WEXITSTATUS(status) == 7, "round %u: status %#x\n%s",
                          n, (unsigned)status, err);
                /* On a busy machine the output may also report a goroutine that blocked its
                 * thread. */
                CHECK_MSG(strstr(err, "at end\n") && !strstr(err, "fatal"), "round %u: %s", n, err);
        }
}
