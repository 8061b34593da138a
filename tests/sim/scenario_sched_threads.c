/* tests/sim/scenario_sched_threads.c - PROTOCOL threads: started, failing to start, unused, ended.
 *
 * Bursts of work with pauses between them, after which idle threads end; stops of the world that
 * need a thread for each P at once, and in some seeds a system with few threads or little memory. A
 * run that cannot start reports that; a run that has started comes to its end.
 *
 * test: seeds=quarter
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/sched.h"
#include "sched/thread/thread.h"
#include "sim/sched_world.h"

#include <errno.h>      /* ENOMEM and others */

enum { BURSTS = 8, N_MAX = 4, IDLE_MS = 1 };

static uint32_t n_done;                 /* plain: simulated threads run one at a time */

/* Leaves an errno that its successor must not find. */
static void job(void *arg)
{
        (void)arg;
        SIM_CHECK(*weft_errno() == 0, "a goroutine begins with errno %d", *weft_errno());
        *weft_errno() = EBADF;
        sim_work(sim_random(8) ? sim_random(1000) : 1000 * sim_random(3000));
        n_done++;
}

static uint32_t burst(int64_t *ids)
{
        uint32_t n = 1 + sim_random(N_MAX), n_started = 0;

        for (uint32_t i = 0; i < n; i++) {
                int64_t id = weft_go(job, NULL);

                SIM_CHECK(id > 0 || id == -ENOMEM, "weft_go returned %ld", (long)id);
                if (id > 0)
                        ids[n_started++] = id;
        }
        return n_started;
}

static void run_burst(void)
{
        int64_t  ids[N_MAX];
        uint32_t n = burst(ids);

        if (sim_random(3) == 0)
                SIM_CHECK(weft_check() == 0, "weft_check failed");
        for (uint32_t i = 0; i < n; i++)
                sched_join(ids[i]);
}

/* Mostly as long as an idle thread's patience lasts, within a microsecond: then it is over just
 * when new work comes. */
static void pause_between(void)
{
        if (sim_random(4))
                sim_work(IDLE_MS * 1000000 - 1000 + sim_random(2000));
        else
                sim_work(1000 * sim_random(4000));
}

/* More threads than may stay, so that some must end. */
static void add_threads(void)
{
        W_ENTER();
        while (w_sched.n_m <= w_n_procs() + 1 && w_thread_create(NULL, false) == 0)
                ;
        W_LEAVE();
}

static void first(void *arg)
{
        (void)arg;
        for (int b = 0; b < BURSTS; b++) {
                if (sim_random(2))
                        add_threads();
                run_burst();
                pause_between();
        }
        SIM_CHECK(w_sched.n_m >= 1 && w_sched.n_m <= w_sched.threads.n_started + 1, "%u threads",
                  w_sched.n_m);
}

static void threads_main(void)
{
        weft_config cfg = { .idle_ms = IDLE_MS };

        n_done = 0;
        sched_run_well(&cfg, first);
}

SIM_SCENARIO(sched_threads, "threads are started, run out of work, and end", threads_main,
             .max_steps = SCHED_MAX_STEPS)

static void scarce_main(void)
{
        weft_config cfg = { .idle_ms = IDLE_MS };

        n_done = 0;
        sched_work_may_wait = true;
        int rc = sched_run(&cfg, first);

        SIM_CHECK(rc == 0 || rc == -EAGAIN || rc == -ENOMEM || rc == -EBUSY,
                  "sched_run returned %d", rc);
        SIM_CHECK(rc == 0 || n_done == 0, "goroutines ran, and sched_run returned %d", rc);
}

SIM_SCENARIO(sched_scarce, "threads and memory are refused now and then", scarce_main,
             .calls_fail = true, .max_steps = SCHED_MAX_STEPS)

/* ---- m0 without other threads ---------------------------------------------------------------- */

enum { TWO_PAUSES_NS = 2000000, OFTEN_ENOUGH_NS = 30000000 };

static w_atomic_u32 go_on;

/* If no thread is available for its P, m0 runs the other goroutines, and the monitor need not try
 * again; unless m0 itself is blocked. */
static void blocked(void *arg)
{
        (void)arg;
        weft_block_begin();
        while (!w_load_acq(&go_on) && w_sched.sysmon.retry_pause < OFTEN_ENOUGH_NS) {
                w_os_sleep_until(w_os_now() + 50000);
                SIM_CHECK(w_m()->is_main || w_sched.sysmon.retry_pause <= TWO_PAUSES_NS,
                          "m0 does not help");
        }
        weft_block_end();
}

static void release(void *arg)
{
        (void)arg;
        w_store_rel(&go_on, 1);
}

static void need_first(void *arg)
{
        int64_t id = weft_go(blocked, arg);

        weft_yield();
        if (weft_go(release, arg) < 0)
                release(arg);
        if (id > 0)
                sched_join(id);
}

static void need_main(void)
{
        weft_config cfg = { .procs = 1 };

        w_store_rlx(&go_on, 0);
        sched_work_may_wait = true;
        int rc = sched_run(&cfg, need_first);

        SIM_CHECK(rc == 0 || rc == -EAGAIN || rc == -ENOMEM || rc == -EBUSY,
                  "sched_run returned %d", rc);
}

SIM_SCENARIO(sched_need, "m0 runs all goroutines if no other thread is available", need_main,
             .calls_fail = true, .max_steps = SCHED_MAX_STEPS)
