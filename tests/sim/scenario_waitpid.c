/* tests/sim/scenario_waitpid.c - weft_waitpid: every child that ends is reported once.
 *
 * test: seeds=quarter
 *
 * SPDX-License-Identifier: MIT
 */
#include "sim/sched_world.h"

#include <errno.h>      /* -Exxx */

enum { N_CHILDREN = 4, N_WAITERS = 2 };

static void short_while(void)
{
        if (sim_random(3))
                sim_work(sim_random(1u << (1 + sim_random(12))));
        if (!sim_random(4))
                SIM_CHECK(weft_sleep(sim_random(300000)) == 0, "sleep");
}

struct child {
        int          pid;
        w_atomic_u32 n_reported;
};

/* Several wait for the same child, now and then not for long; others for any child. */
static int wait_for(struct child *c, int *status)
{
        weft_scope s;
        bool       in_scope = sim_random(3) == 0;
        int        pid = sim_random(4) ? c->pid : -1;

        if (in_scope)
                SIM_CHECK(weft_scope_open(&s, sim_random(200000)) == 0, "open");
        int rc = weft_waitpid(pid, status, 0);

        if (in_scope)
                SIM_CHECK(weft_scope_close(&s) == 0, "close");
        SIM_CHECK(rc > 0 || rc == -ECHILD || (rc == -ETIMEDOUT && in_scope), "waitpid: %d", rc);
        return rc;
}

static struct child children[N_CHILDREN];

static void tell(int pid, int status)
{
        for (int i = 0; i < N_CHILDREN; i++) {
                if (children[i].pid != pid)
                        continue;
                SIM_CHECK(status == 7 + i, "status %d of child %d", status, i);
                w_add_rlx(&children[i].n_reported, 1);                /* counter */
        }
}

static void wait_until_gone(void *arg)
{
        struct child *c = arg;
        int           rc, status = 0;

        do {
                rc = wait_for(c, &status);
                if (rc > 0)
                        tell(rc, status);
        } while (rc != -ECHILD && rc != c->pid);
}

static void end_child(void *arg)
{
        struct child *c = arg;

        short_while();
        sim_end_child(c->pid, 7 + (int)(c - children));
}

static void child_first(void *arg)
{
        int64_t ids[N_CHILDREN][N_WAITERS + 1];

        (void)arg;
        for (int i = 0; i < N_CHILDREN; i++) {
                children[i].pid = sim_start_child();
                w_store_rlx(&children[i].n_reported, 0);              /* counter */
        }
        for (int i = 0; i < N_CHILDREN; i++) {
                for (int k = 0; k < N_WAITERS; k++)
                        ids[i][k] = sched_go(wait_until_gone, &children[i]);
                ids[i][N_WAITERS] = sched_go(end_child, &children[i]);
        }
        for (int i = 0; i < N_CHILDREN; i++)
                for (int k = 0; k <= N_WAITERS; k++)
                        sched_join(ids[i][k]);
        for (int i = 0; i < N_CHILDREN; i++)
                SIM_CHECK(w_load_rlx(&children[i].n_reported) == 1, "child %d reported %u times", i,
                          w_load_rlx(&children[i].n_reported));       /* counter */
}

static void child_main(void)
{
        sched_run_well(NULL, child_first);
}

SIM_SCENARIO(child_waits, "children end while several wait for each of them", child_main,
             .max_steps = 2 * SCHED_MAX_STEPS)

/* ---- With calls that fail -------------------------------------------------------------------- */

/* However much is refused, a waiter gets the result. Without a goroutine that ends the child, the
 * child has ended before. */
static void refused_first(void *arg)
{
        int status = 0;

        (void)arg;
        for (int i = 0; i < N_CHILDREN; i++) {
                children[i].pid = sim_start_child();
                int64_t id = weft_go(end_child, &children[i]);

                if (id < 0)
                        sim_end_child(children[i].pid, 7 + i);
                int rc = weft_waitpid(children[i].pid, &status, 0);

                SIM_CHECK(rc == children[i].pid && status == 7 + i, "waitpid: %d, %d", rc, status);
                if (id > 0)
                        sched_join(id);
        }
}

static void refused_main(void)
{
        sched_work_may_wait = true;
        (void)sched_run(NULL, refused_first);
}

SIM_SCENARIO(child_refused, "children are waited for with calls that fail", refused_main,
             .calls_fail = true, .max_steps = 2 * SCHED_MAX_STEPS)
