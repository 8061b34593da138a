/* tests/sim/scenario_poll.c - PROTOCOL poll and PROTOCOL netpoll: an event on a descriptor is
 * neither lost nor given to a wrong waiter.
 *
 * test: seeds=quarter
 *
 * SPDX-License-Identifier: MIT
 */
#include "sim/pipe_world.h"

#include <errno.h>      /* -Exxx */

/* ---- What edge-triggered pipes do as well ---------------------------------------------------- */

static void lines_main(void)
{
        pipe_lines(sim_pipe);
}

SIM_SCENARIO(poll_lines, "bytes through pipes, between sleeps", lines_main,
             .max_steps = SCHED_MAX_STEPS)

static void foreign_main(void)
{
        pipe_foreign(sim_pipe);
}

SIM_SCENARIO(poll_foreign, "one end of each pipe is a thread's", foreign_main,
             .max_steps = SCHED_MAX_STEPS)

static void share_main(void)
{
        pipe_share(sim_pipe);
}

SIM_SCENARIO(poll_share, "several read one pipe, one wants to know", share_main,
             .max_steps = SCHED_MAX_STEPS)

static void hurry_main(void)
{
        pipe_hurry(sim_pipe);
}

SIM_SCENARIO(poll_hurry, "reads with deadlines: no byte is lost", hurry_main,
             .max_steps = SCHED_MAX_STEPS)

static void next_main(void)
{
        pipe_next(sim_pipe);
}

SIM_SCENARIO(poll_next, "an event comes as the first waiter gives up", next_main,
             .max_steps = SCHED_MAX_STEPS)

/* ---- The thread in the poller is needed ------------------------------------------------------ */

static void nap(void *arg)
{
        (void)arg;
        for (int i = 0; i < 4; i++) {
                SIM_CHECK(weft_sleep(sim_random(2 * SHORT_NS)) == 0, "sleep");
                sim_work(sim_random(SHORT_NS));
        }
}

/* Timers, and work from other threads, while nothing happens on the only descriptor. */
static void wanted_first(void *arg)
{
        struct line l = { .n = 1 };
        int64_t     ids[4];

        (void)arg;
        sim_pipe(l.fds);
        ids[0] = sched_go(read_all, &l);
        for (int i = 1; i < 4; i++) {
                ids[i] = sched_go(nap, NULL);
                if (sim_random(2))
                        SIM_CHECK(weft_sleep(sim_random(SHORT_NS)) == 0, "sleep");
        }
        for (int i = 1; i < 4; i++)
                sched_join(ids[i]);
        sched_join(sched_go(write_all, &l));
        sched_join(ids[0]);
}

static void wanted_main(void)
{
        weft_config cfg = { .procs = 1 + (int)sim_random(3) };

        if (sim_random(2)) {
                sched_run_well(&cfg, wanted_first);
                return;
        }
        cfg.max_threads = cfg.procs + 1;        /* m0 must help, and may be late */
        sched_work_may_wait = true;
        int rc = sched_run(&cfg, wanted_first);

        SIM_CHECK(rc == 0, "sched_run returned %d", rc);
}

SIM_SCENARIO(poll_wanted, "timers and work while an M waits in the poller", wanted_main,
             .max_steps = SCHED_MAX_STEPS)

/* ---- A reader computes for long -------------------------------------------------------------- */

enum { LONG_NS = 13000000 };

static void sleep_often(void *arg)
{
        (void)arg;
        for (int i = 0; i < 5; i++)
                SIM_CHECK(weft_sleep(sim_random(4 * SHORT_NS)) == 0, "sleep");
}

static void read_and_compute(void *arg)
{
        struct line  *l = arg;
        unsigned char c;

        while (weft_read(l->fds[0], &c, 1) == 1)
                sim_work(LONG_NS);
        close_well(l->fds[0]);
}

/* It may have been the timekeeper until its byte came. Two others sleep meanwhile. */
static void compute_beside(void (*sleeps)(void *), uint32_t n_bytes)
{
        struct line   l = { .n = n_bytes };
        struct worker writer;
        int64_t       ids[3];

        sched_news_may_wait = true;
        sim_pipe(l.fds);
        ids[0] = sched_go(read_and_compute, &l);
        for (int i = 1; i < 3; i++)
                ids[i] = sched_go(sleeps, NULL);
        worker_start(&writer, "writer", foreign_write, &l);
        for (int i = 0; i < 3; i++)
                sched_join(ids[i]);
        worker_join(&writer);
}

static void run_beside(void (*first)(void *))
{
        weft_config cfg = { .procs = 2 + (int)sim_random(2) };

        sched_run_well(&cfg, first);
}

static void time_first(void *arg)
{
        (void)arg;
        compute_beside(sleep_often, 2);
}

static void time_main(void)
{
        run_beside(time_first);
}

SIM_SCENARIO(poll_time, "timers fire although the timekeeper got work", time_main,
             .max_steps = SCHED_MAX_STEPS)

static void sleep_long(void *arg)
{
        (void)arg;
        SIM_CHECK(weft_sleep(2 * LONG_NS + sim_random(4 * LONG_NS)) == 0, "sleep");
}

/* No M is woken at once for timers that are far away: the monitor is in time for them. */
static void far_first(void *arg)
{
        (void)arg;
        compute_beside(sleep_long, 6);
}

static void far_main(void)
{
        run_beside(far_first);
}

SIM_SCENARIO(poll_far, "timers that are far away, although the timekeeper computes", far_main,
             .max_steps = SCHED_MAX_STEPS)

/* ---- Goroutine 1 waits first of all ---------------------------------------------------------- */

static void first_first(void *arg)
{
        struct line   l = { .n = 1 + sim_random(3) };
        struct worker writer;

        (void)arg;
        sim_pipe(l.fds);
        worker_start(&writer, "writer", foreign_write, &l);
        read_all(&l);
        sched_news_may_wait = true;     /* it blocks its thread */
        worker_join(&writer);
}

/* The P that m0 releases is the only P. */
static void first_main(void)
{
        weft_config cfg = { .procs = 1 };

        sched_run_well(&cfg, first_first);
}

SIM_SCENARIO(poll_first, "goroutine 1 is the first to wait, and the only one", first_main,
             .max_steps = SCHED_MAX_STEPS)

/* ---- Foreign threads only -------------------------------------------------------------------- */

static int64_t sleeper;

static void read_and_unpark(void *arg)
{
        foreign_read(arg);
        SIM_CHECK(weft_unpark(sleeper) == 0, "unpark");
}

/* All threads of weft sleep when the first wait of all begins, and one must wake for it. */
static void threads_first(void *arg)
{
        struct line   l = { .n = 1 + sim_random(3) };
        struct worker reader, writer;

        (void)arg;
        sleeper = weft_id();
        sim_pipe(l.fds);
        worker_start(&reader, "reader", read_and_unpark, &l);
        worker_start(&writer, "writer", foreign_write, &l);
        SIM_CHECK(weft_park() == 0, "park");
        worker_join(&reader);
        worker_join(&writer);
}

static void threads_main(void)
{
        weft_config cfg = { .procs = 1 + (int)sim_random(2) };

        sched_run_well(&cfg, threads_first);
}

SIM_SCENARIO(poll_threads, "only threads wait for descriptors", threads_main,
             .max_steps = SCHED_MAX_STEPS)

/* ---- The end --------------------------------------------------------------------------------- */

static int never[2];

static void wait_for_ever(void *arg)
{
        unsigned char c;

        (void)arg;
        ssize_t got = weft_read(never[0], &c, 1);

        sim_fail("a read of nothing returned %ld", (long)got);
}

static void foreign_wait(void *arg)
{
        unsigned char c;

        (void)arg;
        foreign_begin();
        ssize_t got = weft_read(never[0], &c, 1);

        SIM_CHECK(got == -ESHUTDOWN, "read across the end: %ld", (long)got);
}

static struct worker waiter;

static void end_first(void *arg)
{
        (void)arg;
        worker_start(&waiter, "waiter", foreign_wait, NULL);
        for (int i = 0; i < 3; i++)
                (void)sched_go(wait_for_ever, NULL);
        if (sim_random(2))
                short_while();
}

static void end_main(void)
{
        sim_pipe(never);
        for (int i = 0; i < 2; i++) {
                sched_run_well(NULL, end_first);
                worker_join(&waiter);
        }
        (void)w_os_fd_close(never[0]);
        (void)w_os_fd_close(never[1]);
}

SIM_SCENARIO(poll_end, "runs end while all goroutines wait for a descriptor", end_main,
             .max_steps = SCHED_MAX_STEPS)
