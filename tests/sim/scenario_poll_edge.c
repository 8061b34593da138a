/* tests/sim/scenario_poll_edge.c - PROTOCOL poll-edge: descriptors that are registered once with
 * the poller.
 *
 * test: seeds=quarter
 *
 * SPDX-License-Identifier: MIT
 */
#include "sim/pipe_world.h"

#include <errno.h>      /* -Exxx */

enum { N_WRITERS = 4, N_WRITTEN = 5 };

/* ---- What other pipes do as well ------------------------------------------------------------- */

static void lines_main(void)
{
        pipe_lines(edge_pipe);
}

SIM_SCENARIO(poll_edge_lines, "bytes through edge-triggered pipes, between sleeps", lines_main,
             .max_steps = SCHED_MAX_STEPS)

static void foreign_main(void)
{
        pipe_foreign(edge_pipe);
}

SIM_SCENARIO(poll_edge_foreign, "a foreign thread has one end of each edge-triggered pipe",
             foreign_main, .max_steps = SCHED_MAX_STEPS)

static void share_main(void)
{
        pipe_share(edge_pipe);
}

SIM_SCENARIO(poll_edge_share, "several read an edge-triggered pipe, one polls it", share_main,
             .max_steps = SCHED_MAX_STEPS)

static void hurry_main(void)
{
        pipe_hurry(edge_pipe);
}

SIM_SCENARIO(poll_edge_hurry, "reads of edge-triggered pipes with deadlines: no byte is lost",
             hurry_main, .max_steps = SCHED_MAX_STEPS)

static void next_main(void)
{
        pipe_next(edge_pipe);
}

SIM_SCENARIO(poll_edge_next,
             "an event on an edge-triggered pipe comes as the first waiter gives up", next_main,
             .max_steps = SCHED_MAX_STEPS)

/* ---- The end --------------------------------------------------------------------------------- */

/* The end is reported while the event of the bytes is not consumed yet, and just as it is. */
static void write_and_go(void *arg)
{
        struct line *l = arg;

        (void)write_some(l->fds[1], 0, 1);
        sim_work(sim_random(1u << (1 + sim_random(13))));
        close_well(l->fds[1]);
}

static void ends_first(void *arg)
{
        (void)arg;
        for (int i = 0; i < 3; i++) {
                struct line l = { .n = 1 };

                edge_pipe(l.fds);
                int64_t id = sched_go(write_and_go, &l);

                sim_work(sim_random(1u << (1 + sim_random(13))));
                read_all(&l);
                sched_join(id);
        }
}

static void ends_main(void)
{
        weft_config cfg = { .procs = 3 };

        sched_run_well(&cfg, ends_first);
}

SIM_SCENARIO(poll_edge_ends, "bytes and their end are reported one after the other", ends_main,
             .max_steps = SCHED_MAX_STEPS)

/* ---- Many at one end ------------------------------------------------------------------------- */

/* Each byte but the last is written only once all before it have been read: nothing else will wake
 * a reader that was forgotten. A single reader is not helped by a second reader that tries. */
static void pairs_first(void *arg)
{
        struct line l = { 0 };
        int64_t     ids[2];
        int         n_readers = 1 + (int)sim_random(2);

        (void)arg;
        edge_pipe(l.fds);
        for (int i = 0; i < n_readers; i++)
                ids[i] = sched_go(read_some, &l);
        for (uint32_t sent = 0, n = 2 + sim_random(5); sent < n;) {
                sent += write_some(l.fds[1], sent, sent + 1 + sim_random(2));
                while (w_load_rlx(&l.n_read) < sent)              /* counter */
                        SIM_CHECK(weft_sleep(sim_random(SHORT_NS / 4)) == 0, "sleep");
        }
        close_well(l.fds[1]);
        for (int i = 0; i < n_readers; i++)
                sched_join(ids[i]);
        close_well(l.fds[0]);
}

static void pairs_main(void)
{
        sched_run_well(NULL, pairs_first);
}

SIM_SCENARIO(poll_edge_pair, "one reader, or two in turn: alone, queued, alone again", pairs_main,
             .max_steps = SCHED_MAX_STEPS)

static int shared[2];

static void write_five(void *arg)
{
        (void)arg;
        for (uint32_t sent = 0; sent < N_WRITTEN;)
                sent += write_some(shared[1], sent, N_WRITTEN);
}

/* Room is reported once, to the first writer that waits for it. */
static void writers_first(void *arg)
{
        int64_t       ids[N_WRITERS];
        unsigned char buf[6];

        (void)arg;
        sim_pipe(shared);
        edge_made(shared[1]);
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

SIM_SCENARIO(poll_edge_writers, "several write to an edge-triggered pipe", writers_main,
             .max_steps = SCHED_MAX_STEPS)

static void expect_broken(void *arg)
{
        unsigned char buf[6] = { 0 };
        ssize_t       done;

        (void)arg;
        while ((done = weft_write(shared[1], buf, sizeof(buf))) > 0)
                ;
        SIM_CHECK(done == -EPIPE, "write: %ld", (long)done);
}

/* No goroutine will ever read what they write, and there is no room. */
static void broken_first(void *arg)
{
        int64_t ids[2];

        (void)arg;
        sim_pipe(shared);
        edge_made(shared[1]);
        for (int i = 0; i < 2; i++)
                ids[i] = sched_go(expect_broken, NULL);
        short_while();
        close_well(shared[0]);
        for (int i = 0; i < 2; i++)
                sched_join(ids[i]);
        close_well(shared[1]);
}

static void broken_main(void)
{
        sched_run_well(NULL, broken_first);
}

SIM_SCENARIO(poll_edge_broken, "the reader goes while others wait to write", broken_main,
             .max_steps = SCHED_MAX_STEPS)
