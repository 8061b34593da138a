/* tests/flow/sched/run/test_stop_world.c - the world stops and goes on again and again, whatever
 * goroutines do.
 *
 * TEST_LONG=1, as `make stress` sets it: 100,000 times, and all but one in a hundred take less than
 * 10 ms.
 *
 * test: procs=1,2,4 timeout=600
 * The long form takes minutes.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/sync.h"
#include "sched/run/foreign.h"
#include "sched/run/world.h"
#include "sched/sched.h"
#include "sched/switch.h"

enum { N_WORKERS = 4 };

static w_atomic_u32 is_over;
static w_atomic_u64 n_rounds[N_WORKERS], n_seen[N_WORKERS];

static int n_stops(void)
{
        return getenv("TEST_LONG") ? 100000 : (int)sched_scale(300) + 4;
}

/* In and out at full rate. Within the region it may run on while the world is stopped. */
static void in_regions(void *arg)
{
        uintptr_t i = (uintptr_t)arg;

        while (!w_load_acq(&is_over)) {
                weft_block_begin();
                w_add_rlx(&n_rounds[i], 1);                       /* counter */
                weft_block_end();
                w_add_rlx(&n_seen[i], 1);                         /* counter */
        }
}

static void yields(void *arg)
{
        uintptr_t i = (uintptr_t)arg;

        while (!w_load_acq(&is_over)) {
                w_add_rlx(&n_rounds[i], 1);                       /* counter */
                weft_yield();
                w_add_rlx(&n_seen[i], 1);                         /* counter */
        }
}

/* ---- How long a stop takes ------------------------------------------------------------------- */

struct span {
        int64_t from, to;
};

enum { N_LONG = 100000, LATE_NS = 5000000, STOP_NS = 10000000 };

static struct span  stops[N_LONG], lates[N_LONG];
static uint32_t     n_timed, n_lates;
static w_atomic_u32 control_is_over;

/* Only sleeps for 1 ms. If it is very late, a stop is late too, because there was no CPU. */
static void control(void *arg)
{
        (void)arg;
        while (!w_load_acq(&control_is_over)) {
                int64_t from = w_os_now();

                test_sleep_us(1000);
                if (w_os_now() - from > 1000000 + LATE_NS && n_lates < N_LONG)
                        lates[n_lates++] = (struct span){ from, w_os_now() };
        }
}

/* Both are in order of time. The times of the stops that count, in place. */
static uint32_t drop_late_ones(int64_t *times)
{
        uint32_t n = 0;

        for (uint32_t i = 0, k = 0; i < n_timed; i++) {
                while (k < n_lates && lates[k].to < stops[i].from)
                        k++;
                if (k == n_lates || lates[k].from > stops[i].to)
                        times[n++] = stops[i].to - stops[i].from;
        }
        return n;
}

static int compare(const void *a, const void *b)
{
        int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

        return (x > y) - (x < y);
}

static void check_times(void)
{
        int64_t *times = calloc(n_timed, sizeof(*times));

        CHECK(times);
        uint32_t n = drop_late_ones(times);

        CHECK(n_lates < N_LONG && n > 0);
        qsort(times, n, sizeof(*times), compare);
        int64_t p99 = times[n - 1 - n / 100];

        printf("%u of %u stops counted, the median %lld us, the 99th of 100 %lld us\n", n, n_timed,
               (long long)times[n / 2] / 1000, (long long)p99 / 1000);
        CHECK(test_is_slow() || p99 < STOP_NS);
        free(times);
}

/* ---- Stops ----------------------------------------------------------------------------------- */

/* The stopper has every P: none of them can be in use. */
static void stop_once(void)
{
        struct span span = { .from = w_os_now() };

        CHECK(w_world_stop());
        span.to = w_os_now();
        if (n_timed < N_LONG)
                stops[n_timed++] = span;
        for (uint32_t i = 0; i < w_n_procs(); i++)
                CHECK_EQ(w_load_acq(&w_sched.all_p[i]->status), P_STOPPED);
        w_world_start();
}

static void stop_in_goroutine(void *arg)
{
        (void)arg;
        uint32_t before = w_enter();

        for (int n = n_stops(); n > 0; n--) {
                stop_once();
                if (n % 64 == 0)
                        w_yield();
        }
        w_leave(before);
}

static void stop_in_thread(void *arg)
{
        (void)arg;
        CHECK(w_foreign_enter());
        for (int n = n_stops(); n > 0; n--)
                stop_once();
        w_foreign_exit();
}

static void main_world(void *arg)
{
        int64_t ids[N_WORKERS];

        for (uintptr_t i = 0; i < N_WORKERS; i++)
                ids[i] = sched_go(i % 2 ? yields : in_regions, (void *)i);
        while (arg && w_load_acq(&n_seen[0]) == 0)
                CHECK_EQ(weft_sleep(WEFT_MS(1)), 0);
        sync_run_in(arg, stop_in_goroutine, stop_in_thread);
        w_store_rel(&is_over, 1);
        for (int i = 0; i < N_WORKERS; i++) {
                sched_join(ids[i]);
                CHECK_EQ(w_load_acq(&n_rounds[i]), w_load_acq(&n_seen[i]));
        }
        CHECK_EQ(weft_check(), 0);
}

static void run_world(void *by_thread)
{
        struct sync_thread thread;

        if (getenv("TEST_LONG"))
                sync_thread_start(&thread, control, NULL);
        sched_run(main_world, by_thread);
        if (!getenv("TEST_LONG"))
                return;
        w_store_rel(&control_is_over, 1);
        sync_thread_join(&thread);
        check_times();
}

TEST(a_goroutine_stops_the_world_beside_regions)  { run_world(NULL); }
TEST(a_thread_stops_the_world_beside_regions)     { run_world(&is_over); }

/* ---- A computing goroutine gets its P back --------------------------------------------------- */

enum { N_SPINNING = 2, N_BACK_ROUNDS = 50 };

static W_ATOMIC(struct m *) spinning[N_SPINNING];

static void spins(void *arg)
{
        w_store_rel(&spinning[(uintptr_t)arg], w_m());
        while (!w_load_acq(&is_over))
                w_cpu_pause();
}

/* NULL: it has no P. */
static struct p *p_of(uintptr_t i)
{
        struct m *mp = w_load_acq(&spinning[i]);
        struct p *found = NULL;

        w_lock(&w_sched.lock);
        for (uint32_t k = 0; k < w_n_procs(); k++)
                if (w_load_acq(&w_sched.all_p[k]->m) == mp)
                        found = w_sched.all_p[k];
        w_unlock(&w_sched.lock);
        return found;
}

/* An M that has lost its P gets another P after a while. */
static struct p *await_p_of(uintptr_t i)
{
        struct p *pp = p_of(i);

        for (int tries = 0; !pp && tries < 100; tries++) {
                CHECK_EQ(weft_sleep(WEFT_MS(1)), 0);
                pp = p_of(i);
        }
        return pp;
}

/* How many have another P than before the world was stopped, or no P. */
static uint32_t n_moved_by_a_stop(void)
{
        struct p *before[N_SPINNING];
        uint32_t  n = 0;

        for (uintptr_t i = 0; i < N_SPINNING; i++)
                before[i] = await_p_of(i);
        CHECK_EQ(weft_check(), 0);
        for (uintptr_t i = 0; i < N_SPINNING; i++)
                n += !before[i] || p_of(i) != before[i];
        return n;
}

static void main_spins(void *arg)
{
        int64_t  ids[N_SPINNING];
        uint32_t n_moved = 0;

        (void)arg;
        for (uintptr_t i = 0; i < N_SPINNING; i++)
                ids[i] = sched_go(spins, (void *)i);
        for (uintptr_t i = 0; i < N_SPINNING; i++)
                while (!w_load_acq(&spinning[i]))
                        CHECK_EQ(weft_sleep(WEFT_MS(1)), 0);
        for (int round = 0; round < N_BACK_ROUNDS; round++)
                n_moved += n_moved_by_a_stop();
        w_store_rel(&is_over, 1);
        for (int i = 0; i < N_SPINNING; i++)
                sched_join(ids[i]);
        CHECK_MSG(n_moved * 4 <= N_SPINNING * N_BACK_ROUNDS, "%u of %u have lost their Ps", n_moved,
                  N_SPINNING * N_BACK_ROUNDS);
}

/* After Go's TestTraceSTW: after a stop nearly every goroutine is where it was. */
TEST(a_computing_goroutine_gets_its_p_back_after_a_stop)
{
        weft_config cfg = { .procs = 4, .shutdown_ms = 300000 };

        test_set_dump(sched_dump);
        CHECK_EQ(sched_run_left(&cfg, main_spins, NULL), 0);
}

/* ---- Stop after stop ------------------------------------------------------------------------- */

enum { N_STOPPING = 3, N_TURNS = 100 };

static void stops_on_and_on(void *arg)
{
        (void)arg;
        while (!w_load_acq(&is_over)) {
                CHECK_EQ(weft_check(), 0);
                weft_yield();
        }
}

static void nothing(void *arg)
{
        (void)arg;
}

GO_TEST(stop_after_stop_keeps_no_goroutine_from_running)
{
        w_store_rel(&is_over, 0);
        for (int i = 0; i < N_STOPPING; i++)
                (void)sched_go(stops_on_and_on, NULL);
        for (int i = 0; i < N_TURNS; i++)
                CHECK_EQ(weft_join(sched_go(nothing, NULL)), 0);
        w_store_rel(&is_over, 1);
}
