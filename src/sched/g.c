/* sched/g.c - records of goroutines: a free list per P, a central one, and the list of all.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/g.h"

#include "base/assert.h"
#include "base/records.h"
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
