/* sched/g.c - records of goroutines: a free list per P, a central one, and the list of all.
 *
 * Called by   spawn (get, bind at first run), exit (put), check and dump (each).
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/g.h"

#include "base/assert.h"
#include "base/records.h"
#include "sched/sched.h"

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
        for (int i = 0; i < W_FREE_G_MAX / 2; i++) {
                struct g *gp = get_central_locked();

                if (!gp)
                        break;
                w_queue_push_front(&pp->free_g, (struct queue_node *)(void *)gp);
        }
        w_unlock(&all.lock);
}

struct g *w_g_get(struct p *pp)
{
        if (!pp) {
                w_lock(&all.lock);
                struct g *gp = get_central_locked();
                w_unlock(&all.lock);
                return gp;
        }
        if (W_UNLIKELY(!pp->free_g.head))
                refill(pp);
        return (struct g *)(void *)w_queue_pop(&pp->free_g);
}

static W_NOINLINE void give_back(struct p *pp, uint32_t keep)
{
        w_lock(&all.lock);
        while (pp->free_g.n > keep)
                w_records_put(&all.records, w_queue_pop(&pp->free_g));
        w_unlock(&all.lock);
}

void w_g_put(struct p *pp, struct g *gp)
{
        W_ASSERT(w_g_state(gp) == G_DEAD && !gp->stack);
        if (!pp) {
                w_lock(&all.lock);
                w_records_put(&all.records, gp);
                w_unlock(&all.lock);
                return;
        }
        w_queue_push_front(&pp->free_g, (struct queue_node *)(void *)gp);
        if (W_UNLIKELY(pp->free_g.n > W_FREE_G_MAX))
                give_back(pp, W_FREE_G_MAX / 2);
}

void w_g_cache_drain(struct p *pp)
{
        give_back(pp, 0);
}

/* ---- The stack ------------------------------------------------------------------------------- */

static struct g_cold *cold_at(const struct stack *stack)
{
        return (struct g_cold *)(void *)(stack->top - sizeof(struct g_cold));
}

_Static_assert(sizeof(struct g_cold) % W_STACK_ALIGN == 0, "frames begin right below it");

struct g_cold *w_g_cold(const struct g *gp)
{
        return gp->stack ? cold_at(gp->stack) : NULL;
}

size_t w_g_stack_size(const struct g *gp)
{
        return (size_t)gp->stack_kib << 10;
}

void *w_g_bind(struct p *pp, struct g *gp, size_t extra)
{
        struct g_start  start = gp->start;
        struct stack   *stack = w_stack_bind(&w_sched.stacks, pp ? &pp->stacks : NULL,
                                             w_g_stack_size(gp), gp);
        struct g_cold  *cold = cold_at(stack);
        char           *room = (char *)cold - ((extra + 15) & ~(size_t)15);

        *cold = (struct g_cold){ .fn = start.fn, .arg = extra ? room : start.arg,
                                 .created_at = start.created_at, .parent = start.parent };
        gp->stack = stack;
        w_fiber_make(&gp->fiber, stack->low, (size_t)(stack->end - stack->low), room,
                     w_goroutine_main, gp);
        return room;
}

/* For the report of an overflow: on a signal stack, while gp runs. */
void w_g_describe(void *owner, struct stack_owner *out)
{
        const struct g *gp = owner;

        out->id = gp->id;
        out->size = w_g_stack_size(gp);
        if (gp->stack) {
                out->name = cold_at(gp->stack)->name;
                out->entry = (void *)(uintptr_t)cold_at(gp->stack)->fn;
        }
}
