/* tests/sim/scenario_signal.c - signals hit threads in the middle of anything, and arrive in
 * channels that come and go.
 *
 * test: seeds=quarter
 *
 * SPDX-License-Identifier: MIT
 */
#include "sim/sched_world.h"

#include <errno.h>      /* -EPIPE */
#include <signal.h>     /* sets and numbers */

enum { N_ROUNDS = 6, N_LISTENERS = 3 };


static weft_chan *hear(int a, int b)
{
        sigset_t   set;
        weft_chan *c;

        sigemptyset(&set);
        sigaddset(&set, a);
        sigaddset(&set, b);
        c = weft_signal(&set);
        SIM_CHECK(c, "no channel");
        return c;
}

static void short_while(void)
{
        if (sim_random(3))
                sim_work(sim_random(1u << (1 + sim_random(10))));
}

/* ---- None is lost ---------------------------------------------------------------------------- */

/* Waits for each signal: the next is raised when this one has come. */
static void await_each(void *arg)
{
        (void)arg;
        weft_chan *c = hear(SIGUSR1, SIGUSR2);

        for (int i = 0; i < N_ROUNDS; i++) {
                int raised = sim_random(2) ? SIGUSR1 : SIGUSR2, sig = 0;

                short_while();
                SIM_CHECK(sim_raise(raised), "signal %d is not caught", raised);
                do {
                        int rc = weft_chan_recv(c, &sig);

                        SIM_CHECK(rc == 0, "recv: %d", rc);
                        SIM_CHECK(sig == SIGUSR1 || sig == SIGUSR2, "signal %d", sig);
                } while (sig != raised);        /* others raise theirs */
        }
        SIM_CHECK(weft_chan_close(c) == 0, "close");
        weft_chan_unref(c);
}

static void first(void *arg)
{
        int64_t ids[N_LISTENERS];

        (void)arg;
        for (int i = 0; i < N_LISTENERS; i++)
                ids[i] = sched_go(await_each, NULL);
        for (int i = 0; i < N_LISTENERS; i++)
                sched_join(ids[i]);
        SIM_CHECK(!sim_is_caught(SIGUSR1) && !sim_is_caught(SIGUSR2), "still caught");
}

static void await_main(void)
{
        sched_run_well(NULL, first);
}

SIM_SCENARIO(signal_await, "each signal is waited for by the goroutine that raised it", await_main,
             .max_steps = SCHED_MAX_STEPS)

/* ---- Channels that go ------------------------------------------------------------------------ */

/* The record of a dropped channel is used for the next channel. */
static void stay_empty(void)
{
        weft_chan *c = weft_chan_new(sizeof(int), 16);

        SIM_CHECK(c, "no channel");
        short_while();
        SIM_CHECK(weft_chan_len(c) == 0, "a signal came after its channel had gone");
        weft_chan_unref(c);
}

static void come_and_go(void *arg)
{
        (void)arg;
        for (int i = 0; i < N_ROUNDS; i++) {
                int        sig = 0, mine = sim_random(2) ? SIGUSR1 : SIGHUP;
                weft_chan *c = hear(mine, SIGUSR2);

                SIM_CHECK(sim_is_caught(mine), "signal %d is not caught", mine);
                for (uint32_t n = sim_random(3); n > 0; n--)
                        (void)sim_raise(sim_random(2) ? mine : SIGUSR2);
                short_while();
                int rc = weft_chan_try_recv(c, &sig);

                SIM_CHECK(rc == -EAGAIN || sig == mine || sig == SIGUSR2, "%d: signal %d", rc, sig);
                if (sim_random(2))
                        SIM_CHECK(weft_chan_close(c) == 0, "close");
                weft_chan_unref(c);
                stay_empty();
        }
}

static void go_first(void *arg)
{
        int64_t ids[N_LISTENERS];

        (void)arg;
        for (int i = 0; i < N_LISTENERS; i++)
                ids[i] = sched_go(come_and_go, NULL);
        for (int i = 0; i < N_LISTENERS; i++)
                sched_join(ids[i]);
        SIM_CHECK(!sim_is_caught(SIGUSR1) && !sim_is_caught(SIGHUP), "still caught");
        if (sim_random(2))
                (void)hear(SIGUSR1, SIGUSR2);   /* the end of the run takes it */
}

static void go_main(void)
{
        sched_run_well(NULL, go_first);
}

SIM_SCENARIO(signal_go, "channels are closed and dropped while signals arrive", go_main,
             .max_steps = SCHED_MAX_STEPS)

/* ---- The end, and the dump ------------------------------------------------------------------- */

static void sleep_long(void *arg)
{
        (void)arg;
        (void)weft_sleep(WEFT_SEC(1));
}

static void quit_first(void *arg)
{
        (void)arg;
        (void)sched_go(sleep_long, NULL);
        SIM_CHECK(sim_raise(SIGQUIT), "SIGQUIT is not caught");
        for (int i = 0; i < N_ROUNDS; i++) {
                SIM_CHECK(weft_sleep(sim_random(3000)) == 0, "sleep");
                (void)sim_raise(SIGQUIT);
                short_while();
        }
}

static void quit_main(void)
{
        sched_run_well(NULL, quit_first);
        SIM_CHECK(!sim_is_caught(SIGQUIT), "SIGQUIT is still caught");
}

SIM_SCENARIO(signal_quit, "the goroutines are printed while the run goes on and ends", quit_main,
             .max_steps = SCHED_MAX_STEPS)

/* ---- Refusals -------------------------------------------------------------------------------- */

static void scarce_first(void *arg)
{
        sigset_t set;

        (void)arg;
        sigemptyset(&set);
        sigaddset(&set, SIGUSR1);
        sigaddset(&set, SIGUSR2);
        for (int i = 0; i < N_ROUNDS; i++) {
                weft_chan *c = weft_signal(&set);

                if (!c) {
                        SIM_CHECK(!sim_is_caught(SIGUSR1) && !sim_is_caught(SIGUSR2),
                                  "a channel was refused, and its signals are caught");
                        continue;
                }
                int sig = 0;

                SIM_CHECK(sim_raise(SIGUSR2), "not caught");
                SIM_CHECK(weft_chan_recv(c, &sig) == 0 && sig == SIGUSR2, "signal %d", sig);
                weft_chan_unref(c);
        }
}

static void scarce_main(void)
{
        sched_work_may_wait = true;
        int rc = sched_run(NULL, scarce_first);

        SIM_CHECK(rc <= 0, "sched_run returned %d", rc);
}

SIM_SCENARIO(signal_scarce, "handlers, threads and memory are refused", scarce_main,
             .calls_fail = true, .max_steps = SCHED_MAX_STEPS)
