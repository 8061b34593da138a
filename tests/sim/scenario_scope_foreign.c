/* tests/sim/scenario_scope_foreign.c - PROTOCOL scope-tree with openers that are threads of the
 * program.
 *
 * A foreign thread sleeps in its scope, with children that do the same, until a canceller of any
 * kind or a deadline ends it. Or the run ends while foreign threads wait, close, or keep their
 * scopes open for the next run, and their children sleep, compute or end. The memory of a closed
 * scope is written over at once and must stay as it is.
 *
 * test: seeds=quarter
 *
 * SPDX-License-Identifier: MIT
 */
#include "sim/scope_world.h"

#include <errno.h>      /* ECANCELED and others */
#include <string.h>

enum { N_ROUNDS = 3, N_FOREIGN = 2 };

/* ---- Calls that nothing but a scope or the end of the run ends ------------------------------- */

static weft_sem  no_permit, opened;
static weft_cond no_signal;

static void await_opened(void)
{
        SIM_CHECK(weft_sem_acquire(&opened) == 0, "no thread opens a scope");
}

static int wait_for_nothing(void)
{
        weft_mutex m = WEFT_MUTEX_INIT;
        int        rc;

        switch (sim_random(4)) {
        case 0:
                return weft_sleep(WEFT_SEC(100));
        case 1:
                return weft_sem_acquire(&no_permit);
        case 2:
                return weft_chan_recv(NULL, NULL);
        default:
                weft_mutex_lock(&m);
                rc = weft_cond_wait(&no_signal, &m);
                weft_mutex_unlock(&m);
                return rc;
        }
}

static void check_done(int rc)
{
        SIM_CHECK(rc == -ECANCELED || rc == -ETIMEDOUT, "a wait ended with %d", rc);
        SIM_CHECK(weft_cancelled() == rc, "ended by %d, later by %d", rc, weft_cancelled());
}

/* ---- Cancellations --------------------------------------------------------------------------- */

enum how { OUTSIDE, INSIDE, FOREIGN, ERROR, DEADLINE, N_HOWS };

static struct {
        struct worker worker;
        weft_scope    outer, inner;
        enum how      how;
} opener;

static int die_in_scope(void *arg)
{
        weft_scope s;

        (void)arg;
        if (sim_random(2)) {
                check_done(weft_park());
                return 0;
        }
        open_scope(&s, WEFT_FOREVER);
        check_done(wait_for_nothing());
        SIM_CHECK(weft_scope_close(&s) == 0, "no child failed");
        poison(&s);
        return 0;
}

static int fail(void *arg)
{
        sim_work(sim_random(2000));
        return (int)(intptr_t)arg;
}

static void cancel(void *arg)
{
        (void)arg;
        sim_work(sim_random(2000));
        weft_scope_cancel(&opener.outer);
}

static int cancel_inside(void *arg)
{
        cancel(arg);
        return 0;
}

static void cancel_foreign(void *arg)
{
        foreign_begin();
        cancel(arg);
}

static void start_children(void)
{
        for (uint32_t i = sim_random(3); i > 0; i--)
                (void)!weft_scope_go(sim_random(2) ? &opener.outer : &opener.inner, die_in_scope,
                                     NULL);
        if (opener.how == INSIDE)
                SIM_CHECK(weft_scope_go(&opener.outer, cancel_inside, NULL) > 0, "no canceller");
        if (opener.how == ERROR)
                SIM_CHECK(weft_scope_go(&opener.outer, fail, (void *)7) > 0, "no child");
}

static void be_foreign_thread(void *arg)
{
        int64_t timeout = sim_random(2) ? WEFT_SEC(5) : WEFT_FOREVER;

        (void)arg;
        foreign_begin();
        open_scope(&opener.outer, opener.how == DEADLINE ? 500 + sim_random(20000) : timeout);
        open_scope(&opener.inner, WEFT_FOREVER);
        start_children();
        weft_sem_release(&opened);
        if (sim_random(4))
                check_done(wait_for_nothing());
        weft_shield_begin();
        SIM_CHECK(weft_sleep(10) == 0, "a sleep behind a shield was refused");
        weft_shield_end();
        /* A canceller from outside can rely on the open scope only until it has cancelled it. */
        while (weft_cancelled() == 0)
                w_os_sleep_until(w_os_now() + 100);
        SIM_CHECK(weft_scope_close(&opener.inner) == 0, "no child failed in the inner scope");
        poison(&opener.inner);
        check_done(wait_for_nothing());
        int rc = weft_scope_close(&opener.outer);

        poison(&opener.outer);
        SIM_CHECK(rc == (opener.how == ERROR ? 7 : 0), "close returned %d", rc);
        SIM_CHECK(weft_cancelled() == 0, "in no scope, and cancelled");
}

static void round_of(enum how how)
{
        struct worker canceller;
        int64_t       id = 0;

        opener.how = how;
        worker_start(&opener.worker, "opener", be_foreign_thread, NULL);
        await_opened();
        if (how == OUTSIDE)
                id = sched_go(cancel, NULL);
        if (how == FOREIGN)
                worker_start(&canceller, "canceller", cancel_foreign, NULL);
        if (id)
                sched_join(id);
        if (how == FOREIGN)
                worker_join(&canceller);
        worker_join(&opener.worker);
        check_poisoned(&opener.inner);
        check_poisoned(&opener.outer);
}

static void first(void *arg)
{
        (void)arg;
        for (int i = 0; i < N_ROUNDS; i++)
                round_of((enum how)sim_random(N_HOWS));
        SIM_CHECK(weft_count() == 1, "%ld goroutines are left", (long)weft_count());
}

static void foreign_main(void)
{
        sched_run_well(NULL, first);
}

SIM_SCENARIO(scope_foreign, "a thread's scopes, children and waits, and cancellers of every kind",
             foreign_main, .max_steps = SCHED_MAX_STEPS)

/* ---- The end of the run ---------------------------------------------------------------------- */

enum then { CLOSES, WAITS, KEEPS, KEEPS_LONG, N_THENS };

struct survivor {
        struct worker worker;
        weft_scope    outer, inner;
};

static struct {
        struct survivor survivors[N_FOREIGN];
        uint32_t        n_runs;         /* that have begun; plain: threads run one at a time */
        bool            over;           /* the first one */
} ends;

static int park_child(void *arg)
{
        (void)arg;
        (void)weft_park();
        SIM_CHECK(false, "a child that its run has dropped went on");
        return 0;
}

static int park_within(void *arg)
{
        weft_scope s;

        open_scope(&s, WEFT_FOREVER);
        return park_child(arg);
}

/* Does not come back before the run has ended, or just as it does. */
static int compute(void *arg)
{
        (void)arg;
        for (uint32_t i = sim_random(4); i > 0; i--) {
                sim_work(sim_random(3000));
                weft_yield();
        }
        return 0;
}

static void start_some(weft_scope *s)
{
        static int (*const children[])(void *) = { park_child, park_within, compute };

        for (uint32_t i = sim_random(3); i > 0; i--) {
                int64_t id = weft_scope_go(s, children[sim_random(3)], NULL);

                SIM_CHECK(id > 0, "weft_scope_go returned %ld", (long)id);
        }
}

static void await_run(uint32_t n)
{
        while (ends.n_runs < n)
                w_os_sleep_until(w_os_now() + 1000);
}

static void check_dedicated(struct survivor *me)
{
        SIM_CHECK(weft_cancelled() == -ECANCELED, "not cancelled by the end of the run");
        SIM_CHECK(wait_for_nothing() == -ECANCELED, "a wait was not refused");
        SIM_CHECK(weft_scope_go(&me->inner, compute, NULL) == -ECANCELED, "a child was started");
}

static void close_and_poison(weft_scope *s)
{
        int rc = weft_scope_close(s);

        SIM_CHECK(rc == 0 || rc == -ESHUTDOWN, "close returned %d", rc);
        poison(s);
}

static void survive(void *arg)
{
        struct survivor *me = arg;
        enum then        then = (enum then)sim_random(N_THENS);

        foreign_begin();
        open_scope(&me->outer, WEFT_FOREVER);
        start_some(&me->outer);
        open_scope(&me->inner, sim_random(2) ? WEFT_SEC(100) : WEFT_FOREVER);
        start_some(&me->inner);
        weft_sem_release(&opened);
        if (then == WAITS) {
                int rc = wait_for_nothing();

                /* Canceled, if it began to wait only after the end. */
                SIM_CHECK(rc == -ESHUTDOWN || rc == -ECANCELED, "a wait ended with %d", rc);
        }
        if (then == KEEPS)
                while (!ends.over)
                        w_os_sleep_until(w_os_now() + 1000);
        if (then == KEEPS_LONG) {
                await_run(2);
                check_dedicated(me);
        }
        close_and_poison(&me->inner);
        close_and_poison(&me->outer);
}

static void first_run(void *arg)
{
        (void)arg;
        ends.n_runs = 1;
        for (int i = 0; i < N_FOREIGN; i++)
                worker_start(&ends.survivors[i].worker, "survivor", survive, &ends.survivors[i]);
        for (int i = 0; i < N_FOREIGN; i++)
                await_opened();
        sim_work(sim_random(3000));
}

static void second_run(void *arg)
{
        (void)arg;
        ends.n_runs = 2;
        for (int i = 0; i < N_FOREIGN; i++) {
                worker_join(&ends.survivors[i].worker);
                check_poisoned(&ends.survivors[i].inner);
                check_poisoned(&ends.survivors[i].outer);
        }
}

static void end_main(void)
{
        memset(&ends, 0, sizeof(ends));
        sched_run_well(NULL, first_run);
        ends.over = true;
        sched_run_well(NULL, second_run);
        for (int i = 0; i < N_FOREIGN; i++)
                check_poisoned(&ends.survivors[i].outer);
}

SIM_SCENARIO(scope_foreign_end, "runs end under threads that wait, close or keep scopes open",
             end_main, .max_steps = SCHED_MAX_STEPS)
