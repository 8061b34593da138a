/* os/explore/memory.c - atomic accesses: store histories, views, and which value a load returns.
 *
 * The newest value is also kept in the object itself: setup, checks and debuggers read it as
 * ordinary memory, and an object that an execution has not touched yet starts with what is there.
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/explore/engine.h"

#include "base/assert.h"

#include <string.h>

/* ---- Raw memory ------------------------------------------------------------------------------ */

static uint64_t raw_load(const void *addr, unsigned size)
{
        switch (size) {
        case 1:  return *(const uint8_t *)addr;
        case 2:  return *(const uint16_t *)addr;
        case 4:  return *(const uint32_t *)addr;
        default: return *(const uint64_t *)addr;
        }
}

static void raw_store(void *addr, unsigned size, uint64_t value)
{
        switch (size) {
        case 1:  *(uint8_t *)addr = (uint8_t)value; break;
        case 2:  *(uint16_t *)addr = (uint16_t)value; break;
        case 4:  *(uint32_t *)addr = (uint32_t)value; break;
        default: *(uint64_t *)addr = value;
        }
}

static uint64_t rmw_result(enum w_rmw_op op, uint64_t old, uint64_t operand, unsigned size)
{
        uint64_t v = operand;

        switch (op) {
        case W_RMW_XCHG: break;
        case W_RMW_ADD:  v = old + operand; break;
        case W_RMW_SUB:  v = old - operand; break;
        case W_RMW_OR:   v = old | operand; break;
        case W_RMW_AND:  v = old & operand; break;
        }
        return size == 8 ? v : v & ((UINT64_C(1) << (8 * size)) - 1);
}

/* ---- Locations ------------------------------------------------------------------------------- */

enum { TABLE = 128 };           /* slots for EX_LOCS locations: short probes */

static struct {
        uintptr_t addr;
        uint32_t  epoch;
        uint32_t  index;
} table[TABLE];

void w_ex_memory_reset(void)
{
        w_ex.epoch++;
        w_ex.n_locs = 0;
        w_ex.n_stores = 0;
        memset(&w_ex.fences, 0, sizeof(w_ex.fences));
}

static bool owns(const struct ex_thread *t, uintptr_t addr)
{
        return addr - t->own_at < t->own_size;
}

void w_explore_own(const void *addr, size_t size)
{
        if (!w_ex.running)
                return;
        w_ex.cur->own_at = (uintptr_t)addr;
        w_ex.cur->own_size = size;
        for (int i = 0; i < w_ex.n_locs; i++)
                W_CHECK(!owns(w_ex.cur, w_ex.locs[i].addr),
                        "explorer: %p is not one thread's own", (void *)w_ex.locs[i].addr);
}

static struct ex_loc *loc_new(uintptr_t addr, unsigned size)
{
        W_CHECK(w_ex.n_locs < EX_LOCS, "explorer: more than %d locations", EX_LOCS);
        for (int i = 0; i < w_ex.n_threads; i++)
                W_CHECK(!owns(&w_ex.threads[i], addr), "explorer: %p is not one thread's own",
                        (void *)addr);
        struct ex_loc *l = &w_ex.locs[w_ex.n_locs];

        memset(l, 0, offsetof(struct ex_loc, history));
        memset(l->last_read, -1, sizeof(l->last_read));
        memset(l->last_read_clock, 0, sizeof(*l) - offsetof(struct ex_loc, last_read_clock));
        l->addr = addr;
        l->size = size;
        l->index = w_ex.n_locs++;
        return l;
}

struct ex_loc *w_ex_loc_find(const void *addr, unsigned size)
{
        uintptr_t a = (uintptr_t)addr;
        uint32_t  at = (uint32_t)(((uint64_t)a * UINT64_C(0x9e3779b97f4a7c15)) >> 57);

        for (; table[at].epoch == w_ex.epoch; at = (at + 1) % TABLE) {
                if (table[at].addr != a)
                        continue;
                struct ex_loc *l = &w_ex.locs[table[at].index];
                W_CHECK(l->size == size, "explorer: %p accessed with sizes %u and %u", addr,
                        l->size, size);
                return l;
        }
        table[at].addr = a;
        table[at].epoch = w_ex.epoch;
        table[at].index = (uint32_t)w_ex.n_locs;
        return loc_new(a, size);
}

/* ---- Stores ---------------------------------------------------------------------------------- */

struct ex_store *w_ex_newest(struct ex_loc *l)
{
        return &w_ex.stores[l->history[l->n_stores - 1]];
}

static struct ex_store *append(struct ex_loc *l, uint64_t value, struct ex_thread *t,
                               const struct w_site *site)
{
        if (l->n_stores == EX_HISTORY || w_ex.n_stores == EX_STORES)
                w_ex_prune();
        struct ex_store *s = &w_ex.stores[w_ex.n_stores];

        l->history[l->n_stores++] = (uint16_t)w_ex.n_stores++;
        s->value = value;
        s->site = site;
        s->carries = false;
        s->thread = t ? t->id : -1;
        s->clock = t ? *w_ex_clock(&t->view, t->id) : 0;
        if (t)
                memcpy(s->saw, &t->view.at[EX_LOCS], sizeof(s->saw));
        return s;
}

/* A new object is at this address: a frame was left and entered again. The owner of the frame wrote
 * the first value before any other thread could know the object. Every thread that knows the object
 * now sees at least that value. */
static void begin_life(const struct ex_loc *l)
{
        for (int i = 0; i < w_ex.n_threads; i++)
                w_ex.threads[i].view.at[l->index] = (int16_t)(l->n_stores - 1);
}

struct ex_loc *w_ex_loc_atomic(const void *addr, unsigned size)
{
        struct ex_loc *l = w_ex_loc_find(addr, size);

        if (W_UNLIKELY(l->n_stores == 0 || l->raw_newer)) {
                append(l, raw_load(addr, size), NULL, NULL);
                l->raw_newer = false;
        } else if (W_UNLIKELY(raw_load(addr, size) != w_ex_newest(l)->value)) {
                append(l, raw_load(addr, size), NULL, NULL);
                begin_life(l);
        }
        return l;
}

static bool has_acquire(enum w_order order)
{
        return order == W_ACQ || order == W_ACQREL;
}

static bool has_release(enum w_order order)
{
        return order == W_REL || order == W_ACQREL;
}

static void carry(struct ex_store *s, const struct ex_view *v)
{
        if (s->carries) {
                w_ex_join(&s->carried, v, EX_LANES);
        } else {
                s->carried = *v;
                s->carries = true;
        }
}

/* A store by the current thread; `handed_on` is the store that a read-modify-write replaced. */
static void write_newest(struct ex_thread *t, struct ex_loc *l, uint64_t value,
                         enum w_order order, const struct ex_store *handed_on,
                         const struct w_site *site)
{
        struct ex_store *s = append(l, value, t, site);

        t->view.at[l->index] = (int16_t)(l->n_stores - 1);
        if (has_release(order))
                carry(s, &t->view);
        else if (t->has_fenced)
                carry(s, &t->fenced);
        if (handed_on && handed_on->carries)
                carry(s, &handed_on->carried);
        raw_store((void *)l->addr, l->size, value);
        l->atomic_writes.by[t->id] = (int16_t)s->clock;
        if (W_UNLIKELY(l->ordinary))
                w_ex_plain_check_atomic(l, true, site);
        if (W_UNLIKELY(l->has_claims))
                w_ex_claim_check_store(l, s);
}

/* The current thread reads store `index` of l. */
static struct ex_store *read_from(struct ex_thread *t, struct ex_loc *l, int index,
                                  enum w_order order, const struct w_site *site)
{
        struct ex_store *s = &w_ex.stores[l->history[index]];
        bool             again = l->last_read[t->id] == index && index < l->n_stores - 1;

        l->stale_repeats[t->id] = again ? (uint8_t)(l->stale_repeats[t->id] + 1) : 0;
        l->last_read[t->id] = (int16_t)index;
        l->last_read_clock[t->id] = *w_ex_clock(&t->view, t->id);
        l->atomic_reads.by[t->id] = *w_ex_clock(&t->view, t->id);
        t->view.at[l->index] = (int16_t)index;
        if (index < l->n_stores - 1)
                w_ex.n_stale++;
        if (W_UNLIKELY(l->ordinary))
                w_ex_plain_check_atomic(l, false, site);
        if (s->carries) {
                w_ex_join(has_acquire(order) ? &t->view : &t->pending, &s->carried, EX_LANES);
                t->has_pending |= !has_acquire(order);
        }
        return s;
}

/* ---- Which store a load reads ---------------------------------------------------------------- */

/* The oldest store that the thread may still read. */
static int oldest_readable(const struct ex_thread *t, const struct ex_loc *l)
{
        int newest = l->n_stores - 1;
        int oldest = t->view.at[l->index];

        if (w_ex.stale >= 0 && w_ex.n_stale >= w_ex.stale)
                return newest;
        if (oldest < newest && l->last_read[t->id] == oldest &&
            l->stale_repeats[t->id] + 1 >= EX_STALE_REPEATS)
                oldest++;
        return oldest;
}

/* Choice 0 is the newest store, so that the first execution of a search is the usual one. */
static int choose_store(const struct ex_thread *t, const struct ex_loc *l)
{
        int newest = l->n_stores - 1;

        return newest - w_ex_choose(newest - oldest_readable(t, l) + 1);
}

/* For a CAS: the newest store, or an older store with a value other than `expected`, which makes
 * the CAS fail. */
static int choose_store_cas(const struct ex_thread *t, const struct ex_loc *l, uint64_t expected)
{
        int found[EX_HISTORY], n = 0;
        int newest = l->n_stores - 1;

        found[n++] = newest;
        for (int i = newest - 1; i >= oldest_readable(t, l); i--)
                if (w_ex.stores[l->history[i]].value != expected)
                        found[n++] = i;
        return found[w_ex_choose(n)];
}

static struct ex_thread *begin(enum w_order order)
{
        W_CHECK(order != W_SC, "explorer: seq_cst accesses are not modelled, use the full fence");
        w_ex_step();
        int16_t *clock = w_ex_clock(&w_ex.cur->view, w_ex.cur->id);

        (*clock)++;
        return w_ex.cur;
}

/* ---- The hooks ------------------------------------------------------------------------------- */

/* True in setup and check, and for memory that no other thread accesses. */
static bool is_ordinary(const void *addr)
{
        return !w_ex.running || owns(w_ex.cur, (uintptr_t)addr);
}

uint64_t w_hook_load(const void *addr, unsigned size, enum w_order order,
                     const struct w_site *site)
{
        if (is_ordinary(addr))
                return raw_load(addr, size);
        struct ex_thread *t = begin(order);
        struct ex_loc    *l = w_ex_loc_atomic(addr, size);
        int               index = choose_store(t, l);
        struct ex_store  *s = read_from(t, l, index, order, site);

        w_ex_log_op("load", order, site, "%s", w_ex_log_read(l, index));
        return s->value;
}

void w_hook_store(void *addr, unsigned size, uint64_t value, enum w_order order,
                  const struct w_site *site)
{
        if (is_ordinary(addr)) {
                raw_store(addr, size, value);
                return;
        }
        struct ex_thread *t = begin(order);
        struct ex_loc    *l = w_ex_loc_atomic(addr, size);

        w_ex_log_op("store", order, site, "= %s", w_ex_log_value(l, value));
        write_newest(t, l, value, order, NULL, site);
}

uint64_t w_hook_rmw(void *addr, unsigned size, enum w_rmw_op op, uint64_t operand,
                    enum w_order order, const struct w_site *site)
{
        static const char *const names[] = { "xchg", "add", "sub", "or", "and" };

        if (is_ordinary(addr)) {
                uint64_t old = raw_load(addr, size);
                raw_store(addr, size, rmw_result(op, old, operand, size));
                return old;
        }
        struct ex_thread *t = begin(order);
        struct ex_loc    *l = w_ex_loc_atomic(addr, size);
        int               index = l->n_stores - 1;
        struct ex_store  *s = read_from(t, l, index, order, site);
        uint64_t          result = rmw_result(op, s->value, operand, size);

        w_ex_log_op(names[op], order, site, "%s, = %s", w_ex_log_read(l, index),
                  w_ex_log_value(l, result));
        write_newest(t, l, result, order, s, site);
        return s->value;
}

bool w_hook_cas(void *addr, unsigned size, uint64_t *expected, uint64_t desired,
                enum w_order order, const struct w_site *site)
{
        if (is_ordinary(addr)) {
                uint64_t old = raw_load(addr, size);
                bool     ok = old == *expected;

                if (ok)
                        raw_store(addr, size, desired);
                *expected = old;
                return ok;
        }
        struct ex_thread *t = begin(order);
        struct ex_loc    *l = w_ex_loc_atomic(addr, size);
        int               index = choose_store_cas(t, l, *expected);
        struct ex_store  *s = read_from(t, l, index, order, site);
        bool              ok = s->value == *expected;

        w_ex_log_op("cas", order, site, "%s, %s %s", w_ex_log_read(l, index),
                  ok ? "=" : "fails; wanted", w_ex_log_value(l, ok ? desired : *expected));
        if (ok)
                write_newest(t, l, desired, order, s, site);
        *expected = s->value;
        return ok;
}

void w_hook_fence(const struct w_site *site)
{
        if (!w_ex.running)
                return;
        struct ex_thread *t = begin(W_ACQREL);

        if (t->has_pending)
                w_ex_join(&t->view, &t->pending, EX_LANES);
        w_ex_join(&t->view, &w_ex.fences, EX_LOCS);
        w_ex_join(&w_ex.fences, &t->view, EX_LOCS);
        t->fenced = t->view;
        t->has_fenced = true;
        w_ex_log_op("fence", W_SC, site, "%s", "");
}
