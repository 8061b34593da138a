/* tests/sim/scenario_select.c - PROTOCOL select with the whole scheduler.
 *
 * Selectors with different orders of the same channels, both ends of one channel, joins, deadlines
 * and a scope that is cancelled; plain partners. Every value is received once, every select ends
 * with one case, and no record is left in a wait queue.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sim/sched_world.h"

#include <errno.h>      /* EPIPE and others */
#include <string.h>

enum { N_CHANS = 2, VALUES = 3, N_SELECTORS = 3 };

static struct {
        weft_chan   *c[N_CHANS];
        weft_chan   *mixed;             /* selectors both send and receive here */
        weft_scope   scope;
        int64_t      short_lived;
        uint32_t     n_received[N_CHANS][VALUES];
        uint32_t     n_mixed_out, n_mixed_in;
        bool         sent[N_CHANS][VALUES];
} sel;

static void producer(void *arg)
{
        uint32_t me = (uint32_t)(uintptr_t)arg;

        for (uint64_t i = 0; i < VALUES; i++) {
                int rc = weft_chan_send(sel.c[me], &i);

                SIM_CHECK(rc == 0 || rc == -EPIPE, "a producer got %d", rc);
                sel.sent[me][i] = rc == 0;
        }
}

static void short_lived(void *arg)
{
        (void)arg;
        if (sim_random(2))
                weft_yield();
}

/* One select over everything; true: go on. */
static bool select_once(weft_case *cs, uint64_t *value, bool may_be_cancelled)
{
        int i = weft_select(cs, 6);

        if (i == -ECANCELED && may_be_cancelled)
                return false;
        SIM_CHECK(i >= 0 && i < 6, "select returned %d", i);
        int result = cs[i].result;

        if (i < N_CHANS) {
                if (result == -EPIPE) {
                        SIM_CHECK(*value == 0, "closed, and %lu", (unsigned long)*value);
                        cs[i] = WEFT_RECV(NULL, NULL);
                } else {
                        SIM_CHECK(*value < VALUES, "received %lu", (unsigned long)*value);
                        sel.n_received[i][*value]++;
                }
        } else if (i == 2 || i == 3) {
                sel.n_mixed_out += i == 2 && result == 0;
                sel.n_mixed_in += i == 3 && result == 0;
                SIM_CHECK(result == 0 || result == -EPIPE, "result %d", result);
                cs[2] = cs[3] = WEFT_RECV(NULL, NULL);
        } else {
                SIM_CHECK(result == 0, "result %d of case %d", result, i);
                cs[i] = WEFT_RECV(NULL, NULL);
        }
        return true;
}

/* A selector ends when both channels are closed. */
static void select_all(uint32_t me, bool may_be_cancelled)
{
        uint64_t  value = 99, mine = me, other;
        weft_case cs[6] = { WEFT_RECV(sel.c[0], &value), WEFT_RECV(sel.c[1], &value),
                            WEFT_SEND(sel.mixed, &mine), WEFT_RECV(sel.mixed, &other),
                            WEFT_JOIN(sel.short_lived), WEFT_AFTER(300 + sim_random(2000)) };

        if (sim_random(2))
                cs[5] = WEFT_RECV(NULL, NULL);
        while (cs[0].opaque[1] || cs[1].opaque[1])
                if (!select_once(cs, &value, may_be_cancelled))
                        return;
}

static void selector(void *arg)
{
        select_all((uint32_t)(uintptr_t)arg, false);
}

static int selector_in_scope(void *arg)
{
        (void)arg;
        select_all(77, true);
        return 0;
}

static void foreign_selector(void *arg)
{
        (void)arg;
        foreign_begin();
        select_all(88, false);
}

static void check_conserved(void)
{
        for (uint32_t c = 0; c < N_CHANS; c++)
                for (uint32_t i = 0; i < VALUES; i++)
                        SIM_CHECK(sel.n_received[c][i] == sel.sent[c][i],
                                  "value %u of channel %u: sent %d, received %u times", i, c,
                                  (int)sel.sent[c][i], sel.n_received[c][i]);
        SIM_CHECK(sel.n_mixed_in == sel.n_mixed_out, "%u in, %u out", sel.n_mixed_in,
                  sel.n_mixed_out);
}

static void first(void *arg)
{
        int64_t       ids[N_CHANS + N_SELECTORS - 1];
        struct worker thread;
        int           n = 0;

        (void)arg;
        memset(&sel, 0, sizeof(sel));
        sel.mixed = weft_chan_new(sizeof(uint64_t), 0);
        for (int i = 0; i < N_CHANS; i++)
                sel.c[i] = weft_chan_new(sizeof(uint64_t), sim_random(2));
        SIM_CHECK(sel.mixed && sel.c[0] && sel.c[1], "no channel");
        sel.short_lived = sched_go(short_lived, NULL);
        SIM_CHECK(weft_scope_open(&sel.scope, WEFT_FOREVER) == 0, "no scope");
        SIM_CHECK(weft_scope_go(&sel.scope, selector_in_scope, NULL) > 0, "no child");
        worker_start(&thread, "selector", foreign_selector, NULL);
        for (uintptr_t i = 0; i < N_CHANS; i++)
                ids[n++] = sched_go(producer, (void *)i);
        for (uintptr_t i = 1; i < N_SELECTORS; i++)
                ids[n++] = sched_go(selector, (void *)i);
        sim_work(sim_random(2000));
        weft_scope_cancel(&sel.scope);
        SIM_CHECK(weft_scope_close(&sel.scope) == 0, "a child failed");
        for (int i = 0; i < N_CHANS; i++) {
                sched_join(ids[i]);
                SIM_CHECK(weft_chan_close(sel.c[i]) == 0, "closed twice");
        }
        for (int i = N_CHANS; i < n; i++)
                sched_join(ids[i]);
        worker_join(&thread);
        check_conserved();
        for (int i = 0; i < N_CHANS; i++)
                weft_chan_unref(sel.c[i]);
        weft_chan_unref(sel.mixed);     /* all of which check that no waiter is left */
}

static void select_main(void)
{
        sched_run_well(NULL, first);
}

SIM_SCENARIO(select_all, "selects of sends, receives, joins, times, a scope; nothing lost",
             select_main, .max_steps = SCHED_MAX_STEPS)

/* ---- One moment ------------------------------------------------------------------------------ */

static struct {
        weft_chan *c[2];
        bool       closes;
} moment;

/* There is something in one of them at every moment. */
static void look_at_both(void *arg)
{
        uint64_t  value;
        weft_case cs[] = { WEFT_RECV(moment.c[0], &value), WEFT_RECV(moment.c[1], &value),
                           WEFT_DEFAULT };

        (void)arg;
        SIM_CHECK(weft_select(cs, 3) != 2, "a default with something ready at every moment");
}

static void moment_first(void *arg)
{
        uint64_t value = 1;

        (void)arg;
        moment.closes = sim_random(2);
        for (int i = 0; i < 2; i++)
                moment.c[i] = weft_chan_new(sizeof(uint64_t), 1);
        SIM_CHECK(weft_chan_send(moment.c[0], &value) == 0, "no room");
        int64_t id = sched_go(look_at_both, NULL);

        sim_work(sim_random(300));
        int rc = moment.closes ? weft_chan_close(moment.c[1]) : weft_chan_send(moment.c[1], &value);

        SIM_CHECK(rc == 0, "got %d", rc);
        (void)weft_chan_try_recv(moment.c[0], &value);
        sched_join(id);
        weft_chan_unref(moment.c[0]);
        weft_chan_unref(moment.c[1]);
}

static void moment_main(void)
{
        sched_run_well(NULL, moment_first);
}

SIM_SCENARIO(select_moment, "a default is taken only if nothing was ready at one moment",
             moment_main, .max_steps = SCHED_MAX_STEPS)

/* ---- The order of locks ---------------------------------------------------------------------- */

static weft_chan *crossed[3];

/* Each selector names the channels in its own order, and always has something to do. */
static void cross(void *arg)
{
        uint32_t  me = (uint32_t)(uintptr_t)arg;
        uint64_t  value = me;
        weft_case cs[] = { WEFT_RECV(crossed[me % 3], &value),
                           WEFT_SEND(crossed[(me + 1) % 3], &value),
                           WEFT_RECV(crossed[(me + 2) % 3], &value), WEFT_DEFAULT };

        for (int i = 0; i < 3; i++)
                SIM_CHECK(weft_select(cs, 4) >= 0, "refused");
}

static void order_first(void *arg)
{
        int64_t ids[3];

        (void)arg;
        for (int i = 0; i < 3; i++)
                crossed[i] = weft_chan_new(sizeof(uint64_t), 0);
        for (uintptr_t i = 0; i < 3; i++)
                ids[i] = sched_go(cross, (void *)i);
        for (int i = 0; i < 3; i++)
                sched_join(ids[i]);
        for (int i = 0; i < 3; i++)
                weft_chan_unref(crossed[i]);
}

static void order_main(void)
{
        sched_run_well(NULL, order_first);
}

SIM_SCENARIO(select_order, "selects name the same channels in different orders", order_main,
             .max_steps = SCHED_MAX_STEPS)

/* ---- Joins ----------------------------------------------------------------------------------- */

static int64_t    ending[3];
static weft_chan *never;

static void end_soon(void *arg)
{
        (void)arg;
        if (sim_random(2))
                sim_work(sim_random(200));
}

/* Until all have ended, whichever is first; with a new frame each time. */
static W_NOINLINE void await_one(int64_t *ids)
{
        weft_case cs[] = { WEFT_JOIN(ids[0]), WEFT_JOIN(ids[1]), WEFT_RECV(never, NULL),
                           WEFT_JOIN(ids[2]), WEFT_JOIN(ids[0]) };
        int       i = weft_select(cs, 5);

        SIM_CHECK(i >= 0 && i != 2, "select returned %d", i);
        SIM_CHECK(cs[i].result == 0, "result %d", cs[i].result);
        int64_t id = ids[i == 4 ? 0 : i == 3 ? 2 : i];

        SIM_CHECK(weft_join(id) == 0, "what had ended has not");
        memset(cs, 0x5a, sizeof(cs));
        __asm__ volatile("" ::"r"(cs) : "memory");
}

static void awaiter(void *arg)
{
        (void)arg;
        await_one(ending);
        await_one(ending);
}

static void joins_first(void *arg)
{
        int64_t ids[2];

        (void)arg;
        never = weft_chan_new(0, 0);
        for (int i = 0; i < 3; i++)
                ending[i] = sched_go(end_soon, NULL);
        for (int i = 0; i < 2; i++)
                ids[i] = sched_go(awaiter, NULL);
        for (int i = 0; i < 2; i++)
                sched_join(ids[i]);
        for (int i = 0; i < 3; i++)
                sched_join(ending[i]);
        weft_chan_unref(never);
}

static void joins_main(void)
{
        sched_run_well(NULL, joins_first);
}

SIM_SCENARIO(select_joins, "selects wait for the first of several goroutines to end", joins_main,
             .max_steps = SCHED_MAX_STEPS)
