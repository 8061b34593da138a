/* tests/flow/sched/thread/test_lockthread.c - goroutines that are locked to their threads.
 *
 * test: procs=1,2,4
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/sched.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static w_atomic_u32 n_done, stop;

static void wander(void *arg)
{
        (void)arg;
        for (int i = 0; i < 5; i++)
                weft_yield();
        w_add_acqrel(&n_done, 1);
}

/* Leaves its thread and comes back in every possible way. */
static void leave_and_return(void)
{
        int64_t ids[4];

        for (int i = 0; i < 4; i++)
                ids[i] = sched_go(wander, NULL);
        weft_yield();
        for (int i = 0; i < 4; i++)
                sched_join(ids[i]);
        CHECK_EQ(weft_sleep(WEFT_US(50)), 0);
        CHECK_EQ(weft_unpark(weft_id()), 0);
        CHECK_EQ(weft_park(), 0);
}

/* ---- Nesting --------------------------------------------------------------------------------- */

static uint32_t depth(void)
{
        return w_g()->locked ? w_g_cold(w_g())->n_thread_locks : 0;
}

static void main_nests(void *arg)
{
        (void)arg;
        weft_yield();
        CHECK_EQ(depth(), 0);
        weft_thread_lock();
        int tid = w_os_tid();

        CHECK_EQ(depth(), 1);
        weft_thread_lock();
        CHECK_EQ(depth(), 2);
        weft_thread_unlock();
        CHECK_EQ(depth(), 1);
        leave_and_return();
        CHECK_EQ(w_os_tid(), tid);
        weft_thread_unlock();
        CHECK_EQ(depth(), 0);
        CHECK(!w_m()->locked_g);
        leave_and_return();
        CHECK_EQ(weft_check(), 0);
}

TEST(locks_nest) { sched_run(main_nests, NULL); }

/* The first lock is in a region, where the P may be gone. */
static void call_that_locks(void *arg)
{
        *(int *)arg = w_os_tid();
        weft_thread_lock();
        w_os_sleep_until(w_os_now() + 3000000);
}

static void main_locks_in_region(void *arg)
{
        int tid = 0;

        (void)arg;
        sched_go(wander, NULL);         /* needs the P */
        CHECK_EQ(weft_blocking(call_that_locks, &tid), 0);
        CHECK_EQ(w_os_tid(), tid);
        leave_and_return();
        CHECK_EQ(w_os_tid(), tid);
        weft_block_begin();
        w_os_sleep_until(w_os_now() + 3000000);
        weft_thread_unlock();
        weft_block_end();
        CHECK_EQ(depth(), 0);
        CHECK_EQ(weft_check(), 0);
}

TEST(a_region_may_lock_and_unlock) { sched_run(main_locks_in_region, NULL); }

static void lock_outside(void *arg)     { (void)arg; weft_thread_lock(); }
static void unlock_first(void *arg)     { (void)arg; weft_thread_unlock(); }
static void run_unlock_first(void *arg) { (void)!weft_run(unlock_first, arg); }

TEST(misuse_is_fatal)
{
        test_expect_death(lock_outside, NULL, SIGABRT,
                          "weft: fatal: weft_thread_lock called outside a goroutine");
        test_expect_death(run_unlock_first, NULL, SIGABRT,
                          "weft: fatal: goroutine 1 unlocks a thread that it has not locked");
}

/* ---- The thread that called weft_run --------------------------------------------------------- */

static void not_on_main_thread(void *arg)
{
        for (int i = 0; i < 20 && !w_load_acq(&stop); i++) {
                CHECK(w_os_tid() != getpid());
                weft_yield();
        }
        wander(arg);
}

static void main_stays(void *arg)
{
        (void)arg;
        weft_thread_lock();
        for (int i = 0; i < 8; i++)
                sched_go(not_on_main_thread, NULL);
        for (int i = 0; i < 20; i++) {
                leave_and_return();
                CHECK_EQ(w_os_tid(), getpid());
        }
        w_store_rel(&stop, 1);
}

TEST(goroutine_1_stays_where_it_began)
{
        CHECK_EQ(w_os_tid(), getpid());
        sched_run(main_stays, NULL);
}

/* Goroutine 1 ends locked: its thread does not end, and other goroutines continue without it. */
static void count_later(void *arg)
{
        CHECK_EQ(weft_sleep(WEFT_MS(1)), 0);
        for (int i = 0; i < 10; i++)
                sched_go(not_on_main_thread, arg);
}

static void main_exits_locked(void *arg)
{
        weft_thread_lock();
        sched_go(count_later, arg);
        weft_exit();
}

TEST(goroutine_1_may_end_locked)
{
        weft_config cfg = { .procs = 1 };

        CHECK_EQ(sched_run_left(&cfg, main_exits_locked, NULL), 0);
        CHECK_EQ(w_load_acq(&n_done), 10);
        CHECK_EQ(sched_run_left(NULL, main_exits_locked, NULL), 0);
        CHECK_EQ(w_load_acq(&n_done), 20);
}

/* ---- While the world stops ------------------------------------------------------------------- */

static void lock_once(void *arg)
{
        weft_thread_lock();
        weft_yield();
        weft_thread_unlock();
        wander(arg);
}

static void stop_world(void *arg)
{
        (void)arg;
        while (!w_load_acq(&stop)) {
                CHECK_EQ(weft_check(), 0);
                weft_yield();
        }
}

static void main_first_locks(void *arg)
{
        int64_t ids[3] = { sched_go(stop_world, arg), sched_go(lock_once, arg),
                           sched_go(lock_once, arg) };

        sched_join(ids[1]);
        sched_join(ids[2]);
        w_store_rel(&stop, 1);
        sched_join(ids[0]);
}

TEST(first_locks_while_the_world_stops)
{
        for (uint32_t i = 0; test_again(i, 2, sched_scale(100)); i++) {
                w_store_rel(&stop, 0);
                sched_run(main_first_locks, NULL);
        }
}

/* ---- Among others ---------------------------------------------------------------------------- */

enum { N_LOCKED = 6, N_ROUNDS = 30 };

static weft_chan *ring[N_LOCKED + 1];

/* Passes on what it gets. Every second goroutine of the ring is locked. */
static void pass_on(void *arg)
{
        int i = *(int *)arg, v, tid;

        if (i % 2)
                weft_thread_lock();
        tid = w_os_tid();
        while (weft_chan_recv(ring[i], &v) == 0) {
                CHECK(i % 2 == 0 || w_os_tid() == tid);
                CHECK_EQ(weft_chan_send(ring[i + 1], &v), 0);
        }
        CHECK_EQ(weft_chan_close(ring[i + 1]), 0);
        w_add_acqrel(&n_done, 1);
}

static void main_ring(void *arg)
{
        static int number[N_LOCKED];

        (void)arg;
        for (int i = 0; i <= N_LOCKED; i++)
                ring[i] = weft_chan_new(sizeof(int), 0);
        for (int i = 0; i < N_LOCKED; i++) {
                number[i] = i;
                sched_go(pass_on, &number[i]);
        }
        for (int i = 0; i < N_ROUNDS; i++) {
                int v = -1;

                CHECK_EQ(weft_chan_send(ring[0], &i), 0);
                CHECK_EQ(weft_chan_recv(ring[N_LOCKED], &v), 0);
                CHECK_EQ(v, i);
        }
        CHECK_EQ(weft_check(), 0);
        CHECK_EQ(weft_chan_close(ring[0]), 0);
        sched_await(&n_done, N_LOCKED);
        for (int i = 0; i <= N_LOCKED; i++)
                weft_chan_unref(ring[i]);
}

TEST(a_ring_of_locked_and_free_goroutines) { sched_run(main_ring, NULL); }

static weft_wg gate;

static void sleep_locked(void *arg)
{
        (void)arg;
        weft_thread_lock();
        int tid = w_os_tid();

        for (int i = 0; i < 10; i++) {
                CHECK_EQ(weft_sleep(WEFT_US(100)), 0);
                CHECK_EQ(w_os_tid(), tid);
        }
        CHECK_EQ(weft_wg_wait(&gate), 0);       /* all are woken at once */
        CHECK_EQ(w_os_tid(), tid);
        weft_thread_unlock();
        weft_yield();
        w_add_acqrel(&n_done, 1);
}

static void main_sleepers(void *arg)
{
        int64_t ids[2 * N_LOCKED];

        (void)arg;
        weft_wg_add(&gate, 1);
        for (int i = 0; i < N_LOCKED; i++)
                ids[i] = sched_go(sleep_locked, NULL);
        for (int i = N_LOCKED; i < 2 * N_LOCKED; i++)
                ids[i] = sched_go(wander, NULL);
        CHECK_EQ(weft_sleep(WEFT_MS(3)), 0);
        weft_wg_done(&gate);
        for (int i = 0; i < 2 * N_LOCKED; i++)
                sched_join(ids[i]);
        CHECK_EQ(w_load_acq(&n_done), 2 * N_LOCKED);
        CHECK_EQ(weft_check(), 0);
}

TEST(locked_goroutines_sleep_and_are_woken_together) { sched_run(main_sleepers, NULL); }

TEST(the_same_where_others_change_threads)
{
        CHECK_EQ(setenv("WEFT_DEBUG", "migrate=1", 1), 0);
        sched_run(main_sleepers, NULL);
        w_store_rel(&n_done, 0);
        sched_run(main_ring, NULL);
}

/* Its P is taken while it blocks; it comes back where it was. */
static void block_locked(void *arg)
{
        (void)arg;
        weft_thread_lock();
        int tid = w_os_tid();

        for (int i = 0; i < 3; i++) {
                w_os_sleep_until(w_os_now() + 25000000);
                weft_yield();
                CHECK_EQ(w_os_tid(), tid);
        }
        w_store_rel(&stop, 1);
}

static void main_beside_blocker(void *arg)
{
        int64_t id = sched_go(block_locked, arg);

        weft_yield();
        while (!w_load_acq(&stop))
                weft_yield();
        sched_join(id);
        CHECK_EQ(weft_check(), 0);
}

TEST(a_goroutine_without_p_comes_back_to_its_thread) { sched_run(main_beside_blocker, NULL); }

/* ---- What is shown --------------------------------------------------------------------------- */

static void park_locked(void *arg)
{
        (void)arg;
        weft_thread_lock();
        w_add_acqrel(&n_done, 1);
        CHECK_EQ(weft_park(), 0);
}

static void main_dumps(void *arg)
{
        char    text[4096];
        int     fds[2];
        int64_t id = sched_go(park_locked, arg);

        sched_await(&n_done, 1);
        sched_await_parked(id);
        CHECK_EQ(pipe(fds), 0);
        weft_dump(fds[1]);
        ssize_t n = read(fds[0], text, sizeof(text) - 1);

        text[n > 0 ? n : 0] = '\0';
        CHECK_MSG(strstr(text, " [park") && strstr(text, ", locked to thread]:"), "said: %s", text);
        CHECK_EQ(weft_unpark(id), 0);
        sched_join(id);
}

TEST(the_dump_shows_that_a_goroutine_is_locked) { sched_run(main_dumps, NULL); }

static void main_locks_many(void *arg)
{
        for (int i = 0; i < 100; i++)
                sched_go(park_locked, arg);
        sched_await(&n_done, 100);
}

static void run_into_limit(void *arg)
{
        weft_config cfg = { .max_threads = 10 };

        (void)!weft_run_with(&cfg, main_locks_many, arg);
}

TEST(locked_threads_count_towards_the_limit)
{
        test_expect_death(run_into_limit, NULL, SIGABRT,
                          "weft: fatal: program exceeds 10-thread limit");
}
