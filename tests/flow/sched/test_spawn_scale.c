/* tests/flow/sched/test_spawn_scale.c - goroutines by the hundred thousand, and by the million in
 * long runs.
 *
 * Set TEST_LONG=1 for the long forms, as `make stress` does. Tools that shadow every byte get
 * smaller numbers.
 *
 * test: procs=1,2,4
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/sched.h"

#include "os/os.h"

#include <unistd.h>

static void need_long_form(void)
{
        const char *set = getenv("TEST_LONG");

        if (!set || *set != '1')
                test_skip("long form: set TEST_LONG=1 or use make stress");
        if (test_is_slow())
                test_skip("too large for this build");
}

/* Without light guards a stack costs two mappings, and there are not enough of them. */
static uint32_t bounded(uint32_t n)
{
        uint32_t most = sched_scale(n);

        return w_os_vm_has_light_guard() || most < 5000 ? most : 5000;
}

/* ---- Alive at the same time ------------------------------------------------------------------ */

struct crowd {
        uint32_t     n;
        int64_t     *ids;
        w_atomic_u32 n_parked, n_woken;
};

static struct crowd crowd;

static void join_crowd(void *arg)
{
        (void)arg;
        w_add_acqrel(&crowd.n_parked, 1);
        CHECK_EQ(weft_park(), 0);
        w_add_acqrel(&crowd.n_woken, 1);
}

static void gather(void)
{
        crowd.ids = calloc(crowd.n, sizeof(*crowd.ids));
        CHECK(crowd.ids);
        for (uint32_t i = 0; i < crowd.n; i++)
                crowd.ids[i] = sched_go(join_crowd, NULL);
        sched_await(&crowd.n_parked, crowd.n);
        CHECK_EQ(weft_count(), crowd.n + 1);
}

static void disperse(void)
{
        for (uint32_t i = 0; i < crowd.n; i++)
                CHECK_EQ(weft_unpark(crowd.ids[i]), 0);
        for (uint32_t i = 0; i < crowd.n; i++)
                sched_join(crowd.ids[i]);
        CHECK_EQ(w_load_acq(&crowd.n_woken), crowd.n);
        while (weft_count() > 1)
                weft_yield();
        free(crowd.ids);
}

/* A million parked goroutines must fit; the promise is 4,400 bytes each, page tables and record
 * included. What the kernel keeps for page tables does not count as resident. */
static void main_crowd(void *arg)
{
        long before = test_resident_kib();

        (void)arg;
        gather();
        long each = (test_resident_kib() - before) * 1024 / (long)crowd.n;

        printf("%u goroutines parked, %ld bytes resident each\n", crowd.n, each);
        if (!test_is_slow() && crowd.n >= 50000)
                CHECK_MSG(each <= 4400, "%ld bytes resident per parked goroutine", each);
        disperse();
}

static void run_crowd(uint32_t n)
{
        crowd.n = bounded(n);
        sched_run(main_crowd, NULL);
}

TEST(a_hundred_thousand_live_goroutines)
{
        run_crowd(100000);
}

TEST(a_million_live_goroutines)
{
        need_long_form();
        run_crowd(1000000);
}

/* Spawned and never run: a record each, no stack. They are dropped with the run. */
static void never(void *arg)
{
        (void)arg;
}

GO_TEST(goroutines_that_have_not_run_cost_a_record)
{
        uint32_t n = bounded(100000);
        long     before = test_resident_kib();

        if (sched_procs() > 1)
                return;         /* others would run them */
        weft_nopreempt_begin();         /* or they would have their turn after a while */
        for (uint32_t i = 0; i < n; i++)
                sched_go(never, NULL);
        long each = (test_resident_kib() - before) * 1024 / (long)n;

        CHECK_EQ(weft_count(), n + 1);
        weft_nopreempt_end();
        printf("%u goroutines spawned, %ld bytes resident each\n", n, each);
        if (!test_is_slow() && n >= 50000)
                CHECK_MSG(each <= 400, "%ld bytes per goroutine that has not run", each);
}

/* ---- One after the other --------------------------------------------------------------------- */

static w_atomic_u32 n_ended;

static void end(void *arg)
{
        (void)arg;
        w_add_acqrel(&n_ended, 1);
}

/* In batches, so that as many are alive at any time in the first thousand as in the last. */
static void spawn_and_end(uint32_t n)
{
        enum { BATCH = 500 };

        for (uint32_t done = 0; done < n; done += BATCH) {
                uint32_t target = w_load_acq(&n_ended) + BATCH;

                for (int i = 0; i < BATCH; i++)
                        sched_go(end, NULL);
                sched_await(&n_ended, target);
        }
}

static void main_flat(void *arg)
{
        uint32_t n = *(uint32_t *)arg;

        spawn_and_end(n / 10);
        long before = test_resident_kib();

        spawn_and_end(n - n / 10);
        long grown = test_resident_kib() - before;

        printf("%u goroutines one after the other: %ld KiB more at the end\n", n, grown);
        if (!test_is_slow())
                CHECK_MSG(grown <= 1024, "%ld KiB more after %u goroutines", grown, n);
}

TEST(memory_is_flat_over_a_hundred_thousand_spawns)
{
        uint32_t n = sched_scale(100000);

        sched_run(main_flat, &n);
}

TEST(memory_is_flat_over_ten_million_spawns)
{
        uint32_t n = 10000000;

        need_long_form();
        sched_run(main_flat, &n);
}
