/* tests/sim/scenario_timeouts.c - virtual time: deadlines are exact, and hours cost nothing.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/note.h"
#include "sim/scenario.h"

#include <errno.h>      /* ETIMEDOUT */

enum { N_SLEEPERS = 3, N_ROUNDS = 40 };

static const int64_t HOUR_NS = INT64_C(3600) * 1000 * 1000 * 1000;

static struct note note;

static int64_t some_deadline(void)
{
        static const int64_t spans[] = { -50, 0, 40, 3000, 700000 };

        return w_os_now() + spans[sim_random(W_ARRAY_LEN(spans))];
}

static void sleep_and_check(void *arg)
{
        w_atomic_u32 never = W_ATOMIC_INIT(0);

        (void)arg;
        for (int i = 0; i < N_ROUNDS; i++) {
                int64_t at = some_deadline();
                int     rc = 0;

                if (sim_random(2)) {
                        w_os_sleep_until(at);
                } else {
                        while (rc == 0)
                                rc = w_os_futex_wait(&never, 0, at);
                        SIM_CHECK(rc == -ETIMEDOUT, "a wait without a waker says %d", rc);
                }
                int64_t now = w_os_now();

                SIM_CHECK(now >= at, "slept until %ld, woke at %ld", (long)at, (long)now);
        }
}

static void wake_after_an_hour(void *arg)
{
        (void)arg;
        w_os_sleep_until(w_os_now() + HOUR_NS);
        w_note_wake(&note);
}

static void timeouts_main(void)
{
        struct worker sleepers[N_SLEEPERS], waker;
        int64_t       began = w_os_now();

        note.word.raw = 0;
        worker_start(&waker, "waker", wake_after_an_hour, NULL);
        for (int i = 0; i < N_SLEEPERS; i++)
                worker_start(&sleepers[i], "sleeper", sleep_and_check, NULL);
        SIM_CHECK(!w_note_sleep_until(&note, began + HOUR_NS / 2), "woken half an hour early");
        w_note_sleep(&note);
        SIM_CHECK(w_os_now() - began >= HOUR_NS, "the hour took %ld ns",
                  (long)(w_os_now() - began));
        worker_join(&waker);
        for (int i = 0; i < N_SLEEPERS; i++)
                worker_join(&sleepers[i]);
        SIM_CHECK(w_os_now() - began < 2 * HOUR_NS, "time ran away");
}

SIM_SCENARIO(timeouts, "sleeps and futex waits with deadlines, past, near and far", timeouts_main,
             SIM_USUAL)

/* ---- Broken --------------------------------------------------------------------------------- */

/* A span in place of a point in time: right only while the clock stands near zero. */
static void timeouts_relative_main(void)
{
        w_atomic_u32 never = W_ATOMIC_INIT(0);

        sim_work(sim_random(10000));
        int64_t began = w_os_now();

        while (w_os_futex_wait(&never, 0, 5000) == 0) {}
        SIM_CHECK(w_os_now() - began >= 5000, "waited %ld of 5000 ns",
                  (long)(w_os_now() - began));
}

SIM_MUTANT(timeouts_relative, "a span is passed for a deadline", timeouts_relative_main, SIM_USUAL)
