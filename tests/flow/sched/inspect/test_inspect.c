/* tests/flow/sched/inspect/test_inspect.c - inspecting a run: weft_check, weft_stats, weft_dump.
 *
 * test: procs=1,2,4
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/sched.h"
#include "sched/sched.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

/* ---- Check ----------------------------------------------------------------------------------- */

static w_atomic_u32 stop_churn;

static void nothing(void *arg)
{
        (void)arg;
}

static void churn(void *arg)
{
        (void)arg;
        for (uint32_t i = 0; !w_load_acq(&stop_churn); i++) {
                if (i % 4 == 0)
                        CHECK_EQ(weft_join(sched_go(nothing, NULL)), 0);
                weft_yield();
        }
}

static void check_often(void *arg)
{
        (void)arg;
        for (uint32_t i = 0; i < sched_scale(200); i++) {
                CHECK_EQ(weft_check(), 0);
                weft_yield();
        }
}

GO_TEST(check_holds_while_everything_moves)
{
        int64_t churners[4], checkers[2];

        for (int i = 0; i < 4; i++)
                churners[i] = sched_go(churn, NULL);
        for (int i = 0; i < 2; i++)
                checkers[i] = sched_go(check_often, NULL);
        for (int i = 0; i < 2; i++)
                CHECK_EQ(weft_join(checkers[i]), 0);
        w_store_rel(&stop_churn, 1);
        for (int i = 0; i < 4; i++)
                CHECK_EQ(weft_join(churners[i]), 0);
}

TEST(check_without_a_run_says_so)
{
        CHECK_EQ(weft_check(), -ESHUTDOWN);
}

/* A goroutine that claims to wait and waits for nothing. */
static void main_breaks(void *arg)
{
        int64_t   id = sched_go(nothing, NULL);
        struct g *gp = w_load_rlx(&w_p()->runq.next);

        (void)arg, (void)id;
        if (!gp)
                gp = w_load_rlx(&w_p()->runq.slots[0]);
        w_store_rlx(&gp->state, G_DEAD);
        weft_check();
}

static void break_and_check(void *arg)
{
        weft_config one = { .procs = 1 };

        (void)arg;
        (void)!weft_run_with(&one, main_breaks, NULL);
}

TEST(check_notices_a_queued_goroutine_that_is_dead)
{
        test_expect_death(break_and_check, NULL, SIGABRT, "is dead and is in a queue");
}

/* ---- Stats ----------------------------------------------------------------------------------- */

/* Each kind of wait is counted under its own name, and in the sum. */
static void receive_one(void *c)
{
        CHECK_EQ(weft_chan_recv(c, NULL), 0);
}

GO_TEST(stats_count_waits_by_reason)
{
        weft_stats_t st = { .size = sizeof(st) };
        weft_chan   *c = weft_chan_new(0, 0);
        int64_t      id = sched_go(receive_one, c);

        sched_await_parked(id);
        CHECK_EQ(weft_sleep(WEFT_US(10)), 0);
        CHECK_EQ(weft_chan_send(c, NULL), 0);
        sched_join(id);
        weft_chan_unref(c);
        CHECK_EQ(weft_stats(&st), 0);
        CHECK_EQ(st.parks_chan_recv, 1);
        CHECK_EQ(st.parks_sleep, 1);
        CHECK_EQ(st.parks_chan_send + st.parks_select + st.parks_mutex + st.parks_sem, 0);
        CHECK_EQ(st.parks, st.parks_chan_recv + st.parks_sleep + st.parks_join);
}

/* One in W_READY_EVERY is timed at each P, and each wakeup by a foreign thread. */
GO_TEST(stats_time_some_from_ready_to_running)
{
        enum { N = 20 * W_READY_EVERY };
        weft_stats_t st = { .size = sizeof(st) };
        uint64_t     n = 0;

        for (int i = 0; i < N; i++)
                CHECK_EQ(weft_join(sched_go(nothing, NULL)), 0);
        CHECK_EQ(weft_stats(&st), 0);
        for (size_t i = 0; i < W_ARRAY_LEN(st.ready_to_run); i++)
                n += st.ready_to_run[i];
        CHECK(n >= N / W_READY_EVERY / 2 && n <= 3 * N / W_READY_EVERY);
}

GO_TEST(stats_count_what_was_done)
{
        weft_stats_t st = { .size = sizeof(st) };

        for (int i = 0; i < 10; i++)
                CHECK_EQ(weft_join(sched_go(nothing, NULL)), 0);
        CHECK_EQ(weft_stats(&st), 0);
        CHECK_EQ(st.size, sizeof(st));
        CHECK_EQ(st.spawned, 11);
        CHECK_EQ(st.goroutines, 1);
        CHECK_EQ(st.procs, w_n_procs());
        CHECK(st.threads >= 2 && st.switches >= 10);
        CHECK(st.parks == st.parks_join + st.parks_park);
}

static void main_short_stats(void *arg)
{
        weft_stats_t st = { .size = 2 * sizeof(uint64_t), .threads = 12345 };
        weft_stats_t none = { .size = 0 };

        (void)arg;
        CHECK_EQ(weft_stats(&st), 0);
        CHECK_EQ(st.goroutines, 1);
        CHECK_EQ(st.threads, 12345);
        CHECK_EQ(weft_stats(&none), -EINVAL);
        CHECK_EQ(weft_stats(NULL), -EINVAL);
}

TEST(stats_fill_no_more_than_the_caller_knows)
{
        sched_run(main_short_stats, NULL);
        weft_stats_t st = { .size = sizeof(st) };
        CHECK_EQ(weft_stats(&st), -ESHUTDOWN);
}

/* ---- Dump ------------------------------------------------------------------------------------ */

static char text[65536];

static void wait_in_park(void *arg)
{
        (void)arg;
        weft_name("the waiter");
        weft_park();
}

static void read_dump(int fd)
{
        ssize_t n = read(fd, text, sizeof(text) - 1);

        CHECK(n > 0);
        text[n] = '\0';
}

GO_TEST(dump_shows_waiting_and_running_goroutines)
{
        int     ends[2];
        int64_t id = sched_go(wait_in_park, NULL);
        char    header[64];

        CHECK_EQ(pipe(ends), 0);
        sched_await_parked(id);
        weft_dump(ends[1]);
        read_dump(ends[0]);
        snprintf(header, sizeof(header), "goroutine %lld \"the waiter\" [park", (long long)id);
        CHECK_MSG(strstr(text, header), "no header '%s' in:\n%s", header, text);
        CHECK_MSG(strstr(text, "goroutine 1 [running]:\n"), "no goroutine 1 in:\n%s", text);
        CHECK_MSG(strstr(text, "created in goroutine 1 by\n"), "no creator in:\n%s", text);
        close(ends[0]);
        close(ends[1]);
        CHECK_EQ(weft_unpark(id), 0);
        CHECK_EQ(weft_join(id), 0);
}

/* A name cannot make a line that looks like another goroutine's. */
GO_TEST(dump_keeps_names_to_their_lines)
{
        weft_attr attr = { .size = sizeof(attr), .name = "x\" [park]:\n\ngoroutine 9 \"y" };
        int64_t   id = weft_go_with(&attr, churn, NULL);
        int       ends[2];

        CHECK(id > 0 && pipe(ends) == 0);
        weft_yield();
        weft_dump(ends[1]);
        read_dump(ends[0]);
        CHECK_MSG(strstr(text, " \"x? [park]:??goroutine 9 ?y\" ["), "no such name in:\n%s", text);
        close(ends[0]);
        close(ends[1]);
        w_store_rel(&stop_churn, 1);
        sched_join(id);
}

static void main_fatal(void *arg)
{
        (void)arg;
        sched_await_parked(sched_go(wait_in_park, NULL));
        w_fatal("on purpose");
}

static void die_in_run(void *arg)
{
        (void)arg;
        (void)!weft_run(main_fatal, NULL);
}

TEST(fatal_report_ends_with_the_goroutines)
{
        test_expect_death(die_in_run, NULL, SIGABRT, "\"the waiter\" [park");
}

/* ---- WEFT_DEBUG ------------------------------------------------------------------------------ */

static const char *awaited;
static int         heard[2];           /* the child's output, before it goes to its parent */

/* Until it has been printed, however long the monitor has to wait for a CPU. */
static void main_busy(void *arg)
{
        size_t n = 0;

        (void)arg;
        while (!strstr(text, awaited)) {
                CHECK_EQ(weft_sleep(WEFT_MS(1)), 0);
                ssize_t got = read(heard[0], text + n, sizeof(text) - 1 - n);

                n += got > 0 ? (size_t)got : 0;
        }
}

static void run_traced(void *arg)
{
        int err = dup(2);

        setenv("WEFT_DEBUG", arg, 1);
        if (pipe2(heard, O_NONBLOCK) != 0 || dup2(heard[1], 2) != 2)
                abort();
        if (weft_run(main_busy, NULL) != 0)
                abort();
        (void)!write(err, text, strlen(text));
}

static void trace(char *setting, const char *until)
{
        awaited = until;
        CHECK_EQ(test_run_child(run_traced, setting, text, sizeof(text)), 0);
}

TEST(schedtrace_prints_its_line)
{
        char setting[] = "schedtrace=5";

        trace(setting, "ms: procs=");
        CHECK_MSG(strstr(text, "weft: SCHED ") && strstr(text, "ms: procs="), "it said: %s",
                  text);
        CHECK(!strstr(text, "  P0: "));
}

TEST(scheddetail_adds_the_ps_and_goroutines)
{
        char setting[] = "schedtrace=5,scheddetail=1,check=1";

        trace(setting, "  G1: status=");
        CHECK_MSG(strstr(text, "  P0: status=") && strstr(text, "  G1: status="), "it said: %s",
                  text);
}
