/* os/sim/atomic.c - the simulator's back end of base/atomic.h: contract in base/atomic_hooks.h.
 *
 * Each access of the code under test is one step: first other threads may run, then the access
 * happens at once. Outside a run (tests that prepare or inspect an object) accesses go straight to
 * memory.
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/sim/machine.h"

static const char *const order_names[] = {
        [W_RLX] = "rlx", [W_ACQ] = "acq", [W_REL] = "rel", [W_ACQREL] = "acqrel", [W_SC] = "sc",
};

static const char *const rmw_names[] = {
        [W_RMW_XCHG] = "xchg", [W_RMW_ADD] = "add", [W_RMW_SUB] = "sub",
        [W_RMW_OR] = "or",     [W_RMW_AND] = "and",
};

/* Negative values of signed types arrive with their sign spread over all 64 bits. */
static uint64_t cut(uint64_t value, unsigned size)
{
        return size == 8 ? value : value & ((UINT64_C(1) << (8 * size)) - 1);
}

static void step_at(const void *addr, const struct w_site *site)
{
        w_sim_step();
        w_sim.running->last_addr = addr;
        w_sim.running->last_site = site;
}

uint64_t w_hook_load(const void *addr, unsigned size, enum w_order order,
                     const struct w_site *site)
{
        uint64_t value;

        if (!w_sim.running)
                return w_sim_memory_read(addr, size);
        step_at(addr, site);
        bool own = w_sim_buffer_find(w_sim.running, addr, size, &value);

        if (!own)
                value = w_sim_memory_read(addr, size);
        W_SIM_LOG(w_sim.running, site, "load.%s %s (%s) is %s%s", order_names[order],
                  site->expr, w_sim_value((uintptr_t)addr), w_sim_value(value),
                  own ? " (own buffer)" : "");
        return value;
}

void w_hook_store(void *addr, unsigned size, uint64_t value, enum w_order order,
                  const struct w_site *site)
{
        value = cut(value, size);
        if (!w_sim.running) {
                w_sim_memory_write(addr, size, value);
                return;
        }
        step_at(addr, site);
        W_SIM_LOG(w_sim.running, site, "store.%s %s (%s) = %s", order_names[order], site->expr,
                  w_sim_value((uintptr_t)addr), w_sim_value(value));
        struct sim_store store = { addr, value, site, (uint8_t)size, order == W_REL };

        w_sim_buffer_put(w_sim.running, &store);
}

static uint64_t apply(enum w_rmw_op op, uint64_t old, uint64_t operand)
{
        switch (op) {
        case W_RMW_XCHG:
                return operand;
        case W_RMW_ADD:
                return old + operand;
        case W_RMW_SUB:
                return old - operand;
        case W_RMW_OR:
                return old | operand;
        case W_RMW_AND:
                return old & operand;
        }
        __builtin_unreachable();
}

/* As a locked instruction: drains the own buffer first, then accesses memory. */
static void step_locked(const void *addr, const struct w_site *site)
{
        if (!w_sim.running)
                return;
        step_at(addr, site);
        w_sim_buffer_drain_all(w_sim.running);
}

uint64_t w_hook_rmw(void *addr, unsigned size, enum w_rmw_op op, uint64_t operand,
                    enum w_order order, const struct w_site *site)
{
        step_locked(addr, site);
        uint64_t old = w_sim_memory_read(addr, size);

        w_sim_memory_write(addr, size, apply(op, old, operand));
        W_SIM_LOG(w_sim.running, site, "%s.%s %s (%s) by %s, was %s", rmw_names[op],
                  order_names[order], site->expr, w_sim_value((uintptr_t)addr),
                  w_sim_value(operand), w_sim_value(old));
        return old;
}

bool w_hook_cas(void *addr, unsigned size, uint64_t *expected, uint64_t desired,
                enum w_order order, const struct w_site *site)
{
        step_locked(addr, site);
        uint64_t old = w_sim_memory_read(addr, size);
        bool     ok = old == cut(*expected, size);

        W_SIM_LOG(w_sim.running, site, "cas.%s %s (%s) from %s to %s: %s, was %s",
                  order_names[order], site->expr, w_sim_value((uintptr_t)addr),
                  w_sim_value(*expected), w_sim_value(desired), ok ? "done" : "lost",
                  w_sim_value(old));
        if (ok)
                w_sim_memory_write(addr, size, desired);
        *expected = old;
        return ok;
}

void w_hook_fence(const struct w_site *site)
{
        step_locked(NULL, site);
        W_SIM_LOG(w_sim.running, site, "fence");
}

/* Plain memory is not buffered. The access is a step of its own, so that another thread can run
 * where a lock or an edge is missing. */
void w_hook_plain(const void *addr, unsigned size, bool is_write, const struct w_site *site)
{
        (void)addr, (void)size;
        if (!w_sim.running)
                return;
        w_sim_step();
        W_SIM_LOG(w_sim.running, site, "%s %s", is_write ? "write" : "read", site->expr);
}
