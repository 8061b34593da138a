/* os/sim/buffer.c - store buffers: stores of an M that other Ms do not see yet.
 *
 * A store waits in the buffer of its M; the M's own loads see it there. It reaches memory at a
 * seeded moment, even while its M does not run, or when the M drains its buffer by another access.
 * On the TSO machine stores leave in order. On the weak machine a relaxed store may overtake
 * earlier stores to other addresses, but a release store leaves after all earlier stores.
 *
 * All accesses to one address must have one size: a load that a buffered store covers in part has
 * no defined value here, nor in C11. Checked against the own buffer.
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/sim/machine.h"

#include <string.h>

uint64_t w_sim_memory_read(const void *addr, unsigned size)
{
        switch (size) {
        case 1:
                return *(const volatile uint8_t *)addr;
        case 2:
                return *(const volatile uint16_t *)addr;
        case 4:
                return *(const volatile uint32_t *)addr;
        default:
                return *(const volatile uint64_t *)addr;
        }
}

void w_sim_memory_write(void *addr, unsigned size, uint64_t value)
{
        switch (size) {
        case 1:
                *(volatile uint8_t *)addr = (uint8_t)value;
                break;
        case 2:
                *(volatile uint16_t *)addr = (uint16_t)value;
                break;
        case 4:
                *(volatile uint32_t *)addr = (uint32_t)value;
                break;
        default:
                *(volatile uint64_t *)addr = value;
        }
}

static bool same_entry(const struct sim_store *s, const void *addr, unsigned size)
{
        uintptr_t a = (uintptr_t)s->addr, b = (uintptr_t)addr;

        if (a == b && s->size == size)
                return true;
        SIM_CHECK(a >= b + size || b >= a + s->size,
                  "%s: stored with %u bytes, now accessed with %u at offset %ld", s->site->expr,
                  s->size, size, (long)(b - a));
        return false;
}

static void drain_at(struct sim_m *m, uint32_t i)
{
        struct sim_store *s = &m->stores[i];

        W_SIM_LOG(m, s->site, "  drains %s (%s) = %s", s->site->expr,
                  w_sim_value((uintptr_t)s->addr), w_sim_value(s->value));
        w_sim_memory_write(s->addr, s->size, s->value);
        m->n_stores--;
        w_sim.n_buffered--;
        memmove(s, s + 1, (m->n_stores - i) * sizeof(*s));
}

void w_sim_buffer_put(struct sim_m *m, const struct sim_store *store)
{
        uint64_t older;

        (void)w_sim_buffer_find(m, store->addr, store->size, &older);   /* for its check */
        if (m->n_stores == N_STORES)
                drain_at(m, 0);
        m->stores[m->n_stores++] = *store;
        w_sim.n_buffered++;
}

bool w_sim_buffer_find(const struct sim_m *m, const void *addr, unsigned size, uint64_t *value)
{
        for (uint32_t i = m->n_stores; i-- > 0;) {
                if (same_entry(&m->stores[i], addr, size)) {
                        *value = m->stores[i].value;
                        return true;
                }
        }
        return false;
}

void w_sim_buffer_drain_all(struct sim_m *m)
{
        while (m->n_stores)
                drain_at(m, 0);
}

/* The weak machine: may entry i leave before the entries in front of it? */
static bool may_overtake(const struct sim_m *m, uint32_t i)
{
        if (m->stores[i].release)
                return i == 0;
        for (uint32_t k = 0; k < i; k++)
                if (m->stores[k].addr == m->stores[i].addr)
                        return false;
        return true;
}

static uint32_t choose_entry(const struct sim_m *m)
{
        uint32_t i = 0;

        if (w_sim.profile.weak)
                i = w_rand_below(&w_sim.rand, m->n_stores);
        while (!may_overtake(m, i))
                i--;
        return i;
}

void w_sim_buffer_drain_some(void)
{
        uint32_t n = w_rand_below(&w_sim.rand, w_sim.n_buffered);

        for (uint32_t slot = 0; slot < w_sim.n_slots; slot++) {
                struct sim_m *m = &w_sim.ms[slot];

                if (n < m->n_stores) {
                        drain_at(m, choose_entry(m));
                        return;
                }
                n -= m->n_stores;
        }
}

uint64_t sim_peek(const struct thread *reader, const void *addr, unsigned size)
{
        uint64_t value;

        for (uint32_t i = 0; reader && w_sim.n_buffered && i < w_sim.n_slots; i++)
                if (w_sim.ms[i].self == reader && w_sim.ms[i].n_stores &&
                    w_sim_buffer_find(&w_sim.ms[i], addr, size, &value))
                        return value;
        return w_sim_memory_read(addr, size);
}
