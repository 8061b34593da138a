/* tests/sim/scenario_poll_busy.c - PROTOCOL netpoll: with no P idle and more goroutines that yield
 * than a ring holds, so that some always wait in the global queue, descriptors are polled
 * nevertheless, and sooner than by the monitor.
 *
 * test: seeds=quarter
 *
 * SPDX-License-Identifier: MIT
 */
#include "sim/sched_world.h"

#include <errno.h>      /* -Exxx */

enum {
        N_YIELDERS = W_RUNQ_CAP + W_RUNQ_HALF,
        LONG_NS = 1000000,              /* of work, before */
        SHORT_NS = 10000,               /* and after: 61 take less time than is between two polls */
        QUIET_NS = 25000000,            /* the monitor has nothing to do and rests for longer */
};

static w_atomic_u32 done;

static void yield_until_done(void *arg)
{
        (void)arg;
        while (!w_load_rlx(&done)) {                              /* hint */
                sim_work(sched_news_at_once ? SHORT_NS : LONG_NS);
                weft_yield();
        }
}

static void write_late(void *arg)
{
        int *fds = arg;

        foreign_begin();
        w_os_sleep_until(sim_now() + QUIET_NS + sim_random(QUIET_NS / 2));
        sched_news_at_once = true;
        SIM_CHECK(weft_write(fds[1], "x", 1) == 1, "write");
}

static void busy_first(void *arg)
{
        struct worker writer;
        unsigned char c;
        int           fds[2];
        int64_t       ids[N_YIELDERS];

        (void)arg;
        w_store_rlx(&done, 0);                                    /* own word: no thread runs yet */
        sim_pipe(fds);
        for (int i = 0; i < N_YIELDERS; i++)
                ids[i] = sched_go(yield_until_done, NULL);
        worker_start(&writer, "writer", write_late, fds);
        SIM_CHECK(weft_read(fds[0], &c, 1) == 1, "read");
        sched_news_at_once = false;
        w_store_rlx(&done, 1);                                    /* hint */
        for (int i = 0; i < N_YIELDERS; i++)
                sched_join(ids[i]);
        worker_join(&writer);
        SIM_CHECK(weft_close(fds[0]) == 0 && weft_close(fds[1]) == 0, "close");
}

static void busy_main(void)
{
        weft_config cfg = { .procs = 1 };

        sched_run_well(&cfg, busy_first);
}

SIM_SCENARIO(poll_busy, "goroutines always wait in the global queue", busy_main,
             .max_steps = SCHED_MAX_STEPS)
