/* os/sim/cpu_usage.c - the CPU time of a simulated thread. Contract: os/thread_state.h.
 *
 * Every thread has a CPU of its own. It waits for a CPU only where a scenario says so (sim_starve),
 * or at any step while the scenario has made CPUs scarce. As in real kernels a wait counts when it
 * is over.
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/sim/machine.h"

#include "base/assert.h"

#include <errno.h>      /* EMFILE, ESRCH */

enum {
        STARVES_AT_STEP = 8,    /* chances of 1024 */
        STARVES_PREEMPTED = 64,
        TIMEOUT_NS = 2000,
};

static struct sim_m *m_of(int tid)
{
        for (uint32_t i = 0; i < w_sim.n_slots; i++) {
                struct sim_m *m = &w_sim.ms[i];

                if (m->state != M_FREE && m->state != M_ENDED &&
                    w_sim_tid(m) == tid)
                        return m;
        }
        return NULL;
}

/* Numbers of threads are not used twice, so they can serve as descriptors. */
int w_os_cpu_usage_open(int tid)
{
        w_sim_call("use open");
        int rc = w_sim_fails() ? -EMFILE : m_of(tid) ? tid : -ENOENT;

        w_sim.n_usage_fds += rc >= 0;
        w_sim_return();
        return rc;
}

int w_os_cpu_usage_read(int fd, struct w_os_cpu_usage *out)
{
        w_sim_call("use read");
        int64_t             late = w_sim_lateness();
        const struct sim_m *m = m_of(fd);
        int                 rc = m ? 0 : -ESRCH;

        if (m)
                *out = (struct w_os_cpu_usage){
                        .run = m->run + (m->works ? w_sim.now - m->works_since : 0),
                        .wait = m->wait,
                };
        if (late)
                (void)w_sim_wait(w_sim.now + late);     /* outdated when it arrives */
        w_sim_return();
        return rc;
}

void w_os_cpu_usage_close(int fd)
{
        (void)fd;
        w_sim_call("use close");
        SIM_CHECK(w_sim.n_usage_fds > 0, "a descriptor is closed that was not opened");
        w_sim.n_usage_fds--;
        w_sim_return();
}

int w_os_thread_is_ready(int tid)
{
        w_sim_call("use is ready");
        const struct sim_m *m = m_of(tid);
        int rc = w_sim_fails() ? -EMFILE : !m ? -ESRCH :
                 m->state == M_READY || m->works || m->starves;

        w_sim_return();
        return rc;
}

static void starve(struct sim_m *self, int64_t ns)
{
        int64_t from = w_sim.now;

        W_SIM_LOG(self, NULL, "starves  for %ld ns", (long)ns);
        self->starves = true;
        self->call = "starve";
        (void)w_sim_wait(from + ns);
        self->call = NULL;
        self->starves = false;
        self->wait += w_sim.now - from;
}

void sim_starve(int64_t ns)
{
        W_CHECK(w_sim.running, "sim_starve outside a run");
        w_sim_step();
        starve(w_sim.running, ns);
}

void sim_cpus_are_scarce(int64_t ns)
{
        w_sim.scarce_ns = ns;
}

/* Half of the waits are short: then the buffered stores of the thread stay invisible meanwhile. */
void w_sim_starve_at_step(void)
{
        struct sim_m *self = w_sim.running;

        if (self->call || !w_sim_chance(self->in_preempt ? STARVES_PREEMPTED : STARVES_AT_STEP))
                return;
        uint64_t most = w_sim_chance(512) ? TIMEOUT_NS : (uint64_t)w_sim.scarce_ns;

        starve(self, 1 + (int64_t)(w_rand(&w_sim.rand) % most));
}
