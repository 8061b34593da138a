/* tests/sim/scenario_poll_edge_close.c - PROTOCOL poll-edge: numbers that are made, closed and made
 * again.
 *
 * test: seeds=quarter
 *
 * SPDX-License-Identifier: MIT
 */
#include "sim/pipe_world.h"

#include <errno.h>      /* -Exxx */

/* ---- What other pipes do as well ------------------------------------------------------------- */

static void close_main(void)
{
        pipe_close(edge_pipe);
}

SIM_SCENARIO(poll_edge_close, "weft_close while others read, and the number is made again",
             close_main, .max_steps = SCHED_MAX_STEPS)

static void late_main(void)
{
        pipe_late(edge_pipe);
}

SIM_SCENARIO(poll_edge_late, "reads begin while an edge-triggered pipe is being closed", late_main,
             .max_steps = SCHED_MAX_STEPS)

static void refused_main(void)
{
        pipe_refused(edge_pipe_if_possible);
}

SIM_SCENARIO(poll_edge_refused, "the poller refuses to watch", refused_main, .calls_fail = true,
             .max_steps = SCHED_MAX_STEPS)

/* ---- The owner of a number ------------------------------------------------------------------- */

static void read_well(void *arg)
{
        struct reader *r = arg;
        unsigned char  c = 0;
        ssize_t        got = weft_read(r->fd, &c, 1);

        SIM_CHECK(got == 1 && c == r->tag, "read: %ld, byte %u in round %u", (long)got, c, r->tag);
}

/* A number that weft made comes to refer to a pipe that weft did not make, and back. Once closed,
 * an end that is still open under another number has no effect any more. */
static void reuse_round(unsigned char tag)
{
        struct reader r = { .tag = tag };
        int           fds[2], copy = -1;

        sim_pipe(fds);
        if (sim_random(2))
                edge_made(fds[0]);
        r.fd = fds[0];
        r.id = sched_go(read_well, &r);
        short_while();
        if (sim_random(2))
                copy = sim_dup(fds[0]);
        write_tag(fds[1], tag);
        sched_join(r.id);
        close_well(fds[0]);
        if (copy >= 0) {
                write_tag(fds[1], 99);
                (void)w_os_fd_close(copy);
        }
        close_well(fds[1]);
}

static void reuse_main(void)
{
        pipe_rounds(reuse_round);
}

SIM_SCENARIO(poll_edge_reuse, "a number is edge-triggered, is not, is again", reuse_main,
             .max_steps = SCHED_MAX_STEPS)

/* ---- Misuse: other code closes --------------------------------------------------------------- */

static uint32_t n_queued(int fd)
{
        struct desc *d = w_desc_find(fd);
        uint32_t     n = 0, before = w_enter();

        w_lock(&d->lock);
        W_LIST_EACH(node, &d->dirs[W_DIR_IN].waits)
                n++;
        w_unlock(&d->lock);
        w_leave(before);
        return n;
}

static void gone_first(void *arg)
{
        int           old[2], now[2];
        unsigned char c = 0;
        int64_t       gone[2];

        (void)arg;
        edge_pipe(old);
        for (int i = 0; i < 2; i++)
                gone[i] = sched_go(expect_gone, &old[0]);
        while (n_queued(old[0]) < 2)
                weft_yield();
        (void)w_os_fd_close(old[0]);
        sim_pipe(now);
        SIM_CHECK(now[0] == old[0], "the number is not used again");
        edge_made(now[0]);
        for (int i = 0; i < 2; i++)
                sched_join(gone[i]);
        write_tag(now[1], 7);
        ssize_t got = weft_read(now[0], &c, 1);

        SIM_CHECK(got == 1 && c == 7, "read: %ld", (long)got);
        (void)w_os_fd_close(old[1]);
        close_well(now[0]);
        close_well(now[1]);
}

static void gone_main(void)
{
        sched_run_well(NULL, gone_first);
}

SIM_SCENARIO(poll_edge_gone, "other code closes an edge-triggered pipe while a goroutine waits",
             gone_main, .max_steps = SCHED_MAX_STEPS)
