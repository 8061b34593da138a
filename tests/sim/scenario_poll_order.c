/* tests/sim/scenario_poll_order.c - PROTOCOL poll and PROTOCOL poll-edge: the oldest waiter is
 * served first, and a waiter that was woken in vain is still the first.
 *
 * test: seeds=quarter
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/fd_waiters.h"
#include "sim/pipe_world.h"

enum { N_READERS = 4 };

static struct {
        int          fds[2];
        w_atomic_u32 n_served;
        int64_t      served[N_READERS]; /* ids, in order */
} world;

static void read_one(void *arg)
{
        unsigned char c;
        ssize_t       got = weft_read(world.fds[0], &c, 1);

        (void)arg;
        SIM_CHECK(got == 1, "read: %ld", (long)got);
        world.served[w_load_rlx(&world.n_served)] = weft_id();    /* own word: one at a time */
        w_add_acqrel(&world.n_served, 1);
}

static void nap(void)
{
        SIM_CHECK(weft_sleep(sim_random(SHORT_NS / 4)) == 0, "sleep");
}

static void await_waiters(uint32_t n)
{
        while (fd_waiters_count(world.fds[0], W_DIR_IN) != n)
                nap();
}

/* Writes bytes and takes them back, so that readers may be woken in vain. Ends early if a reader is
 * faster. */
static void steal_some(void)
{
        for (uint32_t n = sim_random(3); n > 0; n--) {
                unsigned char c;

                write_tag(world.fds[1], 0);
                sim_work(sim_random(2u << sim_random(14)));
                if (w_os_fd_read(world.fds[0], &c, 1) != 1)
                        return;
        }
        write_tag(world.fds[1], 0);
}

static void serve_in_order(bool steals)
{
        int64_t ids[N_READERS];

        w_store_rlx(&world.n_served, 0);
        for (uint32_t i = 0; i < N_READERS; i++) {
                ids[i] = sched_go(read_one, NULL);
                await_waiters(i + 1);
        }
        for (uint32_t i = 0; i < N_READERS; i++) {
                if (steals)
                        steal_some();
                else
                        write_tag(world.fds[1], 0);
                while (w_load_acq(&world.n_served) <= i)
                        nap();
                SIM_CHECK(world.served[i] == ids[i], "%ld is served before %ld",
                          (long)world.served[i], (long)ids[i]);
                await_waiters(N_READERS - 1 - i);
        }
        for (uint32_t i = 0; i < N_READERS; i++)
                sched_join(ids[i]);
        close_well(world.fds[0]);
        close_well(world.fds[1]);
}

static void order_first(void *arg)
{
        (void)arg;
        sim_pipe(world.fds);
        serve_in_order(true);
}

static void order_main(void)
{
        weft_config cfg = { .procs = 1 + (int)sim_random(3) };

        sched_run_well(&cfg, order_first);
}

SIM_SCENARIO(poll_order, "readers of one pipe are served in order, whatever is taken from them",
             order_main, .max_steps = SCHED_MAX_STEPS)

static void edge_order_first(void *arg)
{
        (void)arg;
        edge_pipe(world.fds);
        serve_in_order(false);
}

static void edge_order_main(void)
{
        weft_config cfg = { .procs = 1 + (int)sim_random(3) };

        sched_run_well(&cfg, edge_order_first);
}

/* An event that is reported twice for one byte wakes two readers; the Ps decide which is first. */
SIM_SCENARIO(poll_edge_order, "readers of an edge-triggered pipe are served in order",
             edge_order_main, .no_spurious = true, .max_steps = SCHED_MAX_STEPS)
