/* tests/sim/scenario_deferred_error.c - PROTOCOL deferred-error: an error after bytes is returned
 * once, to the next call on the same file.
 *
 * test: seeds=quarter
 *
 * SPDX-License-Identifier: MIT
 */
#include "sim/sched_world.h"

#include <errno.h>      /* -Exxx */

enum { N_READERS = 3, N_BYTES = 12, N_ROUNDS = 3, FAILED = -ECONNRESET };

static void short_while(void)
{
        if (sim_random(3))
                sim_work(sim_random(1u << (1 + sim_random(12))));
}

/* ---- Returned once --------------------------------------------------------------------------- */

struct broken {
        int      fd;
        uint32_t n_errors, n_bytes;     /* that this reader has seen */
};

/* Several at once, in a scope now and then: an error of the scope is not an error of the file. */
static ssize_t read_some(int fd)
{
        unsigned char buf[5];
        weft_scope    s;
        bool          in_scope = sim_random(3) == 0;

        if (in_scope)
                SIM_CHECK(weft_scope_open(&s, sim_random(20000)) == 0, "open");
        ssize_t got = weft_read_full(fd, buf, 1 + sim_random(sizeof(buf)));

        if (in_scope)
                SIM_CHECK(weft_scope_close(&s) == 0, "close");
        SIM_CHECK(got != -ETIMEDOUT || in_scope, "a closed scope has ended a call");
        return got;
}

static void read_broken(void *arg)
{
        struct broken *b = arg;
        ssize_t        got;

        while ((got = read_some(b->fd)) != 0) {
                SIM_CHECK(got > 0 || got == FAILED || got == -ETIMEDOUT, "read: %ld", (long)got);
                if (got > 0)
                        b->n_bytes += (uint32_t)got;
                else if (got == FAILED)
                        b->n_errors++;
                short_while();
        }
}

static void write_some(int fd, uint32_t n)
{
        unsigned char bytes[N_BYTES] = { 0 };

        short_while();
        ssize_t done = weft_write_all(fd, bytes, n);

        SIM_CHECK(done == (ssize_t)n, "write: %ld", (long)done);
}

static void once_first(void *arg)
{
        int           fds[2];
        struct broken readers[N_READERS] = { 0 };
        int64_t       ids[N_READERS];
        uint32_t      n_before = sim_random(N_BYTES), n_errors = 0, n_bytes = 0;

        (void)arg;
        sim_pipe(fds);
        for (int i = 0; i < N_READERS; i++) {
                readers[i].fd = fds[0];
                ids[i] = sched_go(read_broken, &readers[i]);
        }
        write_some(fds[1], n_before);
        sim_fail_file(fds[0], FAILED);
        write_some(fds[1], N_BYTES - n_before);
        SIM_CHECK(weft_close(fds[1]) == 0, "close");
        for (int i = 0; i < N_READERS; i++) {
                sched_join(ids[i]);
                n_errors += readers[i].n_errors;
                n_bytes += readers[i].n_bytes;
        }
        SIM_CHECK(n_errors == 1, "one error was returned %u times", n_errors);
        SIM_CHECK(n_bytes == N_BYTES, "%u bytes of %u", n_bytes, (uint32_t)N_BYTES);
        SIM_CHECK(weft_close(fds[0]) == 0, "close");
}

static void once_main(void)
{
        sched_run_well(NULL, once_first);
}

SIM_SCENARIO(deferred_error_once, "an error after bytes, and several readers", once_main,
             .max_steps = SCHED_MAX_STEPS)

/* ---- Of one file ----------------------------------------------------------------------------- */

/* The error of fds[0] is deferred: two bytes came before it. */
static void defer_error(int fds[2])
{
        unsigned char buf[4];

        sim_pipe(fds);
        write_some(fds[1], 2);
        sim_fail_file(fds[0], FAILED);
        ssize_t got = weft_read_full(fds[0], buf, sizeof(buf));

        SIM_CHECK(got == 2, "read: %ld", (long)got);
}

static void read_new(void *arg)
{
        unsigned char c;
        ssize_t       got = weft_read(*(int *)arg, &c, 1);

        SIM_CHECK(got == 1, "read of another file: %ld", (long)got);
}

/* Where other code closes it, another number still refers to it: files are distinguished while they
 * exist. */
static void reuse_round(void)
{
        int old[2], now[2], copy = -1;

        defer_error(old);
        if (sim_random(2)) {
                copy = sim_dup(old[0]);
                (void)w_os_fd_close(old[0]);
        } else {
                SIM_CHECK(weft_close(old[0]) == 0, "close");
        }
        sim_pipe(now);
        SIM_CHECK(now[0] == old[0], "the number is not used again");
        int64_t id = sched_go(read_new, &now[0]);

        write_some(now[1], 1);
        sched_join(id);
        SIM_CHECK(weft_close(old[1]) == 0 && weft_close(now[0]) == 0 && weft_close(now[1]) == 0,
                  "close");
        if (copy >= 0)
                SIM_CHECK(weft_close(copy) == 0, "close");
}

static void reuse_first(void *arg)
{
        (void)arg;
        for (int i = 0; i < N_ROUNDS; i++)
                reuse_round();
}

static void reuse_main(void)
{
        sched_run_well(NULL, reuse_first);
}

SIM_SCENARIO(deferred_error_reuse, "an error after bytes, and another file under the number",
             reuse_main, .max_steps = SCHED_MAX_STEPS)

/* An error of reading goes to a reader; an error without bytes before it is not deferred. */
static void sides_first(void *arg)
{
        int           fds[2], other[2];
        unsigned char c;

        (void)arg;
        defer_error(fds);
        sim_pipe(other);
        sim_fail_file(other[1], -EIO);
        SIM_CHECK(weft_write_all(other[1], &c, 1) == -EIO, "write");
        SIM_CHECK(weft_write(other[1], &c, 1) == 1, "write");
        SIM_CHECK(weft_write(fds[0], &c, 1) == -EBADF, "write to what is read");
        SIM_CHECK(weft_read(fds[0], &c, 1) == FAILED, "read");
        SIM_CHECK(weft_close(fds[1]) == 0, "close");
        SIM_CHECK(weft_read(fds[0], &c, 1) == 0, "read");
        SIM_CHECK(weft_close(fds[0]) == 0 && weft_close(other[0]) == 0 &&
                  weft_close(other[1]) == 0, "close");
}

static void sides_main(void)
{
        sched_run_well(NULL, sides_first);
}

SIM_SCENARIO(deferred_error_sides, "errors with and without bytes before them", sides_main,
             .max_steps = SCHED_MAX_STEPS)
