/* sched/p.c - records of Ps: made when they are first needed, kept until the run is over.
 *
 * See PROTOCOL resize (sched/run/procs.c).
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/p.h"

#include "base/assert.h"
#include "sched/idle.h"
#include "sched/run/procs.h"
#include "sched/run/world.h"
#include "sched/sched.h"
#include "sched/timer/lazytimer.h"

#include <errno.h>      /* -Exxx */

/* One mapping: the Ps that are made together. */
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
        pp->tick = 1;                           /* at 0 the global queue comes first */
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

        if (w_os_vm_map(&memory, bytes) < 0)
                return -ENOMEM;
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

/* pp keeps the rest of its batch of ids, at most 15. They are given out if pp is revived. A page of
 * ids is free only when all its ids have been given out. */
void w_p_bury(struct p *pp)
{
        w_store_rlx(&pp->status, P_DEAD);                         /* own word */
        w_g_cache_drain(pp);
        w_lazytimer_cache_drain(pp);
        w_stack_cache_release(&pp->stacks);
}

/* ---- The M that holds it --------------------------------------------------------------------- */

void w_p_set_dedicated(struct p *pp, bool dedicated)
{
        bool was = w_load_rlx(&pp->attention) & W_ATTENTION_DEDICATED;   /* own word */

        if (W_LIKELY(dedicated == was))
                return;
        if (dedicated)
                w_or_rlx(&pp->attention, W_ATTENTION_DEDICATED);         /* own word */
        else
                w_and_rlx(&pp->attention, ~(uint32_t)W_ATTENTION_DEDICATED);   /* own word */
}

/* Clears LOST by a CAS: the run may abandon mp at this moment, and W_RETAKE_ABANDONED must stay. */
static void has_p_again(struct m *mp)
{
        uint32_t lost = w_sched.retake_base | W_RETAKE_LOST;

        W_WINDOW("p-acquired-again");
        (void)w_cas_acqrel(&mp->retake, &lost, w_sched.retake_base);  /* [TK2] */
}

void w_p_acquire(struct m *mp, struct p *pp)
{
        W_ASSERT(!mp->p);
        w_store_rlx(&pp->status, P_RUNNING);                      /* own word now */
        mp->p = pp;
        w_p_set_dedicated(pp, mp->dedicated);
        if (W_UNLIKELY(w_m_lost_p(mp)))
                has_p_again(mp);
        w_store_rel(&pp->m, mp);                                  /* [TK3] */
}

struct p *w_p_release(struct m *mp)
{
        struct p *pp = mp->p;

        W_ASSERT(pp && w_load_rlx(&pp->m) == mp);                 /* own word */
        w_store_rlx(&pp->m, NULL);                                /* own word */
        mp->p = NULL;
        return pp;
}

void w_p_give_up_locked(struct p *pp)
{
        if (w_load_rlx(&w_sched.world.stopping))                        /* guarded by the lock */
                w_world_p_stopped_locked(pp);
        else
                w_idle_p_put_locked(pp);
}

/* ---- Begin and end of the run ---------------------------------------------------------------- */

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

/* ---- From ready to running ------------------------------------------------------------------- */

/* A goroutine carries the time at which it became ready in 32 bits, in units of W_READY_UNIT. They
 * wrap after 4.5 minutes; a goroutine waits for a P much shorter than that. */
static uint32_t now_in_units(void)
{
        return (uint32_t)(w_os_now() / W_READY_UNIT);
}

void w_latency_begin(struct g *gp)
{
        uint32_t now = now_in_units();

        gp->ready_at = now ? now : 1;           /* 0 means: not timed */
}

/* The bucket of a latency in ns: its highest bit. */
static uint32_t bucket_of(uint64_t ns)
{
        return ns == 0 ? 0 : 63 - (uint32_t)__builtin_clzll(ns);
}

void w_latency_end(struct p *pp, struct g *gp)
{
        uint32_t units = now_in_units() - gp->ready_at;
        uint32_t bucket = bucket_of((uint64_t)units * W_READY_UNIT);

        gp->ready_at = 0;
        w_p_count(&pp->stats.ready_to_run[bucket], 1);
}
