/* tests/sim/pipe_close.c - foreign pipes and edge-triggered pipes are closed, and calls for them
 * refused.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sim/pipe_world.h"

#include <errno.h>      /* -Exxx */

enum { N_READERS = 4, N_ROUNDS = 4 };

static pipe_maker *make_pipe;           /* of this run */

/* ---- weft_close ------------------------------------------------------------------------------ */

/* One call, begun before the close: it never sees what the number leads to later. The old file
 * exists as long as a call uses it, and may reach its end. */
static void read_once(void *arg)
{
        struct reader *r = arg;
        unsigned char  c = 0;

        if (sim_random(4)) {
                ssize_t got = weft_read(r->fd, &c, 1);

                SIM_CHECK(got == -EBADF || got == 0 || (got == 1 && c == r->tag),
                          "read: %ld, byte %u of round %u", (long)got, c, r->tag);
        } else {
                int rc = weft_fd_wait(r->fd, W_POLL_IN);

                SIM_CHECK(rc == -EBADF || rc > 0, "wait_fd: %d", rc);
        }
}

static void close_round(struct reader *readers, unsigned char tag)
{
        int fds[2];

        make_pipe(fds);
        for (int i = 0; i < N_READERS; i++) {
                readers[i] = (struct reader){ .fd = fds[0], .tag = tag };
                readers[i].id = sched_go(read_once, &readers[i]);
        }
        while (n_users(fds[0]) < N_READERS)
                weft_yield();
        short_while();
        if (sim_random(2))
                write_tag(fds[1], tag);
        close_well(fds[0]);
        write_tag(fds[1], tag);
        close_well(fds[1]);
}

static void close_first(void *arg)
{
        struct reader readers[N_ROUNDS][N_READERS];

        (void)arg;
        for (int i = 0; i < N_ROUNDS; i++)
                close_round(readers[i], (unsigned char)(1 + i));
        for (int i = 0; i < N_ROUNDS; i++)
                for (int k = 0; k < N_READERS; k++)
                        sched_join(readers[i][k].id);
}

void pipe_close(pipe_maker *make)
{
        make_pipe = make;
        sched_run_well(NULL, close_first);
}

static void (*one_round)(unsigned char tag);

static void rounds_first(void *arg)
{
        (void)arg;
        for (int i = 0; i < N_ROUNDS; i++)
                one_round((unsigned char)(1 + i));
}

void pipe_rounds(void (*round)(unsigned char tag))
{
        one_round = round;
        sched_run_well(NULL, rounds_first);
}

static void work_a_moment(void)
{
        sim_work(sim_random(1u << (1 + sim_random(12))));
}

/* A call that begins during the close is refused, or waits in vain for a moment. */
static void read_refused(void *arg)
{
        unsigned char c;

        work_a_moment();
        ssize_t got = sim_random(4) ? weft_read(*(int *)arg, &c, 1)
                                    : weft_fd_wait(*(int *)arg, W_POLL_IN);

        SIM_CHECK(got == -EBADF, "read of what is closed: %ld", (long)got);
}

static void late_round(void)
{
        int     fds[2];
        int64_t ids[N_READERS];

        make_pipe(fds);
        for (int i = 0; i < N_READERS; i++)
                ids[i] = sched_go(read_refused, &fds[0]);
        if (sim_random(4))
                work_a_moment();
        else
                short_while();
        close_well(fds[0]);
        for (int i = 0; i < N_READERS; i++)
                sched_join(ids[i]);
        close_well(fds[1]);
}

static void late_first(void *arg)
{
        (void)arg;
        for (int i = 0; i < N_ROUNDS; i++)
                late_round();
}

void pipe_late(pipe_maker *make)
{
        make_pipe = make;
        sched_run_well(NULL, late_first);
}

void expect_gone(void *fd)
{
        unsigned char c;
        ssize_t       got = weft_read(*(int *)fd, &c, 1);

        SIM_CHECK(got == -EBADF, "read of what is gone: %ld", (long)got);
}

/* ---- Refusals -------------------------------------------------------------------------------- */

void close_patiently(int fd)
{
        while (weft_close(fd) < 0)
                weft_yield();
}

static void refused_read(void *arg)
{
        unsigned char c;

        for (;;) {
                ssize_t got = weft_read(*(int *)arg, &c, 1);

                if (got == 1)
                        return;
                SIM_CHECK(got == -EMFILE || got == -ENOMEM, "read: %ld", (long)got);
                weft_yield();
        }
}

static void refused_first(void *arg)
{
        int           fds[2];
        unsigned char c = 1;

        (void)arg;
        make_pipe(fds);
        int64_t id = weft_go(refused_read, &fds[0]);

        short_while();
        if (id > 0) {
                while (weft_write(fds[1], &c, 1) != 1)
                        weft_yield();
                sched_join(id);
        }
        close_patiently(fds[0]);
        close_patiently(fds[1]);
}

void pipe_refused(pipe_maker *make)
{
        make_pipe = make;
        sched_work_may_wait = true;
        (void)sched_run(NULL, refused_first);
}
