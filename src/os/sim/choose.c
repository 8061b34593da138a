/* os/sim/choose.c - which M runs next: three strategies, because none finds every bug alone.
 *
 *   BY_CHANCE    before each step, with a chance drawn per run, any READY M: many small mixes.
 *   BY_SLICE     one M runs for long, then any READY M: one party far ahead of or behind the rest.
 *   BY_PRIORITY  the READY M with the highest random priority runs; at a few random steps the
 *                running M falls below all others. This is the idea of probabilistic concurrency
 *                testing: the chance to find a bug that needs d ordering constraints falls only
 *                with the (d - 1)th power of the number of steps.
 *
 * No M runs longer than `patience` steps while another M is READY: a loop that waits for another M
 * must end under every strategy.
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/sim/machine.h"

static uint32_t draw(uint32_t low, uint32_t high)
{
        return low + w_rand_below(&w_sim.rand, high - low + 1);
}

/* Log-uniform: every power of two in [low, high] is equally likely. */
static uint32_t draw_scale(uint32_t low, uint32_t high)
{
        uint32_t n = (uint32_t)(__builtin_clz(low) - __builtin_clz(high));

        return low << w_rand_below(&w_sim.rand, n + 1);
}

void w_sim_profile_draw(const struct sim_config *config)
{
        struct sim_profile *p = &w_sim.profile;

        p->strategy = (enum sim_strategy)w_rand_below(&w_sim.rand, 3);
        p->p_switch = draw_scale(16, 512);
        p->slice = draw_scale(8, 256);
        p->patience = draw_scale(64, 1024);
        p->p_drain = draw_scale(16, 512);
        p->weak = w_sim_chance(300) && !config->no_weak;
        p->p_spurious = w_sim_chance(512) && !config->no_spurious ? draw(20, 300) : 0;
        p->p_late = w_sim_chance(700) && !config->no_late ? draw(50, 900) : 0;
        p->p_fail = w_sim_chance(700) && config->calls_fail ? draw(20, 400) : 0;
        uint32_t span = draw_scale(64, 4096);
        uint32_t n = draw(1, N_CHANGES);

        for (uint32_t i = 0; i < N_CHANGES; i++)
                w_sim.changes[i] = i < n ? 1 + w_rand_below(&w_sim.rand, span) : 0;
        w_sim.lowest = 1u << 30;
        w_sim.slice_left = p->slice;
}

static struct sim_m *nth_ready(uint64_t set, uint32_t n)
{
        while (n--)
                set &= set - 1;
        return &w_sim.ms[__builtin_ctzll(set)];
}

static struct sim_m *any_thread(uint64_t set)
{
        return nth_ready(set, w_rand_below(&w_sim.rand, (uint32_t)__builtin_popcountll(set)));
}

static struct sim_m *highest(void)
{
        struct sim_m *best = NULL;

        for (uint64_t set = w_sim.ready; set; set &= set - 1) {
                struct sim_m *m = &w_sim.ms[__builtin_ctzll(set)];

                if (!best || m->priority > best->priority)
                        best = m;
        }
        return best;
}

static void demote(struct sim_m *m)
{
        m->priority = w_sim.lowest--;
        w_sim.reconsider = true;
}

static struct sim_m *choose_by_priority(void)
{
        for (uint32_t i = 0; i < N_CHANGES; i++)
                if (w_sim.changes[i] == w_sim.steps)
                        demote(w_sim.running);
        if (!w_sim.reconsider)
                return w_sim.running;
        w_sim.reconsider = false;
        return highest();
}

static struct sim_m *choose_by_slice(void)
{
        if (w_sim.slice_left-- > 0)
                return w_sim.running;
        w_sim.slice_left = w_rand_below(&w_sim.rand, 2 * w_sim.profile.slice);
        return any_thread(w_sim.ready);
}

struct sim_m *w_sim_choose_at_step(void)
{
        if ((w_sim.ready & (w_sim.ready - 1)) == 0)
                return w_sim.running;           /* no other M is READY */
        if (w_sim.stretch > w_sim.profile.patience)
                return w_sim_choose_other();
        switch (w_sim.profile.strategy) {
        case BY_CHANCE:
                return w_sim_chance(w_sim.profile.p_switch) ? any_thread(w_sim.ready)
                                                            : w_sim.running;
        case BY_SLICE:
                return choose_by_slice();
        case BY_PRIORITY:
                return choose_by_priority();
        }
        __builtin_unreachable();
}

struct sim_m *w_sim_choose_other(void)
{
        uint64_t others = w_sim.ready & ~(UINT64_C(1) << w_sim.running->slot);

        if (!others)
                return w_sim.running;
        w_sim.slice_left = w_rand_below(&w_sim.rand, 2 * w_sim.profile.slice);
        if (w_sim.profile.strategy != BY_PRIORITY)
                return any_thread(others);
        if (w_sim.running->state == M_READY)
                demote(w_sim.running);
        w_sim.reconsider = false;
        return highest();
}
