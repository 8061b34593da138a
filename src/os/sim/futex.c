/* os/sim/futex.c - sleeping on a word. Contract: os/futex.h.
 *
 * A sleep may end spuriously, a wake may take effect late, and a wake picks any of the sleepers.
 * The real call may do all of this, and seldom does in a test.
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/sim/machine.h"

#include <errno.h>      /* ETIMEDOUT */

/* For the log: the expression, if the last access of the M was to the same word. */
static const char *word_name(const struct sim_m *m, const void *word)
{
        return m->last_addr == word && m->last_site ? m->last_site->expr
                                                    : w_sim_value((uintptr_t)word);
}

/* When the sleep ends without a wake. */
int64_t w_sim_spurious_at(int64_t deadline_at)
{
        if (!w_sim_chance(w_sim.profile.p_spurious))
                return deadline_at;
        int64_t at = w_sim.now + w_rand_below(&w_sim.rand, 20000);

        return at < deadline_at ? at : deadline_at;
}

static int sleep_on(struct sim_m *self, w_atomic_u32 *word, uint32_t expected, int64_t deadline_at)
{
        self->word = word;
        self->expected = expected;
        bool woken = w_sim_wait(w_sim_spurious_at(deadline_at));

        self->word = NULL;
        bool late = !woken && w_sim.now >= deadline_at;

        W_SIM_LOG(self, NULL, "futex    ends its sleep: %s",
                  woken ? "woken" : late ? "time is up" : "for no reason");
        return late ? -ETIMEDOUT : 0;
}

int w_os_futex_wait(w_atomic_u32 *word, uint32_t expected, int64_t deadline_at)
{
        int rc = 0;

        w_sim_call("futex wait");
        w_sim_signals_before_sleep();
        struct sim_m *self = w_sim.running;
        uint64_t      holds = w_sim_memory_read(word, sizeof(*word));

        W_SIM_LOG(self, NULL, "futex    %s while %s holds %s (now %s)",
                  holds == expected ? "sleeps" : "does not sleep", word_name(self, word),
                  w_sim_value(expected), w_sim_value(holds));
        if (holds == expected)
                rc = sleep_on(self, word, expected, deadline_at);
        w_sim_return();
        return rc;
}

static struct sim_m *any_sleeper(const void *word)
{
        struct sim_m *found = NULL;
        uint32_t      n = 0;

        for (uint32_t i = 0; i < w_sim.n_slots; i++) {
                struct sim_m *m = &w_sim.ms[i];

                if (m->state == M_WAITING && m->word == word &&
                    w_rand_below(&w_sim.rand, ++n) == 0)
                        found = m;
        }
        return found;
}

int w_os_futex_wake(w_atomic_u32 *word, int n)
{
        int           n_woken = 0;
        struct sim_m *m;

        w_sim_call("futex wake");
        while (n_woken < n && (m = any_sleeper(word))) {
                W_SIM_LOG(w_sim.running, NULL, "futex    wakes m%u on %s", m->number,
                          word_name(m, word));
                w_sim_wake(m);
                n_woken++;
        }
        if (n_woken == 0)
                W_SIM_LOG(w_sim.running, NULL, "futex    wakes no thread on %s",
                          word_name(w_sim.running, word));
        w_sim_return();
        return n_woken;
}
