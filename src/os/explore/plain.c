/* os/explore/plain.c - ordinary memory: the race check, and reads that were claimed.
 *
 * Ordinary accesses are not steps: whether two of them race depends on happens-before, not on their
 * interleaving. Each access advances its thread's clock, so that an earlier release does not cover
 * it. Accesses are matched by address; objects do not overlap in part.
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/explore/engine.h"

#include "base/assert.h"

/* Returns a thread with an access in `a` that does not happen before what t does now; -1: none. */
static int unordered(const struct ex_accesses *a, const struct ex_thread *t)
{
        for (int i = 0; i < w_ex.n_threads; i++)
                if (i != t->id && a->by[i] > t->view.at[EX_LOCS + i])
                        return i;
        return -1;
}

static void check(const struct ex_accesses *a, const char *other, const char *mine,
                  const struct w_site *site)
{
        int who = unordered(a, w_ex.cur);

        if (W_LIKELY(who < 0))
                return;
        w_ex_log("     %-8s %s %s: no happens-before from an %s by %s", w_ex.cur->name, mine,
               site->expr, other, w_ex.threads[who].name);
        w_ex_fail(W_EXPLORE_RACE, "%s of %s by %s at %s:%d, and an unordered %s by %s", mine,
                site->expr, w_ex.cur->name, site->file, site->line, other, w_ex.threads[who].name);
}

void w_ex_plain_check_atomic(const struct ex_loc *l, bool is_write, const struct w_site *site)
{
        check(&l->plain_writes, "ordinary write", is_write ? "atomic write" : "atomic read", site);
        if (is_write)
                check(&l->plain_reads, "ordinary read", "atomic write", site);
}

void w_hook_plain(const void *addr, unsigned size, bool is_write, const struct w_site *site)
{
        if (!w_ex.running)
                return;
        struct ex_loc *l = w_ex_loc_find(addr, size);
        int16_t       *clock = w_ex_clock(&w_ex.cur->view, w_ex.cur->id);
        const char    *mine = is_write ? "ordinary write" : "ordinary read";

        W_CHECK(*clock < INT16_MAX, "explorer: too many ordinary accesses in one execution");
        l->ordinary = true;
        (is_write ? &l->plain_writes : &l->plain_reads)->by[w_ex.cur->id] = ++*clock;
        w_ex_log_op(is_write ? "write" : "read", W_RLX, site, "(ordinary)");
        check(&l->plain_writes, "ordinary write", mine, site);
        check(&l->atomic_writes, "atomic write", mine, site);
        if (is_write) {
                check(&l->plain_reads, "ordinary read", mine, site);
                check(&l->atomic_reads, "atomic read", mine, site);
                l->raw_newer = l->n_stores > 0;
        }
}

/* ---- Claimed reads --------------------------------------------------------------------------- */

static void check_claim(const struct ex_loc *l, int reader, const struct ex_store *s)
{
        if (s->thread < 0 || s->thread == reader || s->saw[reader] >= l->claimed_clock[reader])
                return;
        w_ex_fail(W_EXPLORE_RACE, "what %s read and claimed is overwritten by %s at %s:%d, and "
                "nothing orders that after the read", w_ex.threads[reader].name,
                w_ex.threads[s->thread].name, s->site->file, s->site->line);
}

void w_ex_claim_check_store(const struct ex_loc *l, const struct ex_store *s)
{
        for (int i = 0; i < w_ex.n_threads; i++)
                if (l->claimed_clock[i])
                        check_claim(l, i, s);
}

void w_explore_claimed(const void *addr)
{
        struct ex_loc *l = NULL;
        int            me = w_ex.cur->id;

        for (int i = 0; i < w_ex.n_locs; i++)
                if (w_ex.locs[i].addr == (uintptr_t)addr)
                        l = &w_ex.locs[i];
        if (l && l->plain_reads.by[me])
                return;         /* read as ordinary memory, and checked there */
        if (!l || !l->last_read_clock[me])
                w_ex_fail(W_EXPLORE_ASSERTION, "%s claims what it has not read", w_ex.cur->name);
        l->has_claims = true;
        l->claimed_clock[me] = l->last_read_clock[me];
        for (int i = l->last_read[me] + 1; i < l->n_stores; i++)
                check_claim(l, me, &w_ex.stores[l->history[i]]);
}
