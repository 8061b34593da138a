/* tests/flow/sched/run/test_freeze_world.c - the world stops with all its threads, and goes on,
 * again and again.
 *
 * TEST_LONG=1, as `make stress` sets it: 20,000 times.
 *
 * test: procs=1,2,4 timeout=600 valgrind=no
 * The long form takes minutes. The test inspects its threads, and valgrind runs these in its own
 * way.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/freeze.h"
#include "sched/run/foreign.h"
#include "sched/run/world.h"
#include "sched/switch.h"

#include <string.h>
#include <time.h>

enum { N_WORKERS = 6 };

static w_atomic_u32 is_over, n_slept;

struct worker {
        w_atomic_u64 n, n_seen;
        w_atomic_ptr g;
};

static struct worker workers[N_WORKERS];
static uint32_t      n_stood, n_checked;

static int n_stops(void)
{
        return getenv("TEST_LONG") ? 20000 : (int)sched_scale(300) + 4;
}

static void count(struct worker *w)
{
        w_add_rlx(&w->n, 1);                                      /* counter */
}

static void in_regions(struct worker *w)
{
        weft_block_begin();
        count(w);
        weft_block_end();
}

static void allocate(struct worker *w)
{
        void *volatile p[16];

        for (int i = 0; i < 16; i++)
                p[i] = malloc(1 + (size_t)i * 100);
        count(w);
        for (int i = 0; i < 16; i++)
                free(p[i]);
}

static void compute(struct worker *w)
{
        for (volatile int i = 0; i < 1000; i++)
                ;
        count(w);
}

static void nothing(void *arg)
{
        (void)arg;
}

/* They end locked, and their threads end with them: threads come and go. */
static void end_locked(void *arg)
{
        (void)arg;
        weft_thread_lock();
}

static void start_more(struct worker *w)
{
        sched_join(sched_go(end_locked, NULL));
        sched_join(sched_go(nothing, NULL));
        count(w);
}

static void short_sleep(struct worker *w)
{
        struct timespec t = { .tv_nsec = 50000 };

        weft_block_begin();
        if (nanosleep(&t, NULL) == 0)   /* a sleep that begins at that very moment may be hit */
                w_add_acqrel(&n_slept, 1);
        count(w);
        weft_block_end();
}

static void (*const kinds[N_WORKERS])(struct worker *) = {
        in_regions, allocate, compute, compute, start_more, short_sleep,
};

static void work(void *arg)
{
        struct worker *w = arg;

        w_store_rel(&w->g, w_g());
        while (!w_load_acq(&is_over)) {
                kinds[w - workers](w);
                w_add_rlx(&w->n_seen, 1);                         /* counter */
        }
        w_store_rel(&w->g, NULL);
}

/* A frozen thread does not count. Nothing in here takes a lock that a frozen thread could hold. */
static void watch(const struct freeze *f)
{
        uint64_t before[N_WORKERS];

        for (int i = 0; i < N_WORKERS; i++)
                before[i] = w_load_acq(&workers[i].n);
        int64_t until = w_os_now() + 20000;

        while (w_os_now() < until)
                ;
        for (uint32_t k = 0; k < f->n; k++) {
                const struct frozen_m *seen = &f->ms[k];

                n_checked++;
                if (seen->how != W_SEEN_FROZEN)
                        continue;
                n_stood++;
                CHECK(seen->g && seen->regs.pc && seen->regs.sp);
                for (int i = 0; i < N_WORKERS; i++)
                        if (w_load_acq(&workers[i].g) == seen->g)
                                CHECK_EQ(w_load_acq(&workers[i].n), before[i]);
        }
}

static void stop_once(void *arg)
{
        struct freeze f;

        (void)arg;
        w_freeze_begin(&f);
        watch(&f);
        for (uint32_t i = 0; i < f.n; i++)
                w_frozen_m_take(&f.ms[i]);
        w_freeze_end(&f);
        w_freeze_free(&f);
}

static void stop_in_goroutine(void *arg)
{
        (void)arg;
        for (int n = n_stops(); n > 0; n--) {
                uint32_t before = w_enter();

                CHECK(w_world_stop());
                w_on_g0(stop_once, NULL);
                w_world_start();
                w_leave(before);
                if (n % 16 == 0)
                        weft_yield();
        }
}

static void stop_in_thread(void *arg)
{
        (void)arg;
        CHECK(w_foreign_enter());
        for (int n = n_stops(); n > 0; n--) {
                CHECK(w_world_stop());
                stop_once(NULL);
                w_world_start();
                if (n % 16 == 0)
                        test_sleep_us(1000);
        }
        w_foreign_exit();
}

static void main_freeze(void *arg)
{
        int64_t ids[N_WORKERS];

        for (int i = 0; i < N_WORKERS; i++)
                ids[i] = sched_go(work, &workers[i]);
        sync_run_in(arg, stop_in_goroutine, stop_in_thread);
        w_store_rel(&is_over, 1);
        for (int i = 0; i < N_WORKERS; i++) {
                sched_join(ids[i]);
                CHECK_EQ(w_load_acq(&workers[i].n), w_load_acq(&workers[i].n_seen));
        }
        CHECK_EQ(weft_check(), 0);
        bool often = n_stops() > 100;
        bool certain = FREEZE_WORKS && !test_is_slow() && often && (arg || sched_procs() > 1);

        CHECK(!certain || n_stood > 0);
        if (getenv("TEST_VERBOSE"))
                dprintf(2, "%u checked, %u frozen\n", n_checked, n_stood);
}

static void run_freeze(void *arg)
{
        weft_config cfg = { .idle_ms = 1 };

        freeze_need_kernel();
        CHECK_EQ(sched_run_left(&cfg, main_freeze, arg), 0);
}

TEST(a_goroutine_stops_all_threads_again_and_again) { run_freeze(NULL); }
TEST(a_thread_stops_all_threads_again_and_again) { run_freeze(&is_over); }
