/* tests/flow/sched/monitor/test_blocked_report.c - what a goroutine does in user code decides
 * whether it loses its P, and a goroutine that blocks its thread is reported.
 *
 * test: procs=1,2,4
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/blocked.h"

/* ---- The report ------------------------------------------------------------------------------ */

/* Another goroutine waits for the only P; it writes the byte that is read here. */
static void write_byte(void *arg)
{
        (void)arg;
        CHECK_EQ(write(blocked_ends[1], "x", 1), 1);
}

static void read_byte(void)
{
        char c = 0;

        (void)sched_go(write_byte, NULL);
        CHECK_EQ(test_read(blocked_ends[0], &c, 1), 1);
}

/* One place: the loop is not unrolled, and the call is no tail call. */
__attribute__((noinline)) static void read_and_yield(void)
{
        read_byte();
        weft_yield();
        w_add_acqrel(&blocked_n_at_it, 1);
}

static void read_five_times(void *arg)
{
        weft_name((const char *)arg);
        for (int i = 0; i < 5; i++)
                read_and_yield();
}

static void read_once_and_end(void *arg)
{
        weft_name((const char *)arg);
        read_byte();
}

/* If other processes use the CPUs, some of these blocks are not noticed. */
static void main_reads(void *arg)
{
        (void)arg;
        sched_join(sched_go(read_five_times, "first"));
        sched_join(sched_go(read_five_times, "second"));
        for (int i = 0; i < 5; i++) {
                sched_join(sched_go(read_once_and_end, "third"));
                sched_join(sched_go(read_once_and_end, "fourth"));
        }
        CHECK_EQ(weft_check(), 0);
}

static void child_reads(void *arg)
{
        weft_config cfg = { .procs = 1, .preempt = *(int *)arg };

        CHECK_EQ(pipe(blocked_ends), 0);
        CHECK_EQ(sched_run_left(&cfg, main_reads, NULL), 0);
        _exit(0);
}

static void check_reads(int preempt)
{
        char said[16384];

        blocked_run_child(child_reads, &preempt, said, sizeof(said));
        CHECK_MSG(blocked_count(said, " ms outside a blocking region\n") == 2, "%s", said);
        CHECK_MSG(blocked_count(said, " \"first\" blocked its thread ") +
                  blocked_count(said, " \"second\" blocked its thread ") == 1, "%s", said);
        CHECK_MSG(blocked_count(said, " \"third\" blocked its thread ") +
                  blocked_count(said, " \"fourth\" blocked its thread ") == 1, "%s", said);
        /* The monitor saw the place, or the goroutine entered too soon for that. */
        CHECK_MSG(blocked_count(said, " region\nat\n\t0x") +
                  blocked_count(said, " region\nbefore it came to\n\t0x") == 2, "%s", said);
        CHECK_MSG(blocked_count(said, "\nbegan in\n\t0x") == 2, "%s", said);
        CHECK_MSG(blocked_count(said, "weft: goroutine ") == 2, "%s", said);
}

TEST(each_place_that_blocks_is_reported_once)            { check_reads(WEFT_PREEMPT_ALL); }
TEST(each_place_that_blocks_is_reported_once_if_blocked) { check_reads(WEFT_PREEMPT_BLOCKED); }

/* ---- Computing goroutines -------------------------------------------------------------------- */

enum { COMPUTES_NS = 100000000 };

/* How many other goroutines ran while it stayed in user code. */
static uint32_t compute(void)
{
        int64_t  until = w_os_now() + COMPUTES_NS;
        uint32_t before = w_load_acq(&blocked_n_pings);

        (void)sched_go(blocked_ping, NULL);
        while (w_os_now() < until && w_load_acq(&blocked_n_pings) == before)
                w_cpu_pause();
        return w_load_acq(&blocked_n_pings) - before;
}

static uint32_t n_beside;

static void main_compute(void *arg)
{
        (void)arg;
        n_beside = compute();
        CHECK_EQ(weft_check(), 0);
}

static uint32_t run_compute(int preempt)
{
        weft_config cfg = { .procs = 1, .preempt = preempt };

        CHECK_EQ(sched_run_left(&cfg, main_compute, NULL), 0);
        return n_beside;
}

TEST(a_running_goroutine_keeps_its_p_if_blocked) { CHECK_EQ(run_compute(WEFT_PREEMPT_BLOCKED), 0); }
TEST(a_running_goroutine_keeps_its_p_if_off)     { CHECK_EQ(run_compute(WEFT_PREEMPT_OFF), 0); }

/* It stays in user code until other goroutines had their turn. */
static void main_compute_on(void *arg)
{
        (void)arg;
        while (compute() == 0)
                ;
}

TEST(a_running_goroutine_loses_its_p_if_all)
{
        weft_config cfg = { .procs = 1, .preempt = WEFT_PREEMPT_ALL };

        CHECK_EQ(sched_run_left(&cfg, main_compute_on, NULL), 0);
}

static void child_compute(void *arg)
{
        (void)arg;
        CHECK(run_compute(WEFT_PREEMPT_ALL) <= 2);
        _exit(0);
}

TEST(a_running_goroutine_is_not_reported)
{
        char said[4096];

        blocked_run_child(child_compute, NULL, said, sizeof(said));
        CHECK_STR(said, "");
}

/* ---- preempt=off ----------------------------------------------------------------------------- */

static void main_sleeps(void *arg)
{
        uint32_t before = w_load_acq(&blocked_n_pings);

        (void)arg;
        (void)sched_go(blocked_ping, NULL);
        w_os_sleep_until(w_os_now() + 60000000);
        CHECK_EQ(w_load_acq(&blocked_n_pings), before);
        weft_block_begin();
        while (w_load_acq(&blocked_n_pings) == before)
                w_os_sleep_until(w_os_now() + 1000000);
        weft_block_end();
        weft_stats_t st = { .size = sizeof(st) };

        CHECK_EQ(weft_stats(&st), 0);
        CHECK(st.takes >= 1);
}

static void child_off(void *arg)
{
        weft_config cfg = { .procs = 1, .preempt = WEFT_PREEMPT_OFF };

        (void)arg;
        CHECK_EQ(sched_run_left(&cfg, main_sleeps, NULL), 0);
        _exit(0);
}

TEST(only_regions_lose_their_ps_if_off)
{
        char said[4096];

        blocked_run_child(child_off, NULL, said, sizeof(said));
        CHECK_STR(said, "");
}

/* ---- More blocked goroutines than Ps --------------------------------------------------------- */

static void read_and_sleep(void *arg)
{
        char c = 0;

        (void)arg;
        w_add_acqrel(&blocked_n_at_it, 1);
        CHECK_EQ(test_read(blocked_ends[0], &c, 1), 1);
        while (!w_load_acq(&blocked_go_on))
                w_os_sleep_until(w_os_now() + 1000000);
}

static void main_many(void *arg)
{
        int64_t  ids[8];
        uint32_t n = (uint32_t)sched_procs() + 3;

        (void)arg;
        for (uint32_t i = 0; i < n; i++)
                ids[i] = sched_go(read_and_sleep, NULL);
        while (w_load_acq(&blocked_n_at_it) < n)
                weft_yield();
        sched_join(sched_go(blocked_ping, NULL));
        CHECK_EQ(write(blocked_ends[1], "12345678", n), n);
        sched_join(sched_go(blocked_ping, NULL));
        w_store_rel(&blocked_go_on, 1);
        for (uint32_t i = 0; i < n; i++)
                sched_join(ids[i]);
        CHECK_EQ(weft_check(), 0);
}

static void many_block(const char *debug)
{
        struct test_resources before;

        CHECK_EQ(pipe(blocked_ends), 0);
        CHECK_EQ(setenv("WEFT_DEBUG", debug, 1), 0);
        sched_warm_up();
        before = test_resources_now();
        sched_run(main_many, NULL);
        CHECK_EQ(test_resources_now().descriptors, before.descriptors);
}

TEST(many_blocked_goroutines_lose_their_ps)            { many_block("preempt=all"); }
TEST(many_blocked_goroutines_lose_their_ps_if_blocked) { many_block("preempt=blocked"); }

/* ---- The kernel does not report -------------------------------------------------------------- */

#if defined(W_DEBUG)
#include "os/inject.h"

static void main_unknown(void *arg)
{
        int64_t id = sched_go(read_and_sleep, NULL);

        (void)arg;
        while (!w_load_acq(&blocked_n_at_it))
                weft_yield();
        sched_join(sched_go(blocked_ping, NULL));
        CHECK_EQ(write(blocked_ends[1], "x", 1), 1);
        w_store_rel(&blocked_go_on, 1);
        sched_join(id);
}

static void child_unknown(void *arg)
{
        weft_config cfg = { .procs = 1 };

        (void)arg;
        CHECK_EQ(pipe(blocked_ends), 0);
        w_inject_from(W_CALL_OPEN, 1, EMFILE);
        CHECK_EQ(sched_run_left(&cfg, main_unknown, NULL), 0);
        CHECK(w_inject_hits() > 0);
        _exit(0);
}

static void check_unknown(void)
{
        char said[4096];

        blocked_run_child(child_unknown, NULL, said, sizeof(said));
        CHECK_STR(said, "");
}
#else
static void check_unknown(void)
{
        test_skip("release builds have no fault injection");
}
#endif

TEST(a_blocked_goroutine_loses_its_p_if_the_kernel_does_not_tell)
{
        check_unknown();
}
