/* tests/sim/pipe_world.c - bytes through foreign pipes and edge-triggered pipes.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sim/pipe_world.h"

#include "net/poll.h"

#include <errno.h>      /* -Exxx */

enum { N_PAIRS = 3, N_READERS = 4, N_ROUNDS = 4 };

static pipe_maker *make_pipe;           /* of this run */

void short_while(void)
{
        if (sim_random(3))
                sim_work(sim_random(1u << (1 + sim_random(12))));
        if (!sim_random(4))
                SIM_CHECK(weft_sleep(sim_random(SHORT_NS)) == 0, "sleep");
}

/* ---- Makers of pipes ------------------------------------------------------------------------- */

int edge_try(int fd)
{
        uint32_t before = w_enter();
        int      rc = w_desc_made(fd);

        w_leave(before);
        return rc;
}

void edge_made(int fd)
{
        int rc = edge_try(fd);

        SIM_CHECK(rc == 0, "made %d: %d", fd, rc);
}

void edge_pipe(int fds[2])
{
        sim_pipe(fds);
        edge_made(fds[0]);
        if (sim_random(4))
                edge_made(fds[1]);
}

void edge_pipe_if_possible(int fds[2])
{
        sim_pipe(fds);
        for (int i = 0; i < 2; i++) {
                int rc = edge_try(fds[i]);

                SIM_CHECK(rc == 0 || rc == -EMFILE || rc == -ENOMEM, "made: %d", rc);
        }
}

/* ---- Bytes through a pipe -------------------------------------------------------------------- */

uint32_t write_some(int fd, uint32_t from, uint32_t n_all)
{
        unsigned char buf[6];
        uint32_t      n = 1 + sim_random(sizeof(buf));

        n = n < n_all - from ? n : n_all - from;
        for (uint32_t i = 0; i < n; i++)
                buf[i] = (unsigned char)(from + i);
        ssize_t done = weft_write(fd, buf, n);

        SIM_CHECK(done > 0 && done <= (ssize_t)n, "write: %ld", (long)done);
        return (uint32_t)done;
}

void write_tag(int fd, unsigned char tag)
{
        ssize_t done = weft_write(fd, &tag, 1);

        SIM_CHECK(done == 1 || done == -EPIPE, "write: %ld", (long)done);
}

/* As often as not the last bytes and the end come together. */
void write_all(void *line)
{
        struct line *l = line;

        for (uint32_t sent = 0; sent < l->n;) {
                short_while();
                sent += write_some(l->fds[1], sent, l->n);
        }
        if (sim_random(2))
                short_while();
        close_well(l->fds[1]);
}

void read_all(void *line)
{
        struct line  *l = line;
        unsigned char buf[6];
        uint32_t      n = 0;

        for (;;) {
                if (sim_random(2))
                        short_while();
                ssize_t got = weft_read(l->fds[0], buf, 1 + sim_random(sizeof(buf)));

                SIM_CHECK(got >= 0, "read: %ld", (long)got);
                if (got == 0)
                        break;
                for (ssize_t i = 0; i < got; i++, n++)
                        SIM_CHECK(buf[i] == (unsigned char)n, "byte %u is %u", n, buf[i]);
        }
        SIM_CHECK(n == l->n, "%u bytes of %u", n, l->n);
        close_well(l->fds[0]);
}

static void lines_first(void *arg)
{
        struct line lines[N_PAIRS];
        int64_t     ids[2 * N_PAIRS];

        (void)arg;
        for (int i = 0; i < N_PAIRS; i++) {
                make_pipe(lines[i].fds);
                lines[i].n = 1 + sim_random(LINE_BYTES);
                ids[2 * i] = sched_go(read_all, &lines[i]);
                ids[2 * i + 1] = sched_go(write_all, &lines[i]);
        }
        for (int i = 0; i < 2 * N_PAIRS; i++)
                sched_join(ids[i]);
}

void pipe_lines(pipe_maker *make)
{
        weft_config cfg = { .procs = 1 + (int)sim_random(3) };

        make_pipe = make;
        sched_run_well(&cfg, lines_first);
}

/* ---- Foreign threads ------------------------------------------------------------------------- */

void foreign_write(void *line)
{
        foreign_begin();
        write_all(line);
}

void foreign_read(void *line)
{
        foreign_begin();
        read_all(line);
}

/* All Ms wait meanwhile. */
static void foreign_first(void *arg)
{
        struct line   in = { .n = 1 + sim_random(LINE_BYTES) };
        struct line   out = { .n = 1 + sim_random(LINE_BYTES) };
        struct worker reader, writer;

        (void)arg;
        make_pipe(in.fds);
        make_pipe(out.fds);
        worker_start(&writer, "writer", foreign_write, &in);
        worker_start(&reader, "reader", foreign_read, &out);
        int64_t id = sched_go(write_all, &out);

        read_all(&in);
        sched_join(id);
        sched_news_may_wait = true;     /* it blocks its thread */
        worker_join(&reader);
        worker_join(&writer);
}

void pipe_foreign(pipe_maker *make)
{
        weft_config cfg = { .procs = 1 + (int)sim_random(2) };

        make_pipe = make;
        sched_run_well(&cfg, foreign_first);
}

/* ---- Many at one end ------------------------------------------------------------------------- */

/* Some never wait in the queue, some always do. */
void read_some(void *line)
{
        struct line  *l = line;
        unsigned char buf[6];
        weft_scope    s;
        ssize_t       got;
        bool          scoped = sim_random(2);

        if (scoped)
                SIM_CHECK(weft_scope_open(&s, WEFT_FOREVER) == 0, "open");
        while ((got = weft_read(l->fds[0], buf, 1 + sim_random(sizeof(buf)))) > 0) {
                w_add_rlx(&l->n_read, (uint32_t)got);             /* counter */
                if (sim_random(2))
                        short_while();
        }
        SIM_CHECK(got == 0, "read: %ld", (long)got);
        if (scoped)
                SIM_CHECK(weft_scope_close(&s) == 0, "close");
}

static void know(void *arg)
{
        const struct line *l = arg;
        int                rc = weft_fd_wait(l->fds[0], W_POLL_IN);

        SIM_CHECK(rc > 0, "wait_fd: %d", rc);
}

static void check_all_read(struct line *l)
{
        uint32_t n_read = w_load_rlx(&l->n_read);                 /* counter */

        SIM_CHECK(n_read == l->n, "%u bytes of %u", n_read, l->n);
}

/* These read all bytes of a line, each in a goroutine. */
static void read_by(void (*const readers[])(void *), int n)
{
        struct line l = { .n = 1 + sim_random(LINE_BYTES) };
        int64_t     ids[N_READERS + 1];

        make_pipe(l.fds);
        for (int i = 0; i < n; i++)
                ids[i] = sched_go(readers[i], &l);
        write_all(&l);
        for (int i = 0; i < n; i++)
                sched_join(ids[i]);
        check_all_read(&l);
        close_well(l.fds[0]);
}

static void share_first(void *arg)
{
        void (*readers[N_READERS + 1])(void *);

        (void)arg;
        for (int i = 0; i < N_READERS; i++)
                readers[i] = read_some;
        readers[N_READERS] = know;
        read_by(readers, N_READERS + 1);
}

void pipe_share(pipe_maker *make)
{
        make_pipe = make;
        sched_run_well(NULL, share_first);
}

/* ---- Deadlines ------------------------------------------------------------------------------- */

static void read_hurriedly(void *arg)
{
        struct line *l = arg;

        while (w_load_rlx(&l->n_read) < l->n) {                   /* counter */
                weft_scope    s;
                unsigned char buf[2];

                SIM_CHECK(weft_scope_open(&s, sim_random(200000)) == 0, "open");
                ssize_t got = weft_read(l->fds[0], buf, 1 + sim_random(2));

                SIM_CHECK(got >= 0 || got == -ETIMEDOUT, "read: %ld", (long)got);
                SIM_CHECK(weft_scope_close(&s) == 0, "close");
                if (got > 0)
                        w_add_rlx(&l->n_read, (uint32_t)got);     /* counter */
                if (got == 0)
                        return;
        }
}

/* What was not read is still there, and other readers read it. In about half of the runs one of
 * them does not give up. */
static void hurry_first(void *arg)
{
        static void (*const readers[])(void *) = { read_hurriedly, read_hurriedly, read_some };

        (void)arg;
        read_by(readers, sim_random(4) ? 3 : 2);
}

void pipe_hurry(pipe_maker *make)
{
        make_pipe = make;
        sched_run_well(NULL, hurry_first);
}

struct hasty {
        int     fd;
        int64_t ns;
};

static void give_up(void *arg)
{
        const struct hasty *h = arg;
        weft_scope          s;
        unsigned char       c;

        SIM_CHECK(weft_scope_open(&s, h->ns) == 0, "open");
        ssize_t got = weft_read(h->fd, &c, 1);

        SIM_CHECK(got == 0 || got == -ETIMEDOUT, "read: %ld", (long)got);
        SIM_CHECK(weft_scope_close(&s) == 0, "close");
}

/* The only event comes just as the first waiters in the queue give up: it is for the waiter after
 * them. */
static void news_for_the_next(void)
{
        struct line  l = { 0 };
        struct hasty h = { .ns = 5000 + (int64_t)sim_random(20000) };
        int64_t      ids[3];

        make_pipe(l.fds);
        h.fd = l.fds[0];
        for (int i = 0; i < 3; i++)
                ids[i] = sched_go(i < 2 ? give_up : read_some, i < 2 ? (void *)&h : &l);
        SIM_CHECK(weft_sleep(h.ns) == 0, "sleep");
        if (sim_random(2))
                sim_work(sim_random(1u << (1 + sim_random(11))));
        close_well(l.fds[1]);
        for (int i = 0; i < 3; i++)
                sched_join(ids[i]);
        close_well(l.fds[0]);
}

static void next_first(void *arg)
{
        (void)arg;
        for (int i = 0; i < N_ROUNDS; i++)
                news_for_the_next();
}

void pipe_next(pipe_maker *make)
{
        make_pipe = make;
        sched_run_well(NULL, next_first);
}
