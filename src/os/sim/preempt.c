/* os/sim/preempt.c - timers on the CPU time of simulated threads, and signals to one thread.
 * Contract: os/preempt.h.
 *
 * CPU time is the time that sim_work() spends. A timer that has run down interrupts its thread at a
 * seeded moment soon after: in the middle of the work, or at any step, in weft's own code too. A
 * signal that is sent arrives in the same places, and also while its thread sleeps.
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/sim/machine.h"

#include <errno.h>      /* EAGAIN and others */

enum { PREEMPTS_AT_STEP = 24, SENT_AT_STEP = 256, SAFEPOINT = 768 };  /* chances of 1024 */

int w_os_preempt_watch(int signo, void (*on_preempt)(const struct w_os_regs *regs,
                                                    enum w_os_preempt_cause why))
{
        w_sim_call("preempt watch");
        w_sim.preempt_signal = signo;
        int rc = w_sim_fails() ? -EBUSY : 0;

        if (rc == 0)
                w_sim.on_preempt = on_preempt;
        w_sim_return();
        return rc;
}

bool w_os_preempt_is_watched(void)
{
        return w_sim.on_preempt != NULL;
}

void w_os_preempt_unwatch(void)
{
        w_sim_call("preempt unwatch");
        w_sim.on_preempt = NULL;
        w_sim_return();
}

bool w_os_is_safepoint(const void *pc)
{
        (void)pc;
        return w_sim_chance(SAFEPOINT);
}

/* ---- Timers ---------------------------------------------------------------------------------- */

static struct sim_m *m_of(int tid)
{
        for (uint32_t i = 0; i < w_sim.n_slots; i++)
                if (w_sim.ms[i].state != M_FREE && w_sim_tid(&w_sim.ms[i]) == tid)
                        return &w_sim.ms[i];
        return NULL;
}

int w_os_cpu_timer_make(struct w_os_cpu_timer *timer, int tid)
{
        w_sim_call("timer make");
        struct sim_m *m = m_of(tid);
        bool          made = !w_sim_fails() && m;

        if (made)
                m->n_timers++;
        *timer = (struct w_os_cpu_timer){ .made = made, .id = tid };
        w_sim_return();
        return made ? 0 : -EAGAIN;
}

void w_os_cpu_timer_arm(const struct w_os_cpu_timer *timer, int64_t ns)
{
        if (!timer->made)
                return;
        w_sim_call("timer arm");
        struct sim_m *m = m_of(timer->id);

        SIM_CHECK(m, "a timer of a thread that has ended is armed");
        W_SIM_LOG(w_sim.running, NULL, "timer    of m%u in %ld ns", m->number, (long)ns);
        m->preempts_at = m->run + ns;
        w_sim_return();
}

void w_os_cpu_timer_delete(struct w_os_cpu_timer *timer)
{
        struct sim_m *m = timer->made ? m_of(timer->id) : NULL;

        if (m) {
                m->preempts_at = 0;
                m->n_timers--;
        }
        *timer = (struct w_os_cpu_timer){ 0 };
}

/* ---- One thread ------------------------------------------------------------------------------ */

static bool is_blocked(const struct sim_m *m)
{
        return m->mask.bits[0] & W_SIG_BIT(w_sim.preempt_signal);
}

/* A thread that sleeps or works is interrupted at once, a thread that waits for a CPU is not. */
static void disturb(struct sim_m *m)
{
        if (m->state == M_WAITING && !is_blocked(m) && (m->works || m->sleeps || m->word))
                w_sim_set_due(m, w_sim.now + w_sim_lateness());
}

int w_os_preempt_send(int tid)
{
        w_sim_call("preempt send");
        struct sim_m *m = m_of(tid);
        bool          sent = !w_sim_fails();

        SIM_CHECK(m && m->state != M_ENDED, "a signal is sent to a thread that has ended");
        W_SIM_LOG(w_sim.running, NULL, "signal   %ssent to m%u", sent ? "" : "not ", m->number);
        if (sent) {
                m->is_sent = true;
                disturb(m);
        }
        w_sim_return();
        return sent ? 0 : -EAGAIN;
}

int w_os_signal_is_blocked(int tid, int signo)
{
        w_sim_call("signal is blocked");
        const struct sim_m *m = m_of(tid);
        int rc = w_sim_fails() ? -EMFILE : !m ? -ENOENT :
                 m->in_preempt || (m->mask.bits[0] & W_SIG_BIT(signo)) != 0;

        w_sim_return();
        return rc;
}

const char sim_handler_stack[1];

int w_os_thread_state(int tid, struct w_os_thread_state *out)
{
        w_sim_call("sight");
        const struct sim_m *m = m_of(tid);
        int rc = w_sim_fails() ? -EMFILE : !m ? -ENOENT : 0;

        if (m) {
                bool waits = m->word || (!m->in_preempt && (m->sleeps || m->joining));
                bool for_ever = m->word && m->due_at == W_FOREVER;

                *out = (struct w_os_thread_state){ .computes = !waits,
                                            .goes_on = for_ever || (m->sleeps && w_sim_chance(512)),
                                            .sp = m->in_preempt ? sim_handler_stack : NULL };
        }
        w_sim_return();
        return rc;
}

void w_os_code_learn(void)
{
}

bool w_os_is_code(const void *addr)
{
        (void)addr;
        return false;
}

bool w_os_is_return_address(const void *addr)
{
        (void)addr;
        return false;
}

bool w_os_code_find(const void *addr, struct w_os_symbol *out)
{
        (void)addr, (void)out;
        return false;
}

/* ---- Interrupting ---------------------------------------------------------------------------- */

static void run_handler(struct sim_m *self, enum w_os_preempt_cause why)
{
        static const struct w_os_regs nowhere;
        const char *call = self->call;

        self->in_preempt = true;
        w_sim.on_preempt(&nowhere, why);
        self->in_preempt = false;
        self->call = call;
}

void w_sim_preempt(void)
{
        struct sim_m *self = w_sim.running;

        if (self->in_preempt || !w_sim.on_preempt || self->run < self->preempts_at - 1)
                return;
        W_SIM_LOG(self, NULL, "timer    signals");
        self->preempts_at = 0;
        run_handler(self, W_PREEMPT_BY_TIMER);
}

void w_sim_preempt_sent(void)
{
        struct sim_m *self = w_sim.running;

        if (self->in_preempt || !w_sim.on_preempt || is_blocked(self))
                return;
        W_SIM_LOG(self, NULL, "signal   arrives");
        self->is_sent = false;
        run_handler(self, W_PREEMPT_BY_SEND);
}

void w_sim_preempt_at_step(void)
{
        const struct sim_m *self = w_sim.running;

        if (self->call)
                return;
        if (self->preempts_at && w_sim_chance(PREEMPTS_AT_STEP))
                w_sim_preempt();
        if (self->is_sent && w_sim_chance(SENT_AT_STEP))
                w_sim_preempt_sent();
}
