/* tests/flow/sched/run/test_procs.c - more Ps and fewer while goroutines run: nothing is lost.
 *
 * In check a few hundred changes under load; TEST_LONG=1, as `make stress` sets it: 2,000.
 *
 * test: procs=1,2,4
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/sync.h"
#include "sched/run/procs.h"
#include "sched/switch.h"
#include "sched/thread/thread.h"

static uint32_t n_changes(uint32_t usual)
{
        return getenv("TEST_LONG") ? 2000 : sched_scale(usual) + 4;
}

static void set_procs(int n)
{
        int old = weft_procs(n);

        CHECK_MSG(old >= 1, "weft_procs(%d) returned %d", n, old);
}

/* ---- The call -------------------------------------------------------------------------------- */

static void main_calls(void *arg)
{
        int procs = sched_procs();

        (void)arg;
        CHECK_EQ(weft_procs(0), procs);
        CHECK_EQ(weft_procs(3), procs);
        CHECK_EQ(weft_procs(3), 3);
        CHECK_EQ(weft_procs(-2), -EINVAL);
        CHECK_EQ(weft_procs(1025), -EINVAL);
        CHECK_EQ(weft_procs(INT32_MIN), -EINVAL);
        CHECK_EQ(weft_procs(0), 3);
        CHECK_EQ(weft_check(), 0);
        CHECK_EQ(weft_procs(1), 3);
        CHECK_EQ(weft_procs(0), 1);
        weft_stats_t st = { .size = sizeof(st) };

        CHECK_EQ(weft_stats(&st), 0);
        CHECK_EQ(st.procs, 1);
        CHECK_EQ(weft_check(), 0);
}

TEST(procs_says_the_number_before_and_refuses_others)
{
        CHECK_EQ(weft_procs(2), -ESHUTDOWN);
        CHECK_EQ(weft_procs(0), -ESHUTDOWN);
        CHECK_EQ(weft_procs(-2), -EINVAL);
        sched_run(main_calls, NULL);
        CHECK_EQ(weft_procs(1), -ESHUTDOWN);
        sched_run(main_calls, NULL);
}

/* The number that the machine would give, whatever was set before. */
GO_TEST(procs_auto_is_what_the_machine_has)
{
        set_procs(7);
        CHECK_EQ(weft_procs(WEFT_PROCS_AUTO), 7);
        CHECK_EQ(weft_procs(0), w_procs_found());
        CHECK_EQ(weft_procs(WEFT_PROCS_AUTO), w_procs_found());
        CHECK_EQ(weft_check(), 0);
}

static void add_threads(void *arg)
{
        (void)arg;
        for (int i = 0; i < 4; i++)
                CHECK_EQ(w_thread_create(NULL, false), 0);
}

static void main_max_threads(void *arg)
{
        (void)arg;
        CHECK_EQ(weft_max_threads(0), 10000);
        CHECK_EQ(weft_max_threads(500), 10000);
        CHECK_EQ(weft_max_threads(0), 500);
        CHECK_EQ(weft_max_threads(-1), -EINVAL);
        CHECK_EQ(weft_max_threads(1), -EINVAL);
        CHECK_EQ(weft_max_threads(1000001), -EINVAL);
        CHECK_EQ(weft_max_threads(1000000), 500);
        w_on_g0(add_threads, NULL);
        CHECK_EQ(weft_max_threads(3), -EINVAL);
        CHECK_EQ(weft_max_threads(0), 1000000);
}

TEST(max_threads_says_the_limit_before_and_refuses_others)
{
        CHECK_EQ(weft_max_threads(0), -ESHUTDOWN);
        sched_run(main_max_threads, NULL);
}

/* ---- Under load ------------------------------------------------------------------------------ */

static w_atomic_u32 over, n_spawned, n_ended, n_rounds;
static weft_chan   *pipe_chan;
static uint64_t     in_mutex;
static weft_mutex   mutex;

static void leaf(void *arg)
{
        (void)arg;
        if (w_load_acq(&n_spawned) % 3 == 0)
                weft_yield();
        w_add_acqrel(&n_ended, 1);
}

static void spawns(void *arg)
{
        (void)arg;
        while (!w_load_acq(&over)) {
                for (int i = 0; i < 20; i++) {
                        w_add_acqrel(&n_spawned, 1);
                        (void)sched_go(leaf, NULL);
                }
                w_add_acqrel(&n_spawned, 1);
                weft_attr attr = { .flags = WEFT_CHILD_FIRST };

                CHECK(weft_go_with(&attr, leaf, NULL) > 0);
                weft_yield();
        }
}

static void sends(void *arg)
{
        uint32_t n = 0;

        (void)arg;
        while (!w_load_acq(&over)) {
                n++;
                CHECK_EQ(weft_chan_send(pipe_chan, &n), 0);
        }
        CHECK_EQ(weft_chan_close(pipe_chan), 0);
}

static void receives(void *arg)
{
        uint32_t n = 0, before = 0;

        (void)arg;
        for (; weft_chan_recv(pipe_chan, &n) == 0; before = n)
                CHECK_EQ(n, before + 1);
}

static void locks(void *arg)
{
        (void)arg;
        while (!w_load_acq(&over)) {
                weft_mutex_lock(&mutex);
                in_mutex++;
                weft_mutex_unlock(&mutex);
                w_add_acqrel(&n_rounds, 1);
                weft_yield();
        }
}

static void sleeps(void *arg)
{
        (void)arg;
        while (!w_load_acq(&over)) {
                CHECK_EQ(weft_sleep(WEFT_US(50)), 0);
                weft_block_begin();
                w_os_sleep_until(w_os_now() + 30000);
                weft_block_end();
        }
}

static void (*const load[])(void *) = { spawns, sends, receives, locks, locks, sleeps, sleeps };

/* Every count is exact at the end, whatever the number of Ps was in between. */
GO_TEST(procs_changes_under_load_lose_nothing)
{
        int64_t  ids[W_ARRAY_LEN(load)];
        uint64_t seed = test_seed();

        pipe_chan = weft_chan_new(sizeof(uint32_t), 4);
        for (size_t i = 0; i < W_ARRAY_LEN(load); i++)
                ids[i] = sched_go(load[i], NULL);
        for (uint32_t i = n_changes(150); i > 0; i--) {
                int n = 1 + (int)w_rand_below(&seed, 6);

                set_procs(n);
                CHECK_EQ(weft_procs(0), n);
                if (i % 8 == 0)
                        CHECK_EQ(weft_check(), 0);
                for (uint32_t y = w_rand_below(&seed, 4); y > 0; y--)
                        weft_yield();
        }
        w_store_rel(&over, 1);
        for (size_t i = 0; i < W_ARRAY_LEN(load); i++)
                sched_join(ids[i]);
        weft_chan_unref(pipe_chan);
        sched_await(&n_ended, w_load_acq(&n_spawned));
        CHECK_EQ(w_load_acq(&n_ended), w_load_acq(&n_spawned));
        CHECK_EQ(in_mutex, w_load_acq(&n_rounds));
        while (weft_count() > 1)
                weft_yield();
        weft_stats_t st = { .size = sizeof(st) };

        CHECK_EQ(weft_stats(&st), 0);
        CHECK_EQ(st.spawned, w_load_acq(&n_spawned) + W_ARRAY_LEN(load) + 1);
        CHECK_EQ(weft_check(), 0);
}

/* ---- From every side ------------------------------------------------------------------------- */

static w_atomic_u32 n_left;

static void checks(void *arg)
{
        (void)arg;
        for (uint32_t i = n_changes(60); i > 0; i--)
                CHECK_EQ(weft_check(), 0);
        w_sub_acqrel(&n_left, 1);
}

/* Of several resizers, some have a P that they remove themselves. */
static void resizes(void *arg)
{
        (void)arg;
        for (uint32_t i = n_changes(60); i > 0; i--) {
                set_procs(1 + (int)(i % 4));
                weft_yield();
        }
        w_sub_acqrel(&n_left, 1);
}

/* The run may end between the check and the call. */
static void goes_on(void *arg)
{
        int64_t id = w_load_acq(&n_left) ? weft_go(goes_on, arg) : 0;

        CHECK_MSG(id >= 0 || id == -ESHUTDOWN, "weft_go returned %lld", (long long)id);
}

/* After Go's TestStopTheWorldDeadlock. */
GO_TEST(procs_and_check_from_every_side)
{
        struct sync_thread thread;

        w_store_rel(&n_left, 7);
        sync_thread_start(&thread, resizes, NULL);
        for (int i = 0; i < 3; i++) {
                (void)sched_go(checks, NULL);
                (void)sched_go(resizes, NULL);
        }
        (void)sched_go(goes_on, NULL);
        while (w_load_acq(&n_left))
                weft_yield();
        sync_thread_join(&thread);
        CHECK_EQ(weft_check(), 0);
}

static void resizes_for_ever(void *arg)
{
        int rc = 1;

        (void)arg;
        for (int i = 1; rc > 0; i++)
                rc = weft_procs(1 + i % 4);
        CHECK_EQ(rc, -ESHUTDOWN);
}

static void main_ends(void *arg)
{
        (void)arg;
        for (int i = 0; i < 3; i++)
                (void)sched_go(resizes_for_ever, NULL);
        for (int i = 0; i < 50; i++)
                weft_yield();
}

/* A run may end while some resize, on threads of all kinds. */
TEST(procs_changes_while_the_run_ends)
{
        for (uint32_t i = 0; test_again(i, 3, sched_scale(20) + 1); i++)
                sched_run(main_ends, NULL);
}

static void main_foreign_ends(void *arg)
{
        sync_thread_start(arg, resizes_for_ever, NULL);
        while (weft_procs(0) == sched_procs())
                weft_yield();
}

TEST(procs_changes_by_a_thread_while_the_run_ends)
{
        for (uint32_t i = sched_scale(20) + 1; i > 0; i--) {
                struct sync_thread thread;

                sched_run(main_foreign_ends, &thread);
                sync_thread_join(&thread);
        }
}

/* ---- Sizes ----------------------------------------------------------------------------------- */

static void main_sizes(void *arg)
{
        static const int sizes[] = { 1, 2, 3, 7, 61, 64, 256, 1000, 1023, 1024, 5, 1024, 1, 512 };

        (void)arg;
        CHECK_EQ(weft_procs(0), 1024);
        for (size_t i = 0; i < W_ARRAY_LEN(sizes); i++) {
                set_procs(sizes[i]);
                sync_together(50, leaf, NULL);
                CHECK_EQ(weft_check(), 0);
        }
}

TEST(procs_of_every_size)
{
        weft_config cfg = { .procs = 1024 };

        test_set_dump(sched_dump);
        CHECK_EQ(sched_run_left(&cfg, main_sizes, NULL), 0);
}

/* ---- Threads that are too many --------------------------------------------------------------- */

static uint64_t n_threads(void)
{
        weft_stats_t st = { .size = sizeof(st) };

        CHECK_EQ(weft_stats(&st), 0);
        return st.threads;
}

static w_atomic_u32 n_woken, go_on;

static void block(void *arg)
{
        (void)arg;
        w_add_acqrel(&n_woken, 1);
        while (!w_load_acq(&go_on))
                w_os_sleep_until(w_os_now() + 100000);
}

static void main_threads(void *arg)
{
        int64_t ids[6];

        (void)arg;
        set_procs(6);
        for (int i = 0; i < 6; i++)
                ids[i] = sched_go(block, NULL);
        while (w_load_acq(&n_woken) < 6)        /* each on a thread of its own */
                CHECK_EQ(weft_sleep(100000), 0);
        w_store_rel(&go_on, 1);
        for (int i = 0; i < 6; i++)
                sched_join(ids[i]);
        CHECK(n_threads() >= 6);
        set_procs(2);
        while (n_threads() > 3)                 /* the harness ends a wait that takes too long */
                CHECK_EQ(weft_sleep(1000000), 0);
        CHECK_EQ(weft_check(), 0);
}

TEST(procs_fewer_threads_beyond_need_end)
{
        weft_config cfg = { .procs = 1, .idle_ms = 5 };

        test_set_dump(sched_dump);
        CHECK_EQ(sched_run_left(&cfg, main_threads, NULL), 0);
}
