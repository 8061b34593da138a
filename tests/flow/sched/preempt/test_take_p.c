/* tests/flow/sched/preempt/test_take_p.c - a goroutine that blocks or computes does not delay other
 * goroutines.
 *
 * Without the monitor, or without taking, most of these tests would not end: with one P all other
 * goroutines wait for the goroutine that stays in user code.
 *
 * test: procs=1,2,4 timeout=600
 * The long form takes minutes.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/others.h"

#include "sched/monitor/sysmon.h"
#include "sched/preempt/take.h"
#include "sched/sched.h"

#include <errno.h>
#include <limits.h>
#include <unistd.h>

/* ---- Other goroutines continue --------------------------------------------------------------- */

static void compute(void *arg)
{
        (void)arg;
        while (!w_load_acq(&others_done))
                w_cpu_pause();
}

GO_TEST(others_go_on_beside_endless_loops)
{
        others_go_on(compute, NULL, others_more_than_ps());
}

/* A plain read(2), outside a blocking region. */
static void read_a_byte(void *pipe)
{
        char c = 0;

        CHECK_EQ(test_read(*(int *)pipe, &c, 1), 1);
}

struct pipe {
        int read, write;
};

static void main_read(void *arg)
{
        struct pipe *p = arg;
        int64_t      reader[4];

        for (uint32_t i = 0; i < others_more_than_ps() && i < 4; i++)
                reader[i] = sched_go(read_a_byte, &p->read);
        others_go_on(compute, NULL, 0);
        CHECK_EQ(write(p->write, "abcd", 4), 4);
        for (uint32_t i = 0; i < others_more_than_ps() && i < 4; i++)
                sched_join(reader[i]);
}

TEST(others_go_on_beside_a_plain_read)
{
        int         fds[2];
        struct pipe p;

        CHECK_EQ(pipe(fds), 0);
        p = (struct pipe){ fds[0], fds[1] };
        sched_run(main_read, &p);
        close(fds[0]);
        close(fds[1]);
}

static pthread_mutex_t mutex_of_libc = PTHREAD_MUTEX_INITIALIZER;
static w_atomic_u32    is_locked;

static void hold_mutex_of_libc(void *arg)
{
        (void)arg;
        pthread_mutex_lock(&mutex_of_libc);
        w_store_rel(&is_locked, 1);
        while (!w_load_acq(&others_done))
                w_os_sleep_until(w_os_now() + 1000000);
        pthread_mutex_unlock(&mutex_of_libc);
}

static void lock_mutex_of_libc(void *arg)
{
        (void)arg;
        pthread_mutex_lock(&mutex_of_libc);
        pthread_mutex_unlock(&mutex_of_libc);
}

GO_TEST(others_go_on_beside_a_mutex_of_libc)
{
        struct sync_thread holder;

        sync_thread_start(&holder, hold_mutex_of_libc, NULL);
        while (!w_load_acq(&is_locked))
                weft_yield();
        others_go_on(lock_mutex_of_libc, NULL, others_more_than_ps());
        sync_thread_join(&holder);
}

/* A goroutine that lost its P makes every kind of call and goes on. */
static void come_back(void *arg)
{
        weft_chan *c = arg;
        int        v = 0;

        compute(NULL);
        CHECK_EQ(weft_chan_try_send(c, &v), 0);
        sched_join(sched_go(others_ping, NULL));
        compute(NULL);
        CHECK_EQ(weft_chan_recv(c, &v), 0);
        weft_yield();
        CHECK_EQ(weft_sleep(1000), 0);
        (void)weft_checkpoint();
}

GO_TEST(a_goroutine_that_lost_its_p_goes_on)
{
        weft_chan *c = weft_chan_new(sizeof(int), 16);

        others_go_on(come_back, c, others_more_than_ps());
        weft_chan_unref(c);
        CHECK_EQ(weft_check(), 0);
}

/* ---- In the destructors of locals, which are user code too ----------------------------------- */

static weft_key key;

static void end_with_local(void *arg)
{
        CHECK_EQ(weft_local_set(key, &key), 0);
        if (arg)
                weft_exit();
}

GO_TEST(a_goroutine_that_lost_its_p_in_a_destructor_ends)
{
        CHECK_EQ(weft_key_new(&key, compute), 0);
        others_go_on(end_with_local, NULL, others_more_than_ps());
        w_store_rel(&others_done, 0);
        w_store_rel(&others_n_pings, 0);
        others_go_on(end_with_local, &key, others_more_than_ps());
        weft_key_free(key);
        CHECK_EQ(weft_check(), 0);
}

/* ---- The world stops ------------------------------------------------------------------------- */

GO_TEST(the_world_stops_beside_endless_loops)
{
        int64_t ids[8];

        for (uint32_t i = 0; i < others_more_than_ps(); i++)
                ids[i] = sched_go(compute, NULL);
        weft_yield();
        for (int i = 0; i < 20; i++)
                CHECK_EQ(weft_check(), 0);
        w_store_rel(&others_done, 1);
        for (uint32_t i = 0; i < others_more_than_ps(); i++)
                sched_join(ids[i]);
}

/* ---- The monitor takes the P ----------------------------------------------------------------- */

static w_atomic_u32 is_off, is_on_again;

static void stand_still(void)
{
        w_store_rel(&is_off, 1);
        w_os_sleep_until(w_os_now() + 100000000);
        CHECK_EQ(w_load_acq(&others_n_pings), 0);
        w_store_rel(&is_on_again, 1);
}

static void keep_from_taking(void *arg)
{
        (void)arg;
        w_take_begin();
        stand_still();
        w_take_end();
}

/* The start of a run finds the state that the end of a run leaves. */
static void keep_monitor_from_running(void *arg)
{
        (void)arg;
        w_sysmon_stop();
        stand_still();
        w_lock(&w_sched.lock);
        w_sched.sysmon.woken = w_sched.sysmon.sleeps = false;
        w_sched.n_helpers--;
        w_unlock(&w_sched.lock);
        CHECK_EQ(w_sysmon_start(), 0);
}

/* The only P is here. First it is not taken, then it is. */
static void main_stall(void *keep_off)
{
        struct sync_thread thread;

        sync_thread_start(&thread, (void (*)(void *))(uintptr_t)keep_off, NULL);
        while (!w_load_acq(&is_off))
                w_cpu_pause();
        int64_t id = sched_go(others_ping, NULL);

        while (!w_load_acq(&is_on_again))
                w_cpu_pause();
        while (w_load_acq(&others_n_pings) == 0)
                w_cpu_pause();
        sched_join(id);
        sync_thread_join(&thread);
}

static void run_stalled(void (*keep_off)(void *))
{
        weft_config cfg = { .procs = 1 };

        if (test_under_valgrind())
                test_skip("valgrind loses count of stacks if a thread is stopped in a handler");
        test_set_dump(sched_dump);
        CHECK_EQ(sched_run_left(&cfg, main_stall, (void *)(uintptr_t)keep_off), 0);
}

TEST(no_goroutine_goes_on_while_nothing_is_taken) { run_stalled(keep_from_taking); }
TEST(no_goroutine_goes_on_while_no_monitor_runs)  { run_stalled(keep_monitor_from_running); }

/* ---- Many Ps are taken, and counters are exact ----------------------------------------------- */

static w_atomic_u32 stop_taking, n_rounds;
static w_atomic_u64 n_taken;

/* Takes Ps as the monitor does, but from every M and without rest. */
static void take_all_once(void)
{
        w_take_begin();
        w_lock(&w_sched.lock);
        for (uint32_t i = 0; i < w_n_procs(); i++)
                (void)w_take_ask_locked(w_sched.all_p[i]);
        w_unlock(&w_sched.lock);
        w_take_barrier();
        for (uint32_t i = 0; i < w_n_procs(); i++) {
                struct p *pp = w_sched.all_p[i];

                w_lock(&w_sched.lock);
                if (!pp->asked || !w_take_finish_locked(pp, W_ANYWHERE)) {
                        w_unlock(&w_sched.lock);
                        continue;
                }
                w_hand_off_unlock(pp);
                w_add_rlx(&n_taken, 1);
        }
        w_take_end();
}

static void take_all_the_time(void *arg)
{
        (void)arg;
        while (!w_load_acq(&stop_taking)) {
                take_all_once();
                w_add_acqrel(&n_rounds, 1);
                (void)w_os_futex_wake(&n_rounds, INT_MAX);
        }
}

enum { TAKINGS_LONG = 1000000 };

static bool takes_long(void)
{
        return getenv("TEST_LONG") && w_load_acq(&n_taken) < TAKINGS_LONG;
}

/* Waits until a round of the taker has begun and ended. Its barrier takes longer than a short stay
 * in user code: an M that enters at once refuses nearly always. Sleeps, so that the taker gets a
 * CPU. */
static void stay_outside(void)
{
        uint32_t began = w_load_acq(&n_rounds);

        for (uint32_t n; (n = w_load_acq(&n_rounds)) - began < 2;)
                (void)w_os_futex_wait(&n_rounds, n, W_FOREVER);
}

static void stay_a_moment(void)
{
        for (volatile int k = 0; k < 50; k++)
                ;
}

/* Counters that only the owner of a P may write: two writers at once would lose counts. The long
 * form takes a million Ps. */
static void enter_and_leave(void *arg)
{
        uint32_t n = sched_scale(1000);

        for (uint32_t i = 0; i < n || takes_long(); i++) {
                switch (i % 4) {
                case 0:
                        weft_yield();
                        stay_outside();
                        break;
                case 1:
                        weft_block_begin();
                        stay_outside();
                        weft_block_end();
                        break;
                case 2:
                        w_add_acqrel((w_atomic_u32 *)arg, 1);
                        sched_join(sched_go(others_ping, NULL));
                        break;
                default:
                        for (int k = 0; k < 8; k++) {
                                weft_yield();
                                stay_a_moment();
                        }
                }
        }
}

/* The monitor may take a few Ps as well. */
GO_TEST(counters_are_exact_while_ps_are_taken)
{
        struct sync_thread taker;
        int64_t            ids[4], began = w_os_now();
        w_atomic_u32       n_spawned = { 0 };
        weft_stats_t       before = { .size = sizeof(before) }, st = { .size = sizeof(st) };

        CHECK_EQ(weft_stats(&before), 0);
        sync_thread_start(&taker, take_all_the_time, NULL);
        for (int i = 0; i < 4; i++)
                ids[i] = sched_go(enter_and_leave, &n_spawned);
        for (int i = 0; i < 4; i++)
                sched_join(ids[i]);
        w_store_rel(&stop_taking, 1);
        sync_thread_join(&taker);
        CHECK_EQ(weft_stats(&st), 0);
        uint32_t n = w_load_acq(&n_spawned);
        uint64_t taken = w_load_acq(&n_taken), ns = (uint64_t)(w_os_now() - began);

        CHECK_EQ(weft_check(), 0);
        CHECK(taken > 0);
        CHECK_EQ(st.spawned - before.spawned, 4 + (uint64_t)n);
        CHECK_EQ(w_load_acq(&others_n_pings), 20 * n);
        CHECK(st.takes - before.takes >= taken);
        if (getenv("TEST_LONG"))
                printf("%lu takings of %lu, %lu a second, %u spawned\n", (unsigned long)taken,
                       (unsigned long)st.takes, (unsigned long)(taken * 1000000000 / ns), n);
}
