/* os/sim/system.c - the rest of os/os.h: messages, membarrier, signal masks, CPUs.
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/sim/machine.h"

#include <errno.h>      /* ENOSYS and others */
#include <stdlib.h>     /* abort */
#include <string.h>
#include <unistd.h>     /* write */

enum { SLOW_READER_NS = 2000000 };

/* ---- Messages and abort --------------------------------------------------------------------- */

/* Inside a run the text is stored for the report: most of it is not worth reading. */
bool w_os_write(int fd, const char *text, size_t len, int64_t timeout)
{
        (void)fd;
        (void)timeout;
        w_os_write_err(text, len);
        return true;
}

uint32_t sim_times_said(const char *text)
{
        uint32_t n = 0;

        w_sim.said[w_sim.said_len] = '\0';
        for (const char *at = w_sim.said; (at = strstr(at, text)); at++)
                n++;
        return n;
}

void w_os_write_err(const char *text, size_t len)
{
        size_t room = sizeof(w_sim.said) - 1 - w_sim.said_len;

        if (!w_sim.running) {
                (void)!write(STDERR_FILENO, text, len);
                return;
        }
        W_SIM_LOG(w_sim.running, NULL, "says     %.*s", (int)len, text);
        if (len > room)
                len = room;
        memcpy(w_sim.said + w_sim.said_len, text, len);
        w_sim.said_len += len;
        if (w_sim.scenario->config.slow_voice)
                w_os_sleep_until(w_sim.now + (int64_t)w_rand_below(&w_sim.rand, SLOW_READER_NS));
}

void w_os_abort(void)
{
        const char *expected = w_sim.running ? w_sim.scenario->config.dies_of : NULL;

        if (expected && strstr(w_sim.said, expected))
                w_sim_end_run();
        if (w_sim.running)
                sim_fail("abort");
        abort();
}

/* ---- Barriers ------------------------------------------------------------------------------- */

int w_os_membarrier_init(void)
{
        w_sim_call("membarrier init");
        bool fails = w_sim_fails();

        w_sim.has_membarrier = w_sim.has_membarrier || !fails;
        W_SIM_LOG(w_sim.running, NULL, "membarrier %s", w_sim.has_membarrier ? "is there"
                                                                            : "is missing");
        w_sim_return();
        return w_sim.has_membarrier ? 0 : -ENOSYS;
}

int w_os_membarrier(void)
{
        w_sim_call("membarrier");
        W_SIM_LOG(w_sim.running, NULL, "membarrier");
        if (w_sim.has_membarrier)
                for (uint32_t i = 0; i < w_sim.n_slots; i++)
                        w_sim_buffer_drain_all(&w_sim.ms[i]);
        w_sim_return();
        return w_sim.has_membarrier ? 0 : -EPERM;
}

/* ---- Signals -------------------------------------------------------------------------------- */

void w_os_signals_block(struct w_os_sigmask *old)
{
        w_sim_call("signals block");
        if (old)
                *old = w_sim.running->mask;
        memset(&w_sim.running->mask, 0xff, sizeof(w_sim.running->mask));
        w_sim_return();
}

void w_os_signals_restore(const struct w_os_sigmask *old)
{
        w_sim_call("signals restore");
        w_sim.running->mask = *old;
        w_sim_return();
}

void w_os_signals_get(struct w_os_sigmask *out)
{
        w_sim_call("signals get");
        *out = w_sim.running->mask;
        w_sim_return();
}

enum { ALTSTACK_BYTES = 5 * 4096 };     /* the lowest page is the guard */

int w_os_altstack_install(struct w_os_altstack *out)
{
        void *base = NULL;

        *out = (struct w_os_altstack){ 0 };
        SIM_CHECK(!w_sim.running->altstack.base, "m%u has a signal stack already",
                  w_sim.running->number);
        int rc = w_os_vm_map(&base, ALTSTACK_BYTES);

        if (rc != 0)
                return rc;
        rc = w_os_vm_guard_heavy(base, w_os_page_size());
        if (rc != 0) {
                w_os_vm_unmap(base, ALTSTACK_BYTES);
                return rc;
        }
        *out = (struct w_os_altstack){ base, ALTSTACK_BYTES };
        w_sim.running->altstack = *out;
        return 0;
}

void w_os_altstack_remove(struct w_os_altstack *stack)
{
        if (!stack->base)
                return;
        SIM_CHECK(stack->base == w_sim.running->altstack.base,
                  "m%u removes a signal stack that is not its own", w_sim.running->number);
        w_os_vm_unmap(stack->base, stack->size);
        w_sim.running->altstack = *stack = (struct w_os_altstack){ 0 };
}

int w_os_faults_watch(void (*on_fault)(void *addr))
{
        int rc = -EBUSY;

        w_sim_call("faults watch");
        if (!w_sim.on_fault && !w_sim_fails()) {
                w_sim.on_fault = on_fault;
                rc = 0;
        }
        w_sim_return();
        return rc;
}

void w_os_faults_unwatch(void)
{
        w_sim_call("faults unwatch");
        w_sim.on_fault = NULL;
        w_sim_return();
}

void sim_fault(void *addr)
{
        W_SIM_LOG(w_sim.running, NULL, "fault    at %s", w_sim_value((uintptr_t)addr));
        if (w_sim.on_fault)
                w_sim.on_fault(addr);
        sim_fail("memory fault that no handler claims");
}

/* ---- Processors ----------------------------------------------------------------------------- */

void sim_machine_has(int cpus, int quota)
{
        w_sim.cpus = cpus;
        w_sim.quota = quota;
}

int w_os_cpu_count(int tid)
{
        int n = w_sim.running ? w_sim.scenario->config.cpus : 0;

        (void)tid;
        if (w_sim.cpus)
                n = w_sim.cpus;
        return n > 0 ? n : 4;
}

int w_os_cpu_quota(void)
{
        if (w_sim.cpus)
                return w_sim.quota;
        return w_sim.running ? w_sim.scenario->config.quota : 0;
}

/* Addresses of code belong to the real process; no scenario needs their names. */
bool w_os_symbol_find(const void *addr, struct w_os_symbol *out)
{
        (void)addr, (void)out;
        return false;
}
