/* tests/flow/sched/test_wake_batch.c - many goroutines are woken by one event: each once, in order,
 * in parallel.
 *
 * test: procs=1,2,4
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/sync.h"
#include "sched/sched.h"

#include <errno.h>

enum { N_MANY = 600 };          /* more than a ring holds, and than a thread moves at once */

static weft_chan   *gate;
static w_atomic_u32 n_woken;

static void open_gate(void)
{
        gate = weft_chan_new(0, 0);
        CHECK(gate != NULL);
        w_store_rel(&n_woken, 0);
}

static void await_all_parked(const int64_t *ids, uint32_t n)
{
        for (uint32_t i = 0; i < n; i++)
                sched_await_parked(ids[i]);
}

/* ---- In parallel ----------------------------------------------------------------------------- */

static void meet_behind_gate(void *n)
{
        CHECK_EQ(weft_chan_recv(gate, NULL), -EPIPE);
        w_add_acqrel(&n_woken, 1);
        while (w_load_acq(&n_woken) < *(uint32_t *)n)
                w_os_yield();
}

/* The closer does not give up its P, and the others give up none before all have come: each needs a
 * P and a thread of its own. */
static void main_parallel(void *arg)
{
        uint32_t n = (uint32_t)sched_procs() - 1;
        int64_t  ids[8];

        (void)arg;
        for (int round = 0; round < 50; round++) {
                open_gate();
                for (uint32_t i = 0; i < n; i++)
                        ids[i] = sched_go(meet_behind_gate, &n);
                await_all_parked(ids, n);
                if (round % 2)
                        while (w_load_rlx(&w_sched.n_idle_p) < n)
                                w_os_yield();
                CHECK_EQ(weft_chan_close(gate), 0);
                while (w_load_acq(&n_woken) < n)
                        w_os_yield();
                for (uint32_t i = 0; i < n; i++)
                        sched_join(ids[i]);
                weft_chan_unref(gate);
        }
}

TEST(each_gets_an_idle_p_of_its_own)
{
        if (sched_procs() == 1)
                test_skip("there is no other P");
        sched_run(main_parallel, NULL);
}

/* ---- In order -------------------------------------------------------------------------------- */

static weft_mutex mutex;
static weft_cond  cond;
static uint32_t   n_queued, n_passed;

static void wait_in_queue(void *arg)
{
        (void)arg;
        weft_mutex_lock(&mutex);
        uint32_t mine = n_queued++;

        CHECK_EQ(weft_cond_wait(&cond, &mutex), 0);
        CHECK_EQ(n_passed, mine);
        n_passed++;
        weft_mutex_unlock(&mutex);
}

static void main_order(void *arg)
{
        enum { N = 100 };       /* fits the ring */
        int64_t ids[N];

        (void)arg;
        for (int i = 0; i < N; i++)
                ids[i] = sched_go(wait_in_queue, NULL);
        await_all_parked(ids, N);
        weft_cond_broadcast(&cond);
        for (int i = 0; i < N; i++)
                sched_join(ids[i]);
        CHECK_EQ(n_passed, N);
}

TEST(a_broadcast_wakes_in_the_order_of_coming)
{
        if (sched_procs() > 1)
                test_skip("several Ps run them in any order");
        sched_run(main_order, NULL);
}

/* ---- All of them, once ----------------------------------------------------------------------- */

struct crowd {
        int64_t      target;
        weft_wg      wg;
        weft_scope   scope;
        int64_t      ids[N_MANY];
};

static void at_the_gate(void *arg)
{
        (void)arg;
        CHECK_EQ(weft_chan_recv(gate, NULL), -EPIPE);
        w_add_acqrel(&n_woken, 1);
}

static void at_the_group(void *arg)
{
        struct crowd *c = arg;

        CHECK_EQ(weft_wg_wait(&c->wg), 0);
        w_add_acqrel(&n_woken, 1);
}

static void at_the_end(void *arg)
{
        struct crowd *c = arg;

        sched_join(c->target);
        w_add_acqrel(&n_woken, 1);
}

static int in_the_scope(void *arg)
{
        (void)arg;
        CHECK_EQ(weft_park(), -ECANCELED);
        w_add_acqrel(&n_woken, 1);
        return 0;
}

static void gather_crowd(struct crowd *c, void (*fn)(void *))
{
        w_store_rel(&n_woken, 0);
        for (uint32_t i = 0; i < N_MANY; i++)
                c->ids[i] = sched_go(fn, c);
        await_all_parked(c->ids, N_MANY);
        CHECK_EQ(w_load_acq(&n_woken), 0);
}

static void dismiss_crowd(struct crowd *c)
{
        for (uint32_t i = 0; i < N_MANY; i++)
                sched_join(c->ids[i]);
        CHECK_EQ(w_load_acq(&n_woken), N_MANY);
}

static void close_gate(void *arg)
{
        (void)arg;
        CHECK_EQ(weft_chan_close(gate), 0);
}

static void main_close(void *c)
{
        open_gate();
        gather_crowd(c, at_the_gate);
        close_gate(NULL);
        dismiss_crowd(c);
        weft_chan_unref(gate);
}

static void main_close_from_afar(void *c)
{
        struct sync_thread thread;

        open_gate();
        gather_crowd(c, at_the_gate);
        sync_thread_start(&thread, close_gate, NULL);
        dismiss_crowd(c);
        sync_thread_join(&thread);
        weft_chan_unref(gate);
}

static void main_group(void *arg)
{
        struct crowd *c = arg;

        weft_wg_add(&c->wg, 1);
        gather_crowd(c, at_the_group);
        weft_wg_done(&c->wg);
        dismiss_crowd(c);
}

static void park_once(void *arg)
{
        (void)arg;
        CHECK_EQ(weft_park(), 0);
}

static void main_joiners(void *arg)
{
        struct crowd *c = arg;

        c->target = sched_go(park_once, NULL);
        gather_crowd(c, at_the_end);
        CHECK_EQ(weft_unpark(c->target), 0);
        dismiss_crowd(c);
}

static void main_scope(void *arg)
{
        struct crowd *c = arg;

        w_store_rel(&n_woken, 0);
        CHECK_EQ(weft_scope_open(&c->scope, WEFT_FOREVER), 0);
        for (uint32_t i = 0; i < N_MANY; i++)
                c->ids[i] = weft_scope_go(&c->scope, in_the_scope, c);
        await_all_parked(c->ids, N_MANY);
        weft_scope_cancel(&c->scope);
        CHECK_EQ(weft_scope_close(&c->scope), 0);
        CHECK_EQ(w_load_acq(&n_woken), N_MANY);
}

static int64_t due_at;

static void until_the_time(void *arg)
{
        (void)arg;
        CHECK_EQ(weft_sleep(due_at - w_os_now()), 0);
        CHECK(w_os_now() >= due_at);
        w_add_acqrel(&n_woken, 1);
}

/* One goroutine computes longer than the others sleep, so that all are due at once. */
static void main_sleepers(void *arg)
{
        struct crowd *c = arg;

        due_at = w_os_now() + WEFT_MS(30);
        w_store_rel(&n_woken, 0);
        for (uint32_t i = 0; i < N_MANY; i++)
                c->ids[i] = sched_go(until_the_time, c);
        weft_yield();
        while (w_os_now() < due_at)
                w_cpu_pause();
        dismiss_crowd(c);
}

static void run_crowd(void (*fn)(void *))
{
        static struct crowd crowd;

        sched_run(fn, &crowd);
}

TEST(a_crowd_hears_of_a_close)                  { run_crowd(main_close); }
TEST(a_crowd_hears_of_a_close_from_afar)        { run_crowd(main_close_from_afar); }
TEST(a_crowd_hears_of_an_empty_group)           { run_crowd(main_group); }
TEST(a_crowd_hears_of_an_end)                   { run_crowd(main_joiners); }
TEST(a_crowd_hears_of_a_cancellation)           { run_crowd(main_scope); }
TEST(a_crowd_of_sleepers_wakes)                 { run_crowd(main_sleepers); }
