/* sched/p.c - records of Ps: made when they are first needed, kept until the run is over.
 *
 * Called by   run (the first ones, and the end), procs (more, and fewer).
 * Protocols   cites resize (sched/run/procs.c).
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/p.h"

#include "base/assert.h"
#include "sched/timer/lazytimer.h"
#include "sched/sched.h"

/* One mapping; those that are made together lie together. */
struct p_batch {
        struct p_batch *next;
        size_t          bytes;
        struct p        ps[];
};

static size_t batch_bytes(uint32_t n)
{
        size_t page = w_os_page_size();
        size_t bytes = sizeof(struct p_batch) + n * sizeof(struct p);

        return (bytes + page - 1) & ~(page - 1);
}

static void p_init(struct p *pp, uint32_t id)
{
        pp->id = id;
        pp->status.raw = P_DEAD;                /* unpublished */
        pp->rand = w_sched.config.randomize ? w_sched.config.randomize_seed + id
                                            : w_os_random_seed();
        pp->tick = 1;                           /* 0 would be a look at the global queue */
        pp->ids.next = W_ID_BATCH;
        w_timers_init(&pp->timers);
        pp->timers.closed = true;
}

int w_ps_make(uint32_t n)
{
        uint32_t have = w_load_rlx(&w_sched.n_p);                 /* own word: one stopper */
        void    *memory;

        if (n <= have)
                return 0;
        size_t bytes = batch_bytes(n - have);
        int    rc = w_os_vm_map(&memory, bytes);

        if (rc < 0)
                return rc;
        struct p_batch *batch = memory;

        batch->bytes = bytes;
        batch->next = w_sched.p_batches;
        w_sched.p_batches = batch;
        for (uint32_t i = have; i < n; i++) {
                p_init(&batch->ps[i - have], i);
                w_sched.all_p[i] = &batch->ps[i - have];
        }
        w_store_rel(&w_sched.n_p, n);                             /* [RZ1] */
        return 0;
}

int w_p_revive(struct p *pp)
{
        int rc = w_stack_cache_init(&pp->stacks, &w_sched.stacks, w_sched.config.stack_size);

        if (rc < 0)
                return rc;
        w_store_rlx(&pp->attention, w_sched.config.migrate ? W_ATTENTION_DEBUG : 0);    /* hint */
        w_store_rlx(&pp->clock, (uint64_t)w_os_now());            /* own word */
        w_store_rlx(&pp->status, P_STOPPED);                      /* own word */
        return 0;
}

/* It keeps what is left of its ids: at most 15, which are given if it comes back. A page of ids is
 * free only when all have been given. */
void w_p_bury(struct p *pp)
{
        w_store_rlx(&pp->status, P_DEAD);                         /* own word */
        w_g_cache_drain(pp);
        w_lazytimer_cache_drain(pp);
        w_stack_cache_release(&pp->stacks);
}

/* ---- The first and the last ------------------------------------------------------------------ */

void w_ps_free(void)
{
        for (uint32_t i = 0; i < w_n_p(); i++) {
                if (w_load_rlx(&w_sched.all_p[i]->status) != P_DEAD)      /* own word: the last */
                        w_p_bury(w_sched.all_p[i]);
                w_timers_free(&w_sched.all_p[i]->timers);
        }
        for (struct p_batch *batch = w_sched.p_batches, *next; batch; batch = next) {
                next = batch->next;
                w_os_vm_unmap(batch, batch->bytes);
        }
        w_sched.p_batches = NULL;
}

int w_ps_init(uint32_t n)
{
        int rc = w_ps_make(n);

        for (uint32_t i = 0; rc == 0 && i < n; i++)
                rc = w_p_revive(w_sched.all_p[i]);
        if (rc < 0) {
                w_ps_free();
                return rc;
        }
        for (uint32_t i = 0; i < n; i++)
                w_timers_open(&w_sched.all_p[i]->timers);
        w_procs_apply(n);
        w_lock(&w_sched.lock);
        for (uint32_t i = n; i-- > 0;)
                w_idle_p_put_locked(w_sched.all_p[i]);
        w_unlock(&w_sched.lock);
        return 0;
}
