/* tests/sim/scenario_poll_close.c - PROTOCOL poll: numbers that refer to one file after another.
 *
 * test: seeds=quarter
 *
 * SPDX-License-Identifier: MIT
 */
#include "sim/pipe_world.h"

#include <errno.h>      /* -Exxx */

/* ---- What edge-triggered pipes do as well ---------------------------------------------------- */

static void close_main(void)
{
        pipe_close(sim_pipe);
}

SIM_SCENARIO(poll_close, "weft_close while others read, and the number is used again", close_main,
             .max_steps = SCHED_MAX_STEPS)

static void late_main(void)
{
        pipe_late(sim_pipe);
}

SIM_SCENARIO(poll_late, "reads begin while the number is being closed", late_main,
             .max_steps = SCHED_MAX_STEPS)

static void refused_main(void)
{
        pipe_refused(sim_pipe);
}

SIM_SCENARIO(poll_refused, "the poller cannot be opened, or has no memory", refused_main,
             .calls_fail = true, .max_steps = SCHED_MAX_STEPS)

/* ---- A close that takes its time ------------------------------------------------------------- */

enum { LINGER_NS = 1000000000 };

static void close_slowly(void *arg)
{
        SIM_CHECK(weft_close(*(int *)arg) == 0, "close");
}

static void read_until_closed(void *arg)
{
        unsigned char c;

        SIM_CHECK(weft_read(*(int *)arg, &c, 1) == -EBADF, "read");
}

/* One goroutine is in close(2): the closer, or the reader that was the last user. This goroutine
 * continues. */
static void linger_first(void *arg)
{
        int64_t began = sim_now();
        int     fds[2];

        (void)arg;
        sim_pipe(fds);
        sim_linger_file(fds[0], LINGER_NS);
        int64_t reader = sim_random(2) ? sched_go(read_until_closed, &fds[0]) : 0;

        if (reader)
                SIM_CHECK(weft_sleep(SHORT_NS) == 0, "sleep");
        int64_t closer = sched_go(close_slowly, &fds[0]);

        SIM_CHECK(weft_sleep(SHORT_NS) == 0, "sleep");
        SIM_CHECK(sim_now() - began < LINGER_NS, "the P was kept from others");
        sched_join(closer);
        if (reader)
                sched_join(reader);
        SIM_CHECK(weft_close(fds[1]) == 0, "close");
}

static void linger_main(void)
{
        weft_config cfg = { .procs = 1 };

        sched_run_well(&cfg, linger_first);
}

SIM_SCENARIO(poll_linger, "close(2) takes its time, and there is one P", linger_main,
             .max_steps = SCHED_MAX_STEPS)

/* ---- Other code closes ----------------------------------------------------------------------- */

/* Waits for a while, and gives up: the poller stays armed. */
static void try_to_read(int fd)
{
        weft_scope    s;
        unsigned char c;

        SIM_CHECK(weft_scope_open(&s, sim_random(5000)) == 0, "open");
        ssize_t got = weft_read(fd, &c, 1);

        SIM_CHECK(got == -ETIMEDOUT, "read of an empty pipe: %ld", (long)got);
        SIM_CHECK(weft_scope_close(&s) == 0, "close");
}

struct tagged {
        int           fds[2];
        unsigned char tag;
};

static void write_late(void *arg)
{
        struct tagged *l = arg;

        short_while();
        write_tag(l->fds[1], l->tag);
}

static uint64_t n_waits(void)
{
        weft_stats_t st = { .size = sizeof(st) };

        SIM_CHECK(weft_stats(&st) == 0, "stats");
        return st.parks_io;
}

/* Woken once, by its own event. */
static void read_tag(int fd, unsigned char tag)
{
        unsigned char c = 0;
        uint64_t      before = n_waits();
        ssize_t       got = weft_read(fd, &c, 1);
        uint64_t      waits = n_waits() - before;

        SIM_CHECK(got == 1 && c == tag, "read: %ld, byte %u in round %u", (long)got, c, tag);
        SIM_CHECK(waits <= 1, "woken %lu times for one byte", (unsigned long)waits);
}

/* A pipe is closed without weft, and another pipe gets its numbers. Now and then another number
 * still refers to the old pipe, and an event happens there. */
static void reuse_round(unsigned char tag)
{
        struct tagged old, now = { .tag = tag };
        int           copy = -1;

        sim_pipe(old.fds);
        try_to_read(old.fds[0]);
        if (sim_random(2))
                copy = sim_dup(old.fds[0]);
        (void)w_os_fd_close(old.fds[0]);
        sim_pipe(now.fds);
        int64_t id = sched_go(write_late, &now);

        if (copy >= 0)
                write_tag(old.fds[1], 0);
        read_tag(now.fds[0], tag);
        sched_join(id);
        (void)w_os_fd_close(old.fds[1]);
        if (copy >= 0)
                (void)w_os_fd_close(copy);
        (void)w_os_fd_close(now.fds[0]);
        (void)w_os_fd_close(now.fds[1]);
}

static void reuse_main(void)
{
        pipe_rounds(reuse_round);
}

SIM_SCENARIO(poll_reuse, "other code closes a number and opens it again", reuse_main,
             .max_steps = SCHED_MAX_STEPS)

/* A waiter for a file that other code has closed is woken when another goroutine waits for the new
 * file. */
static void gone_first(void *arg)
{
        struct tagged old, now = { .tag = 7 };
        unsigned char c = 0;

        (void)arg;
        sim_pipe(old.fds);
        int64_t gone = sched_go(expect_gone, &old.fds[0]);

        while (n_users(old.fds[0]) < 1 || w_list_empty(&w_desc_find(old.fds[0])->waits))
                weft_yield();
        (void)w_os_fd_close(old.fds[0]);
        sim_pipe(now.fds);
        SIM_CHECK(now.fds[0] == old.fds[0], "the number is not used again");
        SIM_CHECK(weft_fd_wait(now.fds[1], W_POLL_OUT) == W_POLL_OUT, "wait_fd");
        int64_t id = sched_go(write_late, &now);
        ssize_t got = weft_read(now.fds[0], &c, 1);

        SIM_CHECK(got == 1 && c == 7, "read: %ld", (long)got);
        sched_join(id);
        while (n_users(now.fds[0])) {   /* there was no need to wait */
                weft_scope s;

                SIM_CHECK(weft_scope_open(&s, 20000) == 0, "open");
                SIM_CHECK(weft_fd_wait(now.fds[0], W_POLL_IN) == -ETIMEDOUT, "wait_fd");
                SIM_CHECK(weft_scope_close(&s) == 0, "close");
        }
        sched_join(gone);
        (void)w_os_fd_close(old.fds[1]);
        (void)w_os_fd_close(now.fds[0]);
        (void)w_os_fd_close(now.fds[1]);
}

static void gone_main(void)
{
        sched_run_well(NULL, gone_first);
}

SIM_SCENARIO(poll_gone, "a goroutine waits for a file that other code has closed", gone_main,
             .max_steps = SCHED_MAX_STEPS)
