/* tests/sim/scenario_sched_many.c - waking many at once: all run, at once if a P is idle.
 *
 * Goroutines wait for one event: a channel that is closed, a goroutine that they have joined, a
 * moment, the end of a scope. The waker is a goroutine, a goroutine that ends, the timekeeper or a
 * foreign thread; afterwards it computes for longer than work may wait (I10), and
 * so do many of the woken. Meanwhile others run out of work, and the world stops now and then.
 *
 * test: seeds=quarter
 *
 * SPDX-License-Identifier: MIT
 */
#include "sim/sched_world.h"

#include <errno.h>      /* EPIPE and others */

enum { LONG_NS = 13000000, N_MAX = 6, N_EVENTS = 3 };

enum event { CLOSE, JOIN, MOMENT, CANCEL, N_KINDS };

static struct {
        enum event   kind;
        weft_chan   *c;
        weft_scope   scope;
        int64_t      joined;
        int64_t      at;
        bool         scarce;            /* calls of the system fail: fewer may have started */
        w_atomic_u32 n_waiting;         /* have counted themselves, and are about to sleep */
        w_atomic_u32 brought_about;
} many;

static void short_while(void)
{
        if (sim_random(3))
                sim_work(sim_random(1u << (1 + sim_random(12))));
}

/* ---- Waiters --------------------------------------------------------------------------------- */

static int wait_for_event(void)
{
        uint64_t value;

        switch (many.kind) {
        case CLOSE:
                return weft_chan_recv(many.c, &value) == -EPIPE ? 0 : -1;
        case JOIN:
                return weft_join(many.joined);
        case MOMENT:
                return weft_sleep(many.at - weft_now());
        default:
                return weft_chan_recv(many.c, &value) == -ECANCELED ? 0 : -1;
        }
}

static void wait_and_compute(void)
{
        w_add_rlx(&many.n_waiting, 1);
        int rc = wait_for_event();

        SIM_CHECK(rc == 0, "event %d ended a wait with %d", (int)many.kind, rc);
        if (sim_random(2))
                sim_work(LONG_NS);
        else
                short_while();
}

static void waiter(void *arg)
{
        (void)arg;
        wait_and_compute();
}

static int child(void *arg)
{
        (void)arg;
        wait_and_compute();
        return 0;
}

/* ---- Wakers ---------------------------------------------------------------------------------- */

static void bring_about(void *arg)
{
        (void)arg;
        short_while();
        if (many.kind == CLOSE)
                SIM_CHECK(weft_chan_close(many.c) == 0, "the channel is closed already");
        else if (many.kind == CANCEL)
                weft_scope_cancel(&many.scope);
        w_add_rlx(&many.brought_about, 1);              /* not a store: seen at once */
        if (sim_random(2))
                sim_work(LONG_NS);
}

static void bring_about_from_afar(void *arg)
{
        foreign_begin();
        bring_about(arg);
}

/* Is joined; its end is the event. */
static void joined(void *arg)
{
        uint32_t n = (uint32_t)(uintptr_t)arg;

        for (int i = 0; i < 20 && w_load_rlx(&many.n_waiting) < n; i++)
                weft_yield();
        short_while();
}

static void checker(void *arg)
{
        (void)arg;
        for (uint32_t n = sim_random(3); n > 0; n--) {
                short_while();
                SIM_CHECK(weft_check() == 0, "weft_check failed");
        }
        if (sim_random(2))
                sim_work(LONG_NS);
}

/* ---- One event ------------------------------------------------------------------------------- */

static int64_t start(void (*fn)(void *), void *arg)
{
        int64_t id = weft_go(fn, arg);

        SIM_CHECK(id > 0 || (many.scarce && id == -ENOMEM), "weft_go returned %ld", (long)id);
        return id;
}

static void join_if(int64_t id)
{
        if (id > 0)
                sched_join(id);
}

static void begin_event(uint32_t n)
{
        many.kind = (enum event)sim_random(N_KINDS);
        w_store_rlx(&many.n_waiting, 0);
        w_store_rlx(&many.brought_about, 0);
        many.at = weft_now() + 2000 + sim_random(100000);
        if (many.kind == CLOSE || many.kind == CANCEL) {
                many.c = weft_chan_new(sizeof(uint64_t), 0);
                if (!many.c)
                        many.kind = MOMENT;
        }
        if (many.kind == JOIN) {
                many.joined = start(joined, (void *)(uintptr_t)n);
                if (many.joined < 0)
                        many.kind = MOMENT;
        }
        if (many.kind == CANCEL)
                SIM_CHECK(weft_scope_open(&many.scope, WEFT_FOREVER) == 0, "no scope");
}

static void start_waiters(int64_t ids[], uint32_t n)
{
        for (uint32_t i = 0; i < n; i++) {
                ids[i] = 0;
                if (many.kind != CANCEL)
                        ids[i] = start(waiter, NULL);
                else if (weft_scope_go(&many.scope, child, NULL) < 0)
                        SIM_CHECK(many.scarce, "no child");
                short_while();
        }
}

/* The opener is in the scope too: until it is closed nothing else can be waited for. It must not be
 * closed before it was cancelled, with children or without. */
static void close_scope(void)
{
        for (; !w_load_rlx(&many.brought_about); sim_work(LONG_NS / 16))
                weft_yield();
        (void)weft_scope_close(&many.scope);
}

static void one_event(void)
{
        uint32_t      n = 1 + sim_random(N_MAX);
        int64_t       ids[N_MAX + 2] = { 0 };
        struct worker thread;
        bool          from_afar = sim_random(3) == 0;

        begin_event(n);
        start_waiters(ids, n);
        ids[n] = start(checker, NULL);
        if (from_afar)
                from_afar = worker_try_start(&thread, "foreign", bring_about_from_afar, NULL) == 0;
        if (!from_afar)
                ids[n + 1] = start(bring_about, NULL);
        if (!from_afar && ids[n + 1] < 0)
                bring_about(NULL);
        if (sim_random(2))
                sim_work(LONG_NS);
        if (many.kind == CANCEL)
                close_scope();
        for (uint32_t i = 0; i < N_MAX + 2; i++)
                join_if(ids[i]);
        if (from_afar)
                worker_join(&thread);
        if (many.kind == CANCEL || many.kind == CLOSE)
                weft_chan_unref(many.c);
}

static void first(void *arg)
{
        (void)arg;
        for (int i = 0; i < N_EVENTS; i++)
                one_event();
}

static void many_main(void)
{
        weft_config cfg = { .idle_ms = 1 };

        many.scarce = false;
        sched_run_well(sim_random(2) ? &cfg : NULL, first);
}

SIM_SCENARIO(sched_many, "one event wakes many, while others run out of work", many_main,
             .max_steps = SCHED_MAX_STEPS)

static void many_scarce_main(void)
{
        weft_config cfg = { .idle_ms = 1 };

        many.scarce = true;
        sched_work_may_wait = true;
        (void)sched_run(&cfg, first);
}

SIM_SCENARIO(sched_many_scarce, "the same, and threads and memory are refused now and then",
             many_scarce_main, .calls_fail = true, .max_steps = SCHED_MAX_STEPS)
