/* tests/flow/sched/run/test_attach.c - threads of the program that attach themselves, and the ends
 * of runs.
 *
 * test: procs=1,2,4
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/background.h"

#include <sys/wait.h>
#include <unistd.h>

/* ---- Once is enough -------------------------------------------------------------------------- */

TEST(attached_is_attached)
{
        CHECK(!w_os_foreign()->attached);
        weft_detach();
        weft_attach();                  /* before there is a runtime, and for all that follow */
        weft_attach();
        CHECK(w_os_foreign()->attached);
        for (int i = 0; i < 3; i++) {
                background_start();
                CHECK_EQ(weft_join(weft_go(background_count, NULL)), 0);
                CHECK_EQ(w_load_acq(&w_os_foreign()->in_call), 0);
                background_stop();
                CHECK_EQ(weft_go(background_count, NULL), -ESHUTDOWN);
                CHECK_EQ(w_load_acq(&w_os_foreign()->in_call), 0);
        }
        weft_detach();
        CHECK(!w_os_foreign()->attached);
        background_start();
        CHECK_EQ(weft_join(weft_go(background_count, NULL)), 0);
        background_stop();
        CHECK_EQ(w_load_acq(&background_n_ran), 4);
}

static void attach_inside(void *arg)
{
        weft_attach();
        weft_yield();
        weft_detach();
        background_count(arg);
}

TEST(a_goroutine_has_nothing_to_attach)
{
        sched_run(attach_inside, NULL);
        CHECK(!w_os_foreign()->attached);
        weft_attach();
        sched_run(attach_inside, NULL);         /* on an attached thread, which is m0 meanwhile */
        CHECK(w_os_foreign()->attached);
        weft_detach();
}

/* ---- Ends ------------------------------------------------------------------------------------ */

static w_atomic_u32 over;

static void attached_and_idle(void *arg)
{
        weft_attach();
        CHECK(weft_go(background_count, arg) > 0);
        while (!w_load_acq(&over))
                w_os_yield();
}

TEST(the_end_does_not_wait_for_one_that_is_in_no_call)
{
        struct sync_thread thread;

        background_start();
        sync_thread_start(&thread, attached_and_idle, NULL);
        while (w_load_acq(&background_n_ran) < 1)
                w_os_yield();
        background_stop();
        background_start();
        background_stop();
        w_store_rel(&over, 1);
        sync_thread_join(&thread);
}

static void attach_and_end(void *arg)
{
        weft_attach();
        CHECK(weft_go(background_count, arg) > 0);
}

/* Its record goes with it: the end of the run must not look there any more. */
TEST(a_thread_may_end_attached)
{
        struct sync_thread thread;
        uint32_t           n = sched_scale(200);

        background_start();
        for (uint32_t i = 0; i < n; i++) {
                sync_thread_start(&thread, attach_and_end, NULL);
                sync_thread_join(&thread);
        }
        while (w_load_acq(&background_n_ran) < n)
                w_os_yield();
        background_stop();
}

static void wait_attached(void *arg)
{
        weft_chan *c = weft_chan_new(0, 0);

        (void)arg;
        weft_attach();
        background_count(NULL);
        CHECK_EQ(weft_chan_recv(c, NULL), -ESHUTDOWN);
        CHECK_EQ(w_load_acq(&w_os_foreign()->in_call), 0);
}

TEST(one_that_waits_hears_of_the_end)
{
        struct sync_thread thread;

        for (uint32_t i = 0; i < 20; i++) {
                background_start();
                sync_thread_start(&thread, wait_attached, NULL);
                while (w_load_acq(&background_n_ran) <= i)
                        w_os_yield();
                if (i % 2)
                        w_os_sleep_until(w_os_now() + 500000);
                background_stop();
                sync_thread_join(&thread);
        }
}

/* ---- Fork ------------------------------------------------------------------------------------ */

/* Once it has counted it is outside weft for good. */
static void stay_attached(void *arg)
{
        weft_attach();
        background_count(arg);
        while (!w_load_acq(&over))
                w_os_yield();
}

/* Where the other thread's record was, a new thread may have something else. */
static void be_child(void)
{
        struct sync_thread threads[4];

        w_store_rel(&over, 1);
        CHECK(w_os_foreign()->attached);
        background_start();
        for (int k = 0; k < 4; k++)
                sync_thread_start(&threads[k], stay_attached, NULL);
        for (int k = 0; k < 4; k++)
                sync_thread_join(&threads[k]);
        CHECK_EQ(weft_join(weft_go(background_count, NULL)), 0);
        weft_detach();
        background_stop();
        _exit(5);
}

TEST(a_forked_child_has_no_other_threads)
{
        struct sync_thread thread;
        int                status;

#if defined(W_TSAN)
        test_skip("ThreadSanitizer allows no threads in such a child");
#endif
        if (test_is_emulated())
                test_skip("qemu counts the threads of the parent and fails on new ones in a child");
        weft_attach();
        sync_thread_start(&thread, stay_attached, NULL);
        while (w_load_acq(&background_n_ran) < 1)
                w_os_yield();
        pid_t pid = fork();

        CHECK(pid >= 0);
        if (pid == 0)
                be_child();
        test_wait_for(pid, &status);
        CHECK_MSG(WIFEXITED(status) && WEXITSTATUS(status) == 5, "wait status %#x",
                  (unsigned)status);
        background_start();
        background_stop();
        w_store_rel(&over, 1);
        sync_thread_join(&thread);
}

/* ---- Calls at full rate across the ends of runs ---------------------------------------------- */

static void call_and_call(void *arg)
{
        uint32_t n = 0;

        (void)arg;
        while (!w_load_acq(&over)) {
                if (n++ % 64 == 0)
                        n & 64 ? weft_detach() : weft_attach();
                weft_stats_t st = { .size = sizeof(st) };
                int          rc = weft_stats(&st);      /* reads what the end takes down */

                CHECK(rc == 0 || rc == -ESHUTDOWN);
                CHECK(rc < 0 || st.procs > 0);
        }
}

TEST(calls_race_with_the_ends_of_runs)
{
        enum { N = 3 };
        struct sync_thread threads[N];

        for (int k = 0; k < N; k++)
                sync_thread_start(&threads[k], call_and_call, NULL);
        for (uint32_t i = 0; test_again(i, 8, sched_scale(200)); i++) {
                background_start();
                w_os_sleep_until(w_os_now() + (i % 4) * 50000);
                background_stop();
        }
        w_store_rel(&over, 1);
        for (int k = 0; k < N; k++)
                sync_thread_join(&threads[k]);
}
