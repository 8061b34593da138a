/* tests/sim/test_sim.c - the simulated machine itself: how runs end, and that they repeat.
 *
 * test: sources=lib/extra/sim_test.c
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/atomic.h"
#include "base/fatal.h"
#include "base/thread.h"
#include "lib/extra/sim_test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- Ends ----------------------------------------------------------------------------------- */

static w_atomic_u32 word;

static void sleep_forever(void)
{
        word.raw = 5;
        (void)w_load_acq(&word);
        while (w_os_futex_wait(&word, 5, W_FOREVER) == 0) {}
}

TEST(deadlock_is_reported_with_the_word_it_waits_on)
{
        sim_test_run(sleep_forever, 1, (struct sim_config){ .no_spurious = true });
        CHECK(sim_test_result.failed);
        CHECK(strstr(sim_test_result.report, "deadlock"));
        CHECK(strstr(sim_test_result.report, "waits in futex wait on &word, which holds 5"));
        CHECK(strstr(sim_test_result.report, "weft-sim test --seed 1 --log"));
}

static void spin_forever(void)
{
        while (w_load_rlx(&word) != 77) {}
}

TEST(live_lock_ends_at_the_step_limit)
{
        word.raw = 0;
        sim_test_run(spin_forever, 1, (struct sim_config){ .max_steps = 500 });
        CHECK(sim_test_result.failed);
        CHECK(strstr(sim_test_result.report, "no end within 500 steps"));
        CHECK_EQ(sim_test_result.steps, 500);
}

static void be_fatal(void)
{
        w_fatal("cell %d is %s", 7, "torn");
}

TEST(fatal_error_fails_the_run_and_is_quoted)
{
        sim_test_must_fail(be_fatal, 3, "weft: fatal: cell 7 is torn");
}

static void live_on(void)
{
        sim_work(100);
}

TEST(a_run_that_must_die_must_die_for_the_named_reason)
{
        sim_test_must_pass(be_fatal, 3, (struct sim_config){ .dies_of = "cell 7 is torn" });
        sim_test_run(be_fatal, 3, (struct sim_config){ .dies_of = "cell 8 is torn" });
        CHECK(sim_test_result.failed);
        sim_test_run(live_on, 3, (struct sim_config){ .dies_of = "cell 7 is torn" });
        CHECK_MSG(sim_test_result.failed && strstr(sim_test_result.report, "should have died"),
                  "%s", sim_test_result.report);
}

static void leave_thread(void)
{
        struct w_os_thread t = sim_test_start(sim_test_nothing, NULL);

        (void)t;
        sim_work(1000000);
}

TEST(unjoined_thread_fails_the_run)
{
        sim_test_must_fail(leave_thread, 1, "\"other\" was never joined");
        sim_test_must_pass(leave_thread, 1, (struct sim_config){ .may_leave = true });
}

static void leave_memory(void)
{
        void *p;

        SIM_CHECK(w_os_vm_map(&p, 3 * w_os_page_size()) == 0, "no memory");
}

TEST(mapped_memory_left_fails_the_run)
{
        sim_test_must_fail(leave_memory, 1, "3 pages are still mapped");
}

static void write_after_unmap(void)
{
        void *p;

        SIM_CHECK(w_os_vm_map(&p, w_os_page_size()) == 0, "no memory");
        w_os_vm_unmap(p, w_os_page_size());
        *(char *)p = 1;
}

static void find_fresh_memory_zero(void)
{
        unsigned char *p;

        SIM_CHECK(w_os_vm_map((void **)&p, w_os_page_size()) == 0, "no memory");
        for (size_t i = 0; i < w_os_page_size(); i++)
                SIM_CHECK(p[i] == 0, "byte %d", (int)i);
        memset(p, 1, w_os_page_size());
        w_os_vm_unmap(p, w_os_page_size());
}

TEST(write_after_unmap_fails_the_run_and_spares_the_next)
{
        sim_test_must_fail(write_after_unmap, 1, "written after it had been unmapped");
        for (uint64_t seed = 1; seed < 10; seed++)
                sim_test_must_pass(find_fresh_memory_zero, seed, (struct sim_config){ .cpus = 1 });
}

static void unmap_twice(void)
{
        void *p;

        SIM_CHECK(w_os_vm_map(&p, w_os_page_size()) == 0, "no memory");
        w_os_vm_unmap(p, w_os_page_size());
        w_os_vm_unmap(p, w_os_page_size());
}

TEST(double_unmap_fails_the_run)
{
        sim_test_must_fail(unmap_twice, 1, "is not mapped");
}

static void join_twice(void)
{
        struct w_os_thread t = sim_test_start(sim_test_nothing, NULL);

        w_os_thread_join(&t);
        w_os_thread_join(&t);
}

TEST(double_join_fails_the_run)
{
        sim_test_must_fail(join_twice, 1, "join of a thread that does not exist");
}

static union {
        w_atomic_u64 whole;
        w_atomic_u32 half;
} mixed;

static void mix_sizes(void)
{
        w_store_rlx(&mixed.whole, 1);
        (void)w_load_rlx(&mixed.half);
}

TEST(two_sizes_at_one_address_fail_the_run)
{
        int n_failed = 0;

        for (uint64_t seed = 1; seed <= 20; seed++) {
                sim_test_run(mix_sizes, seed, (struct sim_config){ .cpus = 1 });
                n_failed += sim_test_result.failed;
        }
        CHECK(n_failed > 0);    /* every time but when the store left the buffer before the load */
}

/* ---- A failed run leaks nothing ------------------------------------------------------------- */

static void fail_in_the_middle(void *arg)
{
        struct w_os_altstack altstack;

        SIM_CHECK(w_os_altstack_install(&altstack) == 0, "no altstack");
        w_store_rlx(&word, 9);
        if (arg)
                sim_fail("on purpose");
        (void)w_os_futex_wait(&word, 9, W_FOREVER);
}

static void fail_with_others_around(void)
{
        struct w_os_thread a = sim_test_start(fail_in_the_middle, NULL);
        struct w_os_thread b = sim_test_start(fail_in_the_middle, &word);

        SIM_CHECK(w_os_faults_watch(sim_test_nothing) == 0, "watched");
        w_self_set((struct thread *)&word);
        w_os_thread_join(&a);
        w_os_thread_join(&b);
}

static void find_a_fresh_machine(void)
{
        SIM_CHECK(w_self() == NULL, "another thread's self");
        SIM_CHECK(w_os_tid() == 1000, "tid %d", w_os_tid());
        SIM_CHECK(sim_mapped_pages() == 0, "pages");
        SIM_CHECK(w_os_faults_watch(sim_test_nothing) == 0, "faults are watched");
        SIM_CHECK(w_os_membarrier() == -EPERM, "membarrier without init");
        w_os_faults_unwatch();
}

TEST(failed_run_leaks_nothing)
{
        for (uint64_t seed = 1; seed <= 50; seed++) {
                sim_test_must_fail(fail_with_others_around, seed, "on purpose");
                sim_test_must_pass(find_a_fresh_machine, seed, (struct sim_config){ .cpus = 1 });
        }
}

TEST(many_failed_runs_map_no_more_memory)
{
        sim_test_must_fail(fail_with_others_around, 1, "on purpose");
        struct test_resources before = test_resources_now();

        for (uint64_t seed = 2; seed <= 100; seed++)
                sim_test_must_fail(fail_with_others_around, seed, "on purpose");
        test_check_no_leak(&before);
}

/* ---- The same seed, the same run ------------------------------------------------------------ */

static void mill_about(void *arg)
{
        w_atomic_u32 *count = arg;

        for (int i = 0; i < 20; i++) {
                (void)w_add_rlx(count, 1);
                w_store_rlx(&word, (uint32_t)i);
                if (sim_random(4) == 0)
                        sim_work(sim_random(1000));
        }
}

static void mill(void)
{
        w_atomic_u32       count = W_ATOMIC_INIT(0);
        struct w_os_thread a = sim_test_start(mill_about, &count);
        struct w_os_thread b = sim_test_start(mill_about, &count);

        w_os_thread_join(&a);
        w_os_thread_join(&b);
        SIM_CHECK(w_load_rlx(&count) == 40, "%u", w_load_rlx(&count));
}

static char *log_of(uint64_t seed)
{
        struct sim_scenario scenario = { .name = "mill", .run = mill };
        char  *text;
        size_t size;
        FILE  *log = open_memstream(&text, &size);

        CHECK(log != NULL);
        sim_run(&scenario, seed, log, &sim_test_result);
        CHECK_EQ(fclose(log), 0);
        CHECK(!sim_test_result.failed && size > 1000);
        return text;
}

TEST(same_seed_gives_the_same_log)
{
        for (uint64_t seed = 1; seed <= 20; seed++) {
                char *a = log_of(seed), *between = log_of(seed + 1000), *b = log_of(seed);

                CHECK_MSG(strcmp(a, b) == 0, "seed %llu: two logs", (unsigned long long)seed);
                CHECK(strcmp(a, between) != 0);
                free(a);
                free(b);
                free(between);
        }
}

TEST(log_or_not_the_run_is_the_same)
{
        for (uint64_t seed = 1; seed <= 20; seed++) {
                free(log_of(seed));
                uint64_t steps = sim_test_result.steps, switches = sim_test_result.switches;
                int64_t  ended_at = sim_test_result.ended_at;

                sim_test_must_pass(mill, seed, (struct sim_config){ .cpus = 0 });
                CHECK_EQ(sim_test_result.steps, steps);
                CHECK_EQ(sim_test_result.switches, switches);
                CHECK_EQ(sim_test_result.ended_at, ended_at);
        }
}

