/* os/sim/signal.c - caught signals. Contract: os/signal.h.
 *
 * A signal of sim_raise() hits a thread that does not block it, before any of the thread's next
 * steps. At the latest it hits a thread that is about to sleep on a word or in the poller. It may
 * also hit a thread that sleeps there, and wake it. A second signal of the same number before that
 * is merged with the first.
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/sim/machine.h"

#include "os/sigset.h"

#include <errno.h>      /* EINVAL */

/* ---- Catching ------------------------------------------------------------------------------- */

int w_os_signal_catch(int sig, bool (*on_arrival)(int sig))
{
        int rc = -EINVAL;

        w_sim_call("signal catch");
        SIM_CHECK(!(w_sim.caught & W_SIG_BIT(sig)), "signal %d is caught twice", sig);
        if (!w_sim_fails()) {
                w_sim.on_arrival = on_arrival;
                w_sim.caught |= W_SIG_BIT(sig);
                rc = 0;
        }
        W_SIM_LOG(w_sim.running, NULL, "signal   %d is %scaught", sig, rc < 0 ? "not " : "");
        w_sim_return();
        return rc;
}

void w_os_signal_release(int sig)
{
        w_sim_call("signal release");
        SIM_CHECK(w_sim.caught & W_SIG_BIT(sig), "signal %d is released, and was not caught", sig);
        w_sim.caught &= ~W_SIG_BIT(sig);
        W_SIM_LOG(w_sim.running, NULL, "signal   %d is released", sig);
        w_sim_return();
}

bool w_os_signal_is_ignored(int sig)
{
        (void)sig;
        return false;
}

/* ---- Arriving ------------------------------------------------------------------------------- */

/* The handler takes steps of its own, at which other threads may run. */
static void hit(struct sim_m *self, int sig)
{
        const char *call = self->call;

        W_SIM_LOG(self, NULL, "signal   %d arrives", sig);
        self->in_handler = true;
        (void)w_sim.on_arrival(sig);
        self->in_handler = false;
        self->call = call;
}

static uint64_t waiting_for(const struct sim_m *self)
{
        return self->in_handler ? 0 : w_sim.raised & ~self->mask.bits[0];
}

static void arrive(struct sim_m *self)
{
        int sig = __builtin_ctzll(waiting_for(self)) + 1;

        w_sim.raised &= ~W_SIG_BIT(sig);
        if (w_sim.caught & W_SIG_BIT(sig))
                hit(self, sig);
}

void w_sim_signals_arrive(void)
{
        if (waiting_for(w_sim.running) && w_sim_chance(256))
                arrive(w_sim.running);
}

void w_sim_signals_before_sleep(void)
{
        while (waiting_for(w_sim.running))
                arrive(w_sim.running);
}

/* Wakes a thread that sleeps on a word, as if spuriously. */
static void disturb_sleeper(uint64_t bit)
{
        uint32_t from = w_rand_below(&w_sim.rand, w_sim.n_slots);

        for (uint32_t i = 0; i < w_sim.n_slots; i++) {
                struct sim_m *m = &w_sim.ms[(from + i) % w_sim.n_slots];

                if (m->state != M_WAITING || !m->word || (m->mask.bits[0] & bit))
                        continue;
                w_sim_set_due(m, w_sim.now + w_sim_lateness());
                return;
        }
}

bool sim_raise(int sig)
{
        if (!(w_sim.caught & W_SIG_BIT(sig)))
                return false;
        W_SIM_LOG(w_sim.running, NULL, "signal   %d is raised", sig);
        w_sim.raised |= W_SIG_BIT(sig);
        disturb_sleeper(W_SIG_BIT(sig));
        return true;
}

bool sim_is_caught(int sig)
{
        return w_sim.caught & W_SIG_BIT(sig);
}
