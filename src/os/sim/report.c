/* os/sim/report.c - the log of a replay, and the report of a failed run.
 *
 * A line of the log: step, virtual time, M, event, file and line. Nothing in it depends on
 * addresses, so two replays of one seed are equal byte for byte.
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/sim/machine.h"

#include <stdarg.h>
#include <string.h>

/* ---- Values --------------------------------------------------------------------------------- */

enum { N_NAMES = 1024 };

static uint64_t names[N_NAMES];         /* names[i] is printed as @i */
static uint32_t n_names;

void w_sim_names_reset(void)
{
        n_names = 0;
}

static bool looks_like_address(uint64_t value)
{
        return value >> 32 != 0 && value >> 47 == 0;
}

/* False when the table is full. */
static bool name_of(uint64_t value, uint32_t *name)
{
        for (*name = 0; *name < n_names; (*name)++)
                if (names[*name] == value)
                        return true;
        if (n_names == N_NAMES)
                return false;
        names[n_names++] = value;
        return true;
}

const char *w_sim_value(uint64_t value)
{
        static char     texts[5][24];
        static unsigned turn;
        char           *text = texts[turn++ % W_ARRAY_LEN(texts)];
        uint32_t        name;

        if (!looks_like_address(value))
                snprintf(text, sizeof(texts[0]), value >> 47 ? "0x%lx" : "%lu",
                         (unsigned long)value);
        else if (name_of(value, &name))
                snprintf(text, sizeof(texts[0]), "@%u", name);
        else
                snprintf(text, sizeof(texts[0]), "@many");
        return text;
}

/* ---- Log ------------------------------------------------------------------------------------ */

/* From the last src/ or tests/ on: the same wherever the tree was built. */
static const char *short_path(const char *file)
{
        const char *best = file;

        for (const char *at = file; (at = strstr(at, "src/")); at++)
                best = at;
        for (const char *at = file; (at = strstr(at, "tests/")); at++)
                best = at;
        return best;
}

void w_sim_log_line(const struct sim_m *m, const struct w_site *site, const char *fmt, ...)
{
        char    what[300], place[120] = "";
        va_list args;

        va_start(args, fmt);
        vsnprintf(what, sizeof(what), fmt, args);
        va_end(args);
        what[strcspn(what, "\n")] = '\0';
        if (site)
                snprintf(place, sizeof(place), "%s:%d", short_path(site->file), site->line);
        fprintf(w_sim.log, "%7lu %9ld  m%-3u ", (unsigned long)w_sim.steps, (long)w_sim.now,
                m->number);
        fprintf(w_sim.log, site ? "%-64s %s\n" : "%s%s\n", what, place);
}

/* ---- Report --------------------------------------------------------------------------------- */

const char *sim_program = "weft-sim";

struct page {
        char  *text;
        size_t size;
        size_t len;
};

static void add(struct page *p, const char *fmt, ...) W_PRINTF(2, 3);
static void add(struct page *p, const char *fmt, ...)
{
        va_list args;

        va_start(args, fmt);
        p->len += (size_t)vsnprintf(p->text + p->len, p->size - p->len, fmt, args);
        va_end(args);
        if (p->len > p->size - 1)
                p->len = p->size - 1;
}

static void add_strategy(struct page *p)
{
        const struct sim_profile *f = &w_sim.profile;

        switch (f->strategy) {
        case BY_CHANCE:
                add(p, "switching by chance (%u of 1024)", f->p_switch);
                break;
        case BY_SLICE:
                add(p, "switching by slices (about %u steps)", f->slice);
                break;
        case BY_PRIORITY:
                add(p, "switching by priority");
                break;
        }
        add(p, ", %s stores (drain %u of 1024)\n", f->weak ? "weakly ordered" : "TSO", f->p_drain);
}

static void add_sleep(struct page *p, const struct sim_m *m)
{
        if (m->word)
                add(p, " on %s, which holds %lu (sleeps while %u)",
                    m->last_addr == m->word ? m->last_site->expr : w_sim_value((uintptr_t)m->word),
                    (unsigned long)w_sim_memory_read(m->word, 4), m->expected);
        if (m->joining)
                add(p, " of m%u", m->joining->number);
        if (m->woken)
                add(p, ", woken");
        if (m->due_at != W_FOREVER)
                add(p, ", until %ld ns", (long)m->due_at);
}

static void add_m(struct page *p, const struct sim_m *m)
{
        static const char *const states[] = {
                [M_READY] = "can run", [M_WAITING] = "waits", [M_ENDED] = "ended, not joined",
        };

        add(p, "  %cm%-3u%-16s %s", m == w_sim.running ? '*' : ' ', m->number, m->name,
            states[m->state]);
        if (m->call)
                add(p, " in %s", m->call);
        if (m->state == M_WAITING)
                add_sleep(p, m);
        if (m->n_stores)
                add(p, "; %u stores buffered, oldest to %s", m->n_stores, m->stores[0].site->expr);
        if (m->last_site)
                add(p, "; last at %s (%s:%d)", m->last_site->expr,
                    short_path(m->last_site->file), m->last_site->line);
        add(p, "\n");
}

void w_sim_report(const char *what)
{
        struct page p = { w_sim.result->report, sizeof(w_sim.result->report), 0 };

        w_sim.result->failed = true;
        add(&p, "FAILED   %s, seed %lu: %s\n", w_sim.scenario->name, (unsigned long)w_sim.seed,
            what);
        add(&p, "  replay: %s %s --seed %lu --log\n", sim_program, w_sim.scenario->name,
            (unsigned long)w_sim.seed);
        if (w_sim.said_len)
                add(&p, "  said: %s%s", w_sim.said,
                    w_sim.said[w_sim.said_len - 1] == '\n' ? "" : "\n");
        add(&p, "  step %lu, %ld ns, ", (unsigned long)w_sim.steps, (long)w_sim.now);
        add_strategy(&p);
        for (uint32_t i = 0; i < w_sim.n_slots; i++)
                if (w_sim.ms[i].state != M_FREE)
                        add_m(&p, &w_sim.ms[i]);
}
