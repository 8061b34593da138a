/* sched/g.c - records of goroutines: a free list per P, a central one, the list of all; the number
 * of goroutines that are alive.
 *
 * PROTOCOL live
 *
 * Goal      A spawn or exit writes no shared cache line and passes no fence. If goroutine 1 ended
 *           by weft_exit, the run still ends when the last goroutine has ended.
 * Parties   spawner, ending goroutine, idle M (it released its P and found no work).
 * Words     spawned and ended of each P, written by its owner; spawned of threads without a P;
 *           main_exited.
 * End       1. ended + 1 on the own P [LV2].
 * Main      1. main_exited := 1.   2. As any other goroutine that ends.
 * Idle M    1. Full fence [LV1].
 *           2. main_exited is 0: done.
 *           3. Sum all `ended`, then all `spawned`. Equal: end the run.
 * Edges     [LV1] counters <-> main_exited and the counters of other Ps   its own partner
 *           [LV2] a goroutine's birth   ended store-release -> count: ended load-acquire
 * Why the end is noticed   When no goroutine is left, every M runs out of work and becomes an idle
 *           M. Its fence comes after its own counts. The last of these fences sees every count and
 *           main_exited.
 * Why not too early   `spawned` is read after `ended`: an end that was counted has its birth
 *           counted. Equal sums mean that no goroutine was alive between the two passes, and only a
 *           goroutine that is alive can spawn.
 * Tests     flow/sched/run/test_run.c, sim scenarios sched_exit, sched_exit_count.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/g.h"

#include "base/assert.h"
#include "base/records.h"
#include "sched/run/world.h"
#include "sched/sched.h"
#include "sched/switch.h"

static struct {
        struct lock    lock;    /* class free_g */
        struct records records; /* its free list is the central one */
} all;

void w_g_init(void)
{
        w_lock_init(&all.lock, W_LOCK_free_g);
        w_records_init(&all.records, sizeof(struct g));
}

void w_g_destroy(void)
{
        w_records_destroy(&all.records);
}

void w_g_each(bool (*visit)(void *gp, void *arg), void *arg)
{
        w_records_each(&all.records, visit, arg);
}

static struct g *get_central_locked(void)
{
        struct g *gp = w_records_get(&all.records);

        if (gp && w_g_state(gp) == G_IDLE)
                w_g_move(gp, G_IDLE, G_DEAD);
        return gp;
}

/* A free record's first word is a link (base/records.h); here it is the same link in both lists. */
static void refill(struct p *pp)
{
        w_lock(&all.lock);
        w_queue_move_front(&pp->free_g, &all.records.free, W_FREE_G_MAX / 2);
        while (pp->free_g.n < W_FREE_G_MAX / 2) {
                struct g *gp = get_central_locked();

                if (!gp)
                        break;
                w_queue_push_front(&pp->free_g, (struct queue_node *)(void *)gp);
        }
        w_unlock(&all.lock);
}

struct g *w_g_get_slow(struct p *pp)
{
        if (!pp) {
                w_lock(&all.lock);
                struct g *gp = get_central_locked();
                w_unlock(&all.lock);
                return gp;
        }
        refill(pp);
        return (struct g *)(void *)w_queue_pop(&pp->free_g);
}

static void give_back(struct p *pp, uint32_t keep)
{
        w_lock(&all.lock);
        w_queue_move_front(&all.records.free, &pp->free_g, pp->free_g.n - keep);
        w_unlock(&all.lock);
}

void w_g_put_slow(struct p *pp, struct g *gp)
{
        if (!pp) {
                w_lock(&all.lock);
                w_records_put(&all.records, gp);
                w_unlock(&all.lock);
                return;
        }
        give_back(pp, W_FREE_G_MAX / 2);
        w_queue_push_front(&pp->free_g, (struct queue_node *)(void *)gp);
}

void w_g_cache_drain(struct p *pp)
{
        give_back(pp, 0);
}

/* ---- The stack ------------------------------------------------------------------------------- */

_Static_assert(sizeof(struct g_cold) % W_STACK_ALIGN == 0, "frames begin right below it");

void *w_g_bind(struct p *pp, struct g *gp, size_t extra)
{
        struct g_start  start = gp->start;
        struct stack   *stack = w_stack_bind(&w_sched.stacks, pp ? &pp->stacks : NULL,
                                             w_g_stack_size(gp), gp);
        struct g_cold  *cold = w_cold_at(stack);
        char           *room = (char *)cold - ((extra + 15) & ~(size_t)15);

        w_cold_fill(cold, &start);
        if (extra)
                cold->arg = room;
        cold->extra = extra;
        gp->stack = stack;
        w_fiber_make(&gp->fiber, stack->low, (size_t)(stack->end - stack->low), room,
                     w_goroutine_main, gp);
        return room;
}

/* Describes the goroutine `owner` for the report of a stack overflow. Context: on a signal stack,
 * while that goroutine runs. */
void w_g_describe(void *owner, struct stack_owner *out)
{
        const struct g *gp = owner;

        out->id = gp->id;
        out->size = w_g_stack_size(gp);
        if (gp->stack) {
                out->name = w_g_cold(gp)->name;
                out->entry = (void *)(uintptr_t)w_g_cold(gp)->fn.plain;
        }
}

/* ---- How many are alive: PROTOCOL live ------------------------------------------------------ */

/* All ends before the first birth: a goroutine that is born and ends during the count is seen as
 * alive, never as an end without a birth. */
int64_t w_g_count_alive(void)
{
        int64_t n = 0;

        for (uint32_t i = 0; i < w_n_p(); i++)
                n -= (int64_t)w_load_acq(&w_sched.all_p[i]->stats.ended);       /* [LV2] */
        n += (int64_t)w_load_rlx(&w_sched.without_p.spawned);     /* counter */
        for (uint32_t i = 0; i < w_n_p(); i++)
                n += (int64_t)w_load_rlx(&w_sched.all_p[i]->stats.spawned);     /* counter */
        return n;
}

void w_g_main_exited(void)
{
        w_store_rlx(&w_sched.main_exited, 1);                       /* guarded by LV1 */
}

void w_g_check_last(void)
{
        w_fence_full();                                           /* [LV1] */
        if (w_load_rlx(&w_sched.main_exited) && w_g_count_alive() == 0)      /* guarded by LV1 */
                w_world_end();
}
