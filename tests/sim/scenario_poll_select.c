/* tests/sim/scenario_poll_select.c - PROTOCOL select on descriptors: against events, closes,
 * channels, deadlines, and other readers. All on pipes that other code has made, and on
 * edge-triggered pipes.
 *
 * test: seeds=quarter
 *
 * SPDX-License-Identifier: MIT
 */
#include "sim/pipe_world.h"

#include <errno.h>      /* -Exxx */
#include <string.h>

enum { N_PIPES = 2, N_BYTES = 6, N_SELECTORS = 2, N_ROUNDS = 2, CHAN = N_PIPES, AFTER, N_CASES };

static pipe_maker *make_pipe;           /* of this run */

static void run_with(pipe_maker *make, void (*first)(void *))
{
        make_pipe = make;
        sched_run_well(NULL, first);
}

/* ---- Events ---------------------------------------------------------------------------------- */

static struct {
        int          fds[N_PIPES][2];
        weft_chan   *chan;
        w_atomic_u32 n_bytes, n_values;
} all;

static void feed_pipe(void *arg)
{
        const int *fds = arg;

        for (int i = 0; i < N_BYTES; i++) {
                unsigned char c = 1;

                short_while();
                SIM_CHECK(weft_write(fds[1], &c, 1) == 1, "write");
        }
        close_well(fds[1]);
}

static void feed_chan(void *arg)
{
        (void)arg;
        for (int i = 0; i < N_BYTES; i++) {
                short_while();
                SIM_CHECK(weft_chan_send(all.chan, &i) == 0, "send");
        }
        SIM_CHECK(weft_chan_close(all.chan) == 0, "close");
}

/* Another goroutine may have read the byte by now. False: the end. */
static bool read_one(int fd)
{
        weft_scope    s;
        unsigned char c;

        SIM_CHECK(weft_scope_open(&s, 10000) == 0, "open");
        ssize_t got = weft_read(fd, &c, 1);

        SIM_CHECK(weft_scope_close(&s) == 0, "close");
        SIM_CHECK(got >= 0 || got == -ETIMEDOUT, "read: %ld", (long)got);
        if (got == 1)
                w_add_rlx(&all.n_bytes, 1);                       /* counter */
        return got != 0;
}

/* False: that goroutine is done. */
static bool handle(weft_case *cs, int i)
{
        int rc = cs[i].result;

        if (i == AFTER)
                return true;
        if (i == CHAN) {
                SIM_CHECK(rc == 0 || rc == -EPIPE, "receive: %d", rc);
                if (rc == 0)
                        w_add_rlx(&all.n_values, 1);              /* counter */
                return rc == 0;
        }
        SIM_CHECK(rc == W_POLL_IN || rc == W_POLL_HUP || rc == (W_POLL_IN | W_POLL_HUP),
                  "readable: %x", (unsigned)rc);
        return read_one(all.fds[i][0]);
}

static void select_all(void *arg)
{
        weft_case cs[N_CASES];
        int       value, n_left = N_PIPES + 1;

        (void)arg;
        for (int i = 0; i < N_PIPES; i++)
                cs[i] = WEFT_READABLE(all.fds[i][0]);
        cs[CHAN] = WEFT_RECV(all.chan, &value);
        while (n_left > 0) {
                cs[AFTER] = WEFT_AFTER(sim_random(100000));
                int i = weft_select(cs, sim_random(3) ? AFTER : N_CASES);

                SIM_CHECK(i >= 0 && i < N_CASES, "select: %d", i);
                if (handle(cs, i))
                        continue;
                n_left--;
                memset(&cs[i], 0, sizeof(cs[i]));
        }
}

static void news_first(void *arg)
{
        int64_t ids[N_PIPES + 1 + N_SELECTORS];
        int     n = 0;

        (void)arg;
        w_store_rlx(&all.n_bytes, 0);                             /* counter */
        w_store_rlx(&all.n_values, 0);                            /* counter */
        all.chan = weft_chan_new(sizeof(int), sim_random(2));
        for (int i = 0; i < N_PIPES; i++) {
                make_pipe(all.fds[i]);
                ids[n++] = sched_go(feed_pipe, all.fds[i]);
        }
        ids[n++] = sched_go(feed_chan, NULL);
        for (int i = 0; i < N_SELECTORS; i++)
                ids[n++] = sched_go(select_all, NULL);
        while (n > 0)
                sched_join(ids[--n]);
        SIM_CHECK(w_load_rlx(&all.n_bytes) == N_PIPES * N_BYTES, "%u bytes",
                  w_load_rlx(&all.n_bytes));                      /* counter */
        SIM_CHECK(w_load_rlx(&all.n_values) == N_BYTES, "%u values",
                  w_load_rlx(&all.n_values));                     /* counter */
        for (int i = 0; i < N_PIPES; i++)
                close_well(all.fds[i][0]);
        weft_chan_unref(all.chan);
}

static void news_main(void)
{
        run_with(sim_pipe, news_first);
}

SIM_SCENARIO(poll_select, "selects on pipes and a channel, some with a deadline", news_main,
             .max_steps = 2 * SCHED_MAX_STEPS)

static void edge_news_main(void)
{
        run_with(edge_pipe, news_first);
}

SIM_SCENARIO(poll_edge_select, "selects on edge-triggered pipes and a channel", edge_news_main,
             .max_steps = 2 * SCHED_MAX_STEPS)

/* ---- Closes ---------------------------------------------------------------------------------- */

struct selector {
        int     fd;
        int     result;
        int64_t id;
};

static void select_once(void *arg)
{
        struct selector *s = arg;
        weft_case        cs[] = { WEFT_READABLE(s->fd), WEFT_READABLE(s->fd),
                                  WEFT_RECV(NULL, NULL) };
        int              i = weft_select(cs, 3);

        SIM_CHECK(i == 0 || i == 1, "select: %d", i);
        s->result = cs[i].result;
}

/* Old and new have the same number; an event happens on the new one at once. Or never, if the
 * selectors may have been woken for a byte that another reader has taken: they must not wait for
 * it. */
static void close_round(struct selector *selectors)
{
        int           fds[2], now[2];
        unsigned char c = 1;
        bool          is_fed = sim_random(2), is_taken = is_fed && sim_random(2);

        make_pipe(fds);
        for (int i = 0; i < N_SELECTORS; i++) {
                selectors[i].fd = fds[0];
                selectors[i].id = sched_go(select_once, &selectors[i]);
        }
        while (n_users(fds[0]) < 2 * N_SELECTORS)
                weft_yield();
        short_while();
        if (is_fed)
                SIM_CHECK(weft_write(fds[1], &c, 1) == 1, "write");
        if (is_taken) {
                sim_work(sim_random(2u << sim_random(14)));
                SIM_CHECK(w_os_fd_read(fds[0], &c, 1) == 1, "read");
                sim_work(sim_random(2u << sim_random(14)));
        }
        (void)weft_close(fds[0]);
        while (is_fed && !sim_random(2))
                short_while();
        make_pipe(now);
        if (!is_taken)
                SIM_CHECK(weft_write(now[1], &c, 1) == 1, "write");
        for (int i = 0; i < N_SELECTORS; i++) {
                int rc = (sched_join(selectors[i].id), selectors[i].result);

                SIM_CHECK(rc == -EBADF || (is_fed && rc == W_POLL_IN), "closed: %d", rc);
        }
        close_well(now[0]);
        close_well(now[1]);
        close_well(fds[1]);
}

static void close_first(void *arg)
{
        struct selector selectors[N_SELECTORS];

        (void)arg;
        for (int i = 0; i < N_ROUNDS; i++)
                close_round(selectors);
}

static void close_main(void)
{
        run_with(sim_pipe, close_first);
}

SIM_SCENARIO(poll_select_close, "weft_close while others select, and the number is used again",
             close_main, .max_steps = SCHED_MAX_STEPS)

static void edge_close_main(void)
{
        run_with(edge_pipe, close_first);
}

SIM_SCENARIO(poll_edge_select_close, "weft_close of edge-triggered pipes while others select",
             edge_close_main, .max_steps = SCHED_MAX_STEPS)

/* ---- Refusals -------------------------------------------------------------------------------- */

static void refused_first(void *arg)
{
        int           fds[2], i;
        unsigned char c = 1;

        (void)arg;
        make_pipe(fds);
        weft_case cs[] = { WEFT_READABLE(fds[0]), WEFT_AFTER(50000) };

        do
                i = weft_select(cs, 2);
        while (i != 1);         /* the reason why the descriptor cannot be waited for */
        while (weft_write(fds[1], &c, 1) != 1)
                weft_yield();
        do
                i = weft_select(cs, 2);
        while (i != 0 || cs[0].result < 0);
        SIM_CHECK(cs[0].result == W_POLL_IN, "readable: %d", cs[0].result);
        close_patiently(fds[0]);
        close_patiently(fds[1]);
}

static void run_refused(pipe_maker *make)
{
        make_pipe = make;
        sched_work_may_wait = true;
        (void)sched_run(NULL, refused_first);
}

static void refused_main(void)
{
        run_refused(sim_pipe);
}

SIM_SCENARIO(poll_select_refused, "a select on descriptors that cannot be waited for", refused_main,
             .calls_fail = true, .max_steps = SCHED_MAX_STEPS)

static void edge_refused_main(void)
{
        run_refused(edge_pipe_if_possible);
}

SIM_SCENARIO(poll_edge_select_refused, "a select on pipes that may be edge-triggered",
             edge_refused_main, .calls_fail = true, .max_steps = SCHED_MAX_STEPS)
