/* tests/sim/scenario_poll_blocking.c - PROTOCOL poll, the holder: blocking pipes, which cannot be
 * read without a wait. A call that would have to wait is a failure of the run: see sim_make_wait.
 *
 * test: seeds=quarter
 *
 * SPDX-License-Identifier: MIT
 */
#include "sim/pipe_world.h"

enum { N_WRITERS = 3, N_WRITTEN = 5, LONG_NS = 2000000, MOST_PARKS = 8 };

static void waiting_pipe(int fds[2])
{
        sim_pipe(fds);
        sim_make_wait(fds[0], 0);
        sim_make_wait(fds[1], 0);
}

static void lines_main(void)
{
        pipe_lines(waiting_pipe);
}

SIM_SCENARIO(poll_blocking_lines, "bytes through pipes that wait", lines_main,
             .max_steps = SCHED_MAX_STEPS)

static void foreign_main(void)
{
        pipe_foreign(waiting_pipe);
}

SIM_SCENARIO(poll_blocking_foreign, "one end of each pipe that waits is a thread's", foreign_main,
             .max_steps = SCHED_MAX_STEPS)

static void share_main(void)
{
        pipe_share(waiting_pipe);
}

SIM_SCENARIO(poll_blocking_share, "several read one pipe that waits, one wants to know", share_main,
             .max_steps = SCHED_MAX_STEPS)

static void hurry_main(void)
{
        pipe_hurry(waiting_pipe);
}

SIM_SCENARIO(poll_blocking_hurry, "reads of a pipe that waits with deadlines: no byte is lost",
             hurry_main, .max_steps = SCHED_MAX_STEPS)

static void next_main(void)
{
        pipe_next(waiting_pipe);
}

SIM_SCENARIO(poll_blocking_next, "an event on a pipe that waits comes as the first waiter gives up",
             next_main, .max_steps = SCHED_MAX_STEPS)

static void close_main(void)
{
        pipe_close(waiting_pipe);
}

SIM_SCENARIO(poll_blocking_close, "weft_close while others read a pipe that waits", close_main,
             .max_steps = SCHED_MAX_STEPS)

static int shared[2];

static void write_five(void *arg)
{
        (void)arg;
        for (uint32_t sent = 0; sent < N_WRITTEN;)
                sent += write_some(shared[1], sent, N_WRITTEN);
}

/* There is room for all that they write only as this goroutine reads. */
static void writers_first(void *arg)
{
        int64_t       ids[N_WRITERS];
        unsigned char buf[6];

        (void)arg;
        waiting_pipe(shared);
        for (int i = 0; i < N_WRITERS; i++)
                ids[i] = sched_go(write_five, NULL);
        for (uint32_t n = 0; n < N_WRITERS * N_WRITTEN;) {
                short_while();
                ssize_t got = weft_read(shared[0], buf, 1 + sim_random(sizeof(buf)));

                SIM_CHECK(got > 0, "read: %ld", (long)got);
                n += (uint32_t)got;
        }
        for (int i = 0; i < N_WRITERS; i++)
                sched_join(ids[i]);
        close_well(shared[0]);
        close_well(shared[1]);
}

static void writers_main(void)
{
        sched_run_well(NULL, writers_first);
}

SIM_SCENARIO(poll_blocking_writers, "several write to one pipe that waits", writers_main,
             .max_steps = SCHED_MAX_STEPS)

/* ---- A call that takes its time -------------------------------------------------------------- */

static uint64_t n_parks(void)
{
        weft_stats_t st = { .size = sizeof(st) };

        SIM_CHECK(weft_stats(&st) == 0, "stats");
        return st.parks_io;
}

static void read_one(void *arg)
{
        unsigned char c;

        (void)arg;
        SIM_CHECK(weft_read(shared[0], &c, 1) == 1, "read");
}

/* The second reader sees the byte that the first reads: it sleeps until there is one for it. */
static void slow_first(void *arg)
{
        uint64_t before = n_parks();
        int64_t  ids[2];

        (void)arg;
        sim_pipe(shared);
        sim_make_wait(shared[0], LONG_NS);
        for (int i = 0; i < 2; i++)
                ids[i] = sched_go(read_one, NULL);
        for (int i = 0; i < 2; i++) {
                write_tag(shared[1], 1);
                SIM_CHECK(weft_sleep(LONG_NS + LONG_NS / 2) == 0, "sleep");
        }
        for (int i = 0; i < 2; i++)
                sched_join(ids[i]);
        SIM_CHECK(n_parks() - before <= MOST_PARKS, "%u parks", (unsigned)(n_parks() - before));
        close_well(shared[0]);
        close_well(shared[1]);
}

static void slow_main(void)
{
        sched_run_well(NULL, slow_first);
}

SIM_SCENARIO(poll_blocking_slow, "a waiter sleeps while a call takes long", slow_main,
             .max_steps = SCHED_MAX_STEPS)
