/* tests/flow/sched/run/test_foreign.c - every public function, called by a foreign thread.
 *
 * The runtime runs in the background and the test's own thread is the foreign thread. Each entry of
 * the table is what the contract says about those calls; the other tests check more of each call.
 * tests/checks/foreign checks that no function is missing here or in foreign_io.h.
 *
 * test: procs=1,2,4 sources=foreign_io.c
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/background.h"
#include "foreign_io.h"

#include <signal.h>

static void await_ran(uint32_t n)
{
        while (w_load_acq(&background_n_ran) < n)
                weft_yield();
}

/* ---- Goroutines ------------------------------------------------------------------------------ */

static void count_copy(void *arg)
{
        CHECK_EQ(*(int *)arg, 42);
        background_count(NULL);
}

static void spawning(void)
{
        weft_attr attr = { .name = "far", .flags = WEFT_CHILD_FIRST };
        int       word = 42;
        int64_t   ids[] = { weft_go(background_count, NULL),
                            weft_go_copy(count_copy, &word, sizeof(word)),
                            weft_go_with(&attr, background_count, NULL) };

        for (size_t i = 0; i < W_ARRAY_LEN(ids); i++) {
                CHECK(ids[i] > 0);
                CHECK_EQ(weft_join(ids[i]), 0);
                CHECK_EQ(weft_join(ids[i]), 0);         /* long ended */
        }
        CHECK_EQ(w_load_acq(&background_n_ran), 3);
        CHECK_EQ(weft_go(NULL, NULL), -EINVAL);
        CHECK_EQ(weft_join(INT64_C(1) << 40), -ESRCH);
}

static void about_oneself(void)
{
        CHECK_EQ(weft_id(), 0);
        weft_name("ignored");
        CHECK_EQ(weft_checkpoint(), 0);
        weft_yield();
        CHECK_EQ(weft_count(), 0);
        *weft_errno() = 77;
        CHECK_EQ(weft_park(), -EPERM);
        CHECK_EQ(*weft_errno(), 77);
}

static void park_once(void *arg)
{
        CHECK_EQ(weft_park(), 0);
        background_count(arg);
}

static void unparking(void)
{
        int64_t id = weft_go(park_once, NULL);

        CHECK(id > 0);
        CHECK_EQ(weft_unpark(id), 0);
        CHECK_EQ(weft_join(id), 0);
        CHECK_EQ(weft_unpark(id), -ESRCH);
}

static void locals(void)
{
        weft_key key;

        CHECK_EQ(weft_key_new(&key, NULL), 0);
        CHECK_EQ(weft_local_set(key, &key), -EPERM);
        CHECK(!weft_local_get(key));
        weft_key_free(key);
}

/* ---- Blocking code: without effect on such a thread ------------------------------------------ */

static void regions(void)
{
        weft_block_begin();
        weft_block_begin();
        CHECK_EQ(weft_sleep(WEFT_US(10)), 0);           /* it may wait, unlike a goroutine */
        weft_block_end();
        weft_block_end();
        CHECK_EQ(weft_blocking(background_count, NULL), 0);
        CHECK_EQ(w_load_acq(&background_n_ran), 1);
        CHECK_EQ(weft_blocking(NULL, NULL), -EINVAL);
        weft_nopreempt_begin();
        CHECK_EQ(weft_sleep(WEFT_US(10)), 0);
        weft_nopreempt_end();
}

/* ---- Channels, select ------------------------------------------------------------------------ */

static void echo(void *arg)
{
        weft_chan **c = arg;
        int         v;

        while (weft_chan_recv(c[0], &v) == 0)
                CHECK_EQ(weft_chan_send(c[1], &v), 0);
        CHECK_EQ(weft_chan_close(c[1]), 0);
}

static void channels(void)
{
        weft_chan *c[2] = { weft_chan_new(sizeof(int), 0), weft_chan_new(sizeof(int), 2) };
        int        v = 0;

        CHECK(c[0] && c[1]);
        CHECK(weft_go(echo, c) > 0);
        for (int i = 1; i < 20; i++) {
                CHECK_EQ(weft_chan_send(c[0], &i), 0);
                CHECK_EQ(weft_chan_recv(c[1], &v), 0);
                CHECK_EQ(v, i);
        }
        CHECK_EQ(weft_chan_try_recv(c[1], &v), -EAGAIN);
        CHECK_EQ(weft_chan_try_send(c[1], &v), 0);
        CHECK_EQ(weft_chan_len(c[1]), 1);
        CHECK_EQ(weft_chan_cap(c[1]), 2);
        CHECK_EQ(weft_chan_close(c[0]), 0);
        CHECK_EQ(weft_chan_close(c[0]), -EPIPE);
        CHECK_EQ(weft_chan_recv(c[1], &v), 0);
        CHECK_EQ(weft_chan_recv(c[1], &v), -EPIPE);     /* waits for the echo to close it */
        weft_chan_unref(weft_chan_ref(c[0]));
        weft_chan_unref(c[0]);
        weft_chan_unref(c[1]);
}

static void give_later(void *arg)
{
        int v = 7;

        CHECK_EQ(weft_sleep(WEFT_MS(1)), 0);
        CHECK_EQ(weft_chan_send(arg, &v), 0);
}

static void selects(void)
{
        weft_chan *a = weft_chan_new(sizeof(int), 0), *b = weft_chan_new(sizeof(int), 1);
        int        v = 0, w = 5;
        weft_case  cs[3];

        weft_case_recv(&cs[0], a, &v);
        weft_case_default(&cs[1]);
        CHECK_EQ(weft_select(cs, 2), 1);
        weft_case_send(&cs[1], b, &w);
        CHECK_EQ(weft_select(cs, 2), 1);
        CHECK(weft_go(give_later, a) > 0);
        weft_case_after(&cs[1], WEFT_SEC(100));
        CHECK_EQ(weft_select(cs, 2), 0);
        CHECK_EQ(v, 7);
        weft_case_after(&cs[1], WEFT_US(10));
        CHECK_EQ(weft_select(cs, 2), 1);
        weft_case_join(&cs[2], weft_go(background_count, NULL));
        weft_case_after(&cs[1], WEFT_SEC(100));
        CHECK_EQ(weft_select(cs, 3), 2);
        weft_chan_unref(a);
        weft_chan_unref(b);
}

/* ---- Synchronisation ------------------------------------------------------------------------- */

static struct {
        weft_mutex   mutex;
        weft_rwmutex rwmutex;
        weft_cond    cond;
        weft_sem     sem;
        weft_wg      wg;
        weft_once    once;
        int          shared;
} s;

static void add_under_mutex(void *arg)
{
        weft_mutex_lock(&s.mutex);
        s.shared++;
        weft_mutex_unlock(&s.mutex);
        weft_cond_signal(&s.cond);
        weft_rwmutex_lock(&s.rwmutex);
        weft_rwmutex_unlock(&s.rwmutex);
        weft_sem_release(&s.sem);
        weft_once_do(&s.once, background_count, arg);
        weft_wg_done(&s.wg);
}

static void mutex_and_cond(void)
{
        weft_wg_add(&s.wg, 1);
        weft_mutex_lock(&s.mutex);
        CHECK_EQ(weft_mutex_try_lock(&s.mutex), -EBUSY);
        CHECK(weft_go(add_under_mutex, NULL) > 0);
        while (s.shared == 0)
                CHECK_EQ(weft_cond_wait(&s.cond, &s.mutex), 0);
        weft_mutex_unlock(&s.mutex);
        weft_cond_broadcast(&s.cond);
        CHECK_EQ(weft_wg_wait(&s.wg), 0);
}

static void counts(void)
{
        weft_sem_init(&s.sem, 0);
        CHECK_EQ(weft_sem_try_acquire(&s.sem), -EAGAIN);
        weft_rwmutex_rlock(&s.rwmutex);
        CHECK_EQ(weft_rwmutex_try_rlock(&s.rwmutex), 0);
        CHECK_EQ(weft_rwmutex_try_lock(&s.rwmutex), -EBUSY);
        weft_wg_add(&s.wg, 1);
        CHECK(weft_go(add_under_mutex, NULL) > 0);
        weft_rwmutex_runlock(&s.rwmutex);
        weft_rwmutex_runlock(&s.rwmutex);
        CHECK_EQ(weft_sem_acquire(&s.sem), 0);
        weft_once_do(&s.once, background_count, NULL);
        CHECK_EQ(w_load_acq(&background_n_ran), 1);
        CHECK_EQ(weft_wg_wait(&s.wg), 0);
        weft_rwmutex_lock(&s.rwmutex);
        weft_rwmutex_unlock(&s.rwmutex);
}

/* ---- Scopes ---------------------------------------------------------------------------------- */

static int wait_in_scope(void *arg)
{
        (void)arg;
        CHECK_EQ(weft_park(), -ECANCELED);
        return 5;
}

static void scopes(void)
{
        weft_scope out, in;

        CHECK_EQ(weft_scope_open(&out, WEFT_FOREVER), 0);
        CHECK_EQ(weft_cancelled(), 0);
        CHECK(weft_scope_go(&out, wait_in_scope, NULL) > 0);
        CHECK_EQ(weft_scope_open(&in, WEFT_MS(1)), 0);
        CHECK_EQ(weft_sleep(WEFT_SEC(100)), -ETIMEDOUT);
        CHECK_EQ(weft_scope_status(&in), -ETIMEDOUT);
        CHECK_EQ(weft_scope_close(&in), 0);
        weft_scope_cancel(&out);
        CHECK_EQ(weft_cancelled(), -ECANCELED);
        CHECK_EQ(weft_sleep(1), -ECANCELED);
        weft_shield_begin();
        CHECK_EQ(weft_sleep(1), 0);
        weft_shield_end();
        CHECK_EQ(weft_check(), 0);              /* needs a goroutine, but not the scope */
        CHECK_EQ(weft_scope_close(&out), 5);
}

/* ---- Time ------------------------------------------------------------------------------------ */

static void times(void)
{
        int64_t     before = weft_now();
        int64_t     due = 0;
        weft_timer *t = weft_timer_new(WEFT_MS(1), background_count, NULL);
        weft_chan  *tick = weft_tick(WEFT_MS(1));

        CHECK(t && tick);
        CHECK_EQ(weft_sleep(WEFT_MS(2)), 0);
        CHECK(weft_now() - before >= WEFT_MS(2));
        CHECK_EQ(weft_sleep(0), 0);
        await_ran(1);
        CHECK_EQ(weft_timer_stop(t), 0);
        CHECK_EQ(weft_timer_reset(t, WEFT_SEC(100)), 0);
        CHECK_EQ(weft_timer_stop(t), 1);
        weft_timer_free(t);
        CHECK_EQ(weft_chan_recv(tick, &due), 0);
        CHECK(due > before);
        weft_chan_unref(tick);
}

/* ---- Inspection ------------------------------------------------------------------------------ */

static void inspecting(void)
{
        weft_stats_t st = { .size = sizeof(st) };
        weft_attr    attr = { .name = "shown" };
        int64_t      id = weft_go_with(&attr, park_once, NULL);
        char         text[4096] = "";
        FILE        *file = tmpfile();

        CHECK(id > 0 && file);
        while (sched_state_of(id) != G_WAITING)
                weft_yield();
        CHECK_EQ(weft_stats(&st), 0);
        CHECK_EQ(st.goroutines, 1);
        CHECK_EQ(weft_check(), 0);
        weft_dump(fileno(file));
        CHECK(pread(fileno(file), text, sizeof(text) - 1, 0) > 0);
        CHECK_MSG(strstr(text, "\"shown\" [park"), "%s", text);
        CHECK_MSG(!strstr(text, "[running]"), "the goroutine that wrote it is shown: %s", text);
        fclose(file);
        CHECK_EQ(weft_unpark(id), 0);
        CHECK_EQ(weft_join(id), 0);
        CHECK(weft_version()[0] != '\0');
        CHECK_EQ(weft_version_number(), WEFT_VERSION);
}

/* ---- Processors, threads, signals ------------------------------------------------------------ */

static void limits(void)
{
        int procs = weft_procs(0), threads = weft_max_threads(0);

        CHECK_EQ(procs, sched_procs());
        CHECK_EQ(weft_procs(procs + 1), procs);
        CHECK_EQ(weft_procs(procs), procs + 1);
        CHECK_EQ(weft_procs(WEFT_PROCS_AUTO - 1), -EINVAL);
        CHECK_EQ(weft_max_threads(threads - 1), threads);
        CHECK_EQ(weft_max_threads(threads), threads - 1);
}

static void signals(void)
{
        sigset_t   set;
        int        sig = 0;
        weft_chan *c;

        sigemptyset(&set);
        sigaddset(&set, SIGUSR2);
        c = weft_signal(&set);
        CHECK(c);
        CHECK_EQ(kill(getpid(), SIGUSR2), 0);
        CHECK_EQ(weft_chan_recv(c, &sig), 0);
        CHECK_EQ(sig, SIGUSR2);
        weft_chan_unref(c);
}

/* ---- Runs ------------------------------------------------------------------------------------ */

static void runs(void)
{
        CHECK_EQ(weft_run(background_count, NULL), -EBUSY);
        CHECK_EQ(weft_run_with(NULL, background_count, NULL), -EBUSY);
        CHECK_EQ(weft_start(NULL), -EBUSY);
        CHECK_EQ(weft_threads_left(), 0);
        CHECK_EQ(w_load_acq(&background_n_ran), 0);
}

/* ---- The table ------------------------------------------------------------------------------- */

static void (*const calls[])(void) = {
        spawning, about_oneself, unparking, locals, regions, channels, selects, mutex_and_cond,
        counts, scopes, times, inspecting, limits, signals, runs, foreign_bytes, foreign_file_slots,
        foreign_waits, foreign_packets, foreign_messages, foreign_connections, foreign_names,
        foreign_children,
};

static void call_all(void *arg)
{
        (void)arg;
        for (size_t i = 0; i < W_ARRAY_LEN(calls); i++) {
                w_store_rel(&background_n_ran, 0);
                memset(&s, 0, sizeof(s));
                while (weft_count() > 0)        /* the goroutines of the entry before */
                        weft_yield();
                calls[i]();
        }
}

TEST(every_call_works_on_the_thread_that_started_the_runtime)
{
        background_start();
        for (int i = 0; i < 3; i++)
                call_all(NULL);
        background_stop();
}

TEST(every_call_works_on_a_thread_that_comes_and_goes)
{
        struct sync_thread thread;

        background_start();
        for (int i = 0; i < 6; i++) {
                sync_thread_start(&thread, call_all, NULL);
                sync_thread_join(&thread);
        }
        background_stop();
}

static pthread_key_t own_key;

static void end_with_a_value(void *arg)
{
        weft_scope scope;

        CHECK_EQ(pthread_setspecific(own_key, arg), 0);
        CHECK_EQ(weft_scope_open(&scope, WEFT_FOREVER), 0);     /* watches for the thread's end */
        CHECK_EQ(weft_scope_close(&scope), 0);
}

/* Libc calls destructors in no known order: weft's destructor may run before or after this one. */
TEST(every_call_works_in_a_destructor_of_the_thread)
{
        struct sync_thread thread;

        CHECK_EQ(pthread_key_create(&own_key, call_all), 0);
        background_start();
        for (int i = 0; i < 2; i++) {
                sync_thread_start(&thread, end_with_a_value, &own_key);
                sync_thread_join(&thread);
        }
        background_stop();
}

/* ---- What only goroutines may do ------------------------------------------------------------- */

static void exit_from_afar(void *arg)
{
        (void)arg;
        background_start();
        weft_exit();
}

TEST(exit_needs_a_goroutine)
{
        test_expect_death(exit_from_afar, NULL, SIGABRT,
                          "weft: fatal: weft_exit called outside a goroutine");
}

static void lock_from_afar(void *arg)
{
        background_start();
        if (arg)
                weft_thread_unlock();
        else
                weft_thread_lock();
}

TEST(only_goroutines_lock_their_thread)
{
        test_expect_death(lock_from_afar, NULL, SIGABRT, "weft: fatal: weft_thread_lock");
        test_expect_death(lock_from_afar, &s, SIGABRT, "weft: fatal: weft_thread_unlock");
}

/* ---- Without a runtime ----------------------------------------------------------------------- */

TEST(without_a_runtime_every_call_says_so_or_works)
{
        weft_stats_t st = { .size = sizeof(st) };
        weft_scope   scope;
        int          v = 0;
        weft_case    cs = WEFT_AFTER(1);

        CHECK_EQ(weft_check(), -ESHUTDOWN);
        weft_dump(2);
        CHECK_EQ(weft_stats(&st), -ESHUTDOWN);
        CHECK(!weft_chan_new(4, 4) && !weft_tick(1) && !weft_timer_new(1, background_count, NULL));
        CHECK_EQ(weft_sleep(1), -ESHUTDOWN);
        CHECK_EQ(weft_select(&cs, 1), -ESHUTDOWN);
        CHECK_EQ(weft_chan_send(NULL, &v), -ESHUTDOWN);
        CHECK_EQ(weft_chan_recv(NULL, &v), -ESHUTDOWN);
        CHECK_EQ(weft_scope_open(&scope, 1), -ESHUTDOWN);
        CHECK_EQ(weft_cancelled(), -ESHUTDOWN);
        CHECK_EQ(weft_sem_acquire(&s.sem), -ESHUTDOWN);
        CHECK_EQ(weft_wg_wait(&s.wg), -ESHUTDOWN);
        CHECK_EQ(weft_unpark(1), -ESHUTDOWN);
        CHECK_EQ(weft_stop(), -ESHUTDOWN);
        CHECK_EQ(weft_threads_left(), 0);
        weft_mutex_lock(&s.mutex);
        weft_mutex_unlock(&s.mutex);
        weft_rwmutex_lock(&s.rwmutex);
        weft_rwmutex_unlock(&s.rwmutex);
        weft_once_do(&s.once, background_count, NULL);
        CHECK_EQ(weft_blocking(background_count, NULL), 0);
        CHECK_EQ(w_load_acq(&background_n_ran), 2);
        CHECK_EQ(weft_id(), 0);
        CHECK(weft_now() > 0);
}
