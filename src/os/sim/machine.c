/* os/sim/machine.c - the simulated machine moves: steps, waiting, virtual time.
 *
 * There is no scheduler loop: an M that reaches a step or starts to wait chooses the next M and
 * switches to it directly.
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/sim/machine.h"

#include "base/assert.h"

#include <stdarg.h>

enum { BUFFERED_AT_MOST_NS = 1000 };    /* real buffers drain in tens of nanoseconds */

struct sim_machine w_sim;

/* ---- Moving the CPU ------------------------------------------------------------------------- */

static bool on_first_stack(const struct sim_m *self)
{
        return (uintptr_t)__builtin_frame_address(0) - (uintptr_t)self->stack < self->stack_size;
}

/* Sets up `here` of self, which runs, for its present stack. */
static void take_entry(struct sim_m *self)
{
        if (on_first_stack(self))
                self->here.san = self->born.san;
        else
                w_fiber_adopt(&self->here);
}

static void let_run(struct sim_m *next)
{
        W_SIM_LOG(next, NULL, "-------- m%u goes on", next->number);
        w_sim.switches++;
        w_sim.stretch = 0;
        w_sim.running = next;
}

static void switch_to(struct sim_m *next)
{
        struct sim_m *self = w_sim.running;

        if (next == self)
                return;
        let_run(next);
        take_entry(self);
        w_fiber_switch(&self->here, &next->here);
        if (self->here.san.adopted)
                w_fiber_destroy(&self->here);
}

void w_sim_end_run(void)
{
        struct sim_m *self = w_sim.running;

        w_sim.running = NULL;
        take_entry(self);
        w_fiber_switch_last(&self->here, &w_sim.hub);
}

void sim_fail(const char *fmt, ...)
{
        char    what[400];
        va_list args;

        va_start(args, fmt);
        vsnprintf(what, sizeof(what), fmt, args);
        va_end(args);
        W_CHECK(w_sim.running, "sim_fail outside a run: %s", what);
        W_SIM_LOG(w_sim.running, NULL, "FAILED   %s", what);
        w_sim_report(what);
        w_sim_end_run();
}

/* ---- Time and readiness --------------------------------------------------------------------- */

void w_sim_become_ready(struct sim_m *m)
{
        m->state = M_READY;
        w_sim.ready |= UINT64_C(1) << m->slot;
        w_sim.reconsider = true;
}

static void ready_the_due(void)
{
        w_sim.next_due_at = W_FOREVER;
        for (uint32_t i = 0; i < w_sim.n_slots; i++) {
                struct sim_m *m = &w_sim.ms[i];

                if (m->state != M_WAITING)
                        continue;
                if (m->due_at <= w_sim.now)
                        w_sim_become_ready(m);
                else if (m->due_at < w_sim.next_due_at)
                        w_sim.next_due_at = m->due_at;
        }
}

void w_sim_set_due(struct sim_m *m, int64_t due_at)
{
        m->due_at = due_at;
        if (due_at < w_sim.next_due_at)
                w_sim.next_due_at = due_at;
}

/* Mostly soon, sometimes long after: each power of two up to 64 us is equally likely. */
int64_t w_sim_lateness(void)
{
        if (!w_sim_chance(w_sim.profile.p_late))
                return 0;
        return (int64_t)w_rand_below(&w_sim.rand, 2u << w_rand_below(&w_sim.rand, 16));
}

/* Time passes without steps only when no M can take one. No store stays buffered that long. */
static void pass_time_until(int64_t at)
{
        if (at - w_sim.now > BUFFERED_AT_MOST_NS)
                for (uint32_t i = 0; i < w_sim.n_slots; i++)
                        w_sim_buffer_drain_all(&w_sim.ms[i]);
        w_sim.now = at;
}

static void wait_for_a_thread(void)
{
        if (w_sim.next_due_at <= w_sim.now)
                ready_the_due();
        while (!w_sim.ready) {
                if (w_sim.next_due_at == W_FOREVER)
                        sim_fail("deadlock: no thread can run and none has a deadline");
                pass_time_until(w_sim.next_due_at);
                ready_the_due();
        }
}

/* ---- Steps ---------------------------------------------------------------------------------- */

void w_sim_step(void)
{
        if (w_sim.steps >= w_sim.max_steps)
                sim_fail("no end within %lu steps: live-lock?", (unsigned long)w_sim.max_steps);
        if (w_sim.on_step)
                w_sim.on_step();
        w_sim.steps++;
        w_sim.stretch++;
        w_sim.now += 1 + w_rand_below(&w_sim.rand, 8);
        if (w_sim.n_buffered && w_sim_chance(w_sim.profile.p_drain))
                w_sim_buffer_drain_some();
        if (w_sim.next_due_at <= w_sim.now)
                ready_the_due();
        switch_to(w_sim_choose_at_step());
        if (W_UNLIKELY(w_sim.running->preempts_at || w_sim.running->is_sent))
                w_sim_preempt_at_step();
        if (W_UNLIKELY(w_sim.scarce_ns))
                w_sim_starve_at_step();
        if (W_UNLIKELY(w_sim.raised))
                w_sim_signals_arrive();
}

void sim_on_step(void (*fn)(void))
{
        w_sim.on_step = fn;
}

void w_sim_call(const char *call)
{
        struct sim_m *self = w_sim.running;

        W_CHECK(self, "%s called outside a simulated run", call);
        self->call = call;
        w_sim_step();
        w_sim.now += 40 + w_rand_below(&w_sim.rand, 200);
        w_sim_buffer_drain_all(self);
}

void w_sim_return(void)
{
        w_sim.running->call = NULL;
}

bool w_sim_wait(int64_t due_at)
{
        struct sim_m *self = w_sim.running;

        self->state = M_WAITING;
        self->woken = false;
        w_sim.ready &= ~(UINT64_C(1) << self->slot);
        w_sim_set_due(self, due_at);
        wait_for_a_thread();
        switch_to(w_sim_choose_other());
        return self->woken;
}

void w_sim_wake(struct sim_m *m)
{
        W_ASSERT(m->state == M_WAITING);
        m->woken = true;
        m->word = NULL;
        w_sim_set_due(m, w_sim.now + w_sim_lateness());
}

void w_sim_give_way(void)
{
        switch_to(w_sim_choose_other());
}

void w_sim_leave_for_good(void)
{
        struct sim_m *self = w_sim.running;

        self->state = M_ENDED;
        w_sim.ready &= ~(UINT64_C(1) << self->slot);
        wait_for_a_thread();
        struct sim_m *next = w_sim_choose_other();

        let_run(next);
        take_entry(self);
        w_fiber_switch_last(&self->here, &next->here);
}
