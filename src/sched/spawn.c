/* sched/spawn.c - step 1: a function becomes a goroutine.
 *
 * A plain spawn promises a stack and binds none: a goroutine that waits for its first turn costs
 * its record only. A name or a copy of the argument must be kept until then: it stands at the top
 * of the stack, and the stack is bound at once.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/spawn.h"

#include "base/assert.h"
#include "sched/idle.h"
#include "sched/queue/globq.h"
#include "sched/queue/queue.h"
#include "sched/run/foreign.h"
#include "sched/run/run.h"
#include "sched/sched.h"
#include "sched/self.h"
#include "sched/switch.h"
#include "weft.h"

#include <errno.h>      /* -Exxx */
#include <string.h>

enum { ARG_COPY_MAX = 4096 };

struct spawn {
        union g_fn  fn;
        struct scope *scope;            /* it runs in, or NULL; decides on the kind of fn */
        void       *arg;
        const void *copy;               /* NULL: none */
        size_t      copy_size;
        const char *name;               /* NULL: none */
        size_t      stack_size;
        void       *created_at;
        bool        child_first;
        struct g  **main;               /* goroutine 1 goes here, not into a queue; else NULL */
};

static size_t round_size(size_t size)
{
        return (size + 1023) & ~(size_t)1023;
}

/* Gets a record with an id and the promise of a stack. No other thread sees it yet. */
W_INLINE int obtain(struct p *pp, const struct spawn *s, struct g **out)
{
        struct g *gp = w_g_get(pp);

        if (!gp)
                return -ENOMEM;
        int rc = w_stack_reserve(&w_sched.stacks, pp ? &pp->stacks : NULL, s->stack_size);

        if (rc < 0)
                goto out_record;
        if (!w_id_give(pp ? &pp->ids : NULL, gp)) {
                rc = -ENOMEM;
                goto out_stack;
        }
        *out = gp;
        return 0;
out_stack:
        w_stack_unreserve(&w_sched.stacks, pp ? &pp->stacks : NULL, s->stack_size);
out_record:
        w_g_put(pp, gp);
        return rc;
}

W_INLINE void prepare(struct g *gp, const struct spawn *s)
{
        struct g *parent = w_g();

        gp->start = (struct g_start){ s->fn, s->arg, s->created_at, parent ? parent->id : 0 };
        gp->stack_kib = (uint32_t)(s->stack_size >> 10) & W_STACK_KIB_MASK;
        gp->saved_errno = 0;
        gp->ready_at = 0;
        gp->reason = W_WAIT_NONE;
        gp->nopreempt = false;
        gp->scope = s->scope;
        w_store_rlx(&gp->token, 0);                               /* guarded: unpublished */
        W_ASSERT(!gp->stack);
}

/* Name and argument copy stand on the stack until the first run, so the stack is bound now. */
W_INLINE void furnish(struct p *pp, struct g *gp, const struct spawn *s)
{
        if (!s->name && !s->copy)
                return;
        void *room = w_g_bind(pp, gp, s->copy ? s->copy_size : 0);

        if (s->copy)
                memcpy(room, s->copy, s->copy_size);
        if (s->name)
                w_name_copy(w_g_cold(gp)->name, s->name);
}

/* Child first: the child runs at once and the parent waits in `next`. Every other child queues, and
 * so does the child of a goroutine that must stay on its thread. */
W_INLINE void publish(struct p *pp, struct g *gp, const struct spawn *s)
{
        if (!pp) {
                w_globq_publish(gp, G_DEAD);
                w_wake_one();
                return;
        }
        w_p_count(&pp->stats.spawned, 1);
        w_g_move(gp, G_DEAD, G_RUNNABLE);
        w_ready_time(pp, gp);
        if (s->main) {
                *s->main = gp;
                return;
        }
        if (s->child_first && w_g() && !w_g()->nopreempt) {
                if (W_LIKELY(!w_m()->stays)) {
                        w_switch_to_child(gp);
                        return;
                }
                if (!w_g_in_region(w_g()) && !w_g()->locked) {
                        w_switch_queue_child(gp);
                        return;
                }
        }
        w_queue_put_next(pp, gp);
        w_wake_one();
}

/* A stack size of 0 means the default. */
W_INLINE int64_t spawn(struct spawn *s)
{
        struct g *gp = NULL;
        struct p *pp = w_p();

        s->stack_size = round_size(s->stack_size ? s->stack_size : w_sched.config.stack_size);
        int rc = obtain(pp, s, &gp);

        if (rc < 0)
                return rc;
        int64_t id = gp->id;

        prepare(gp, s);
        furnish(pp, gp, s);
        publish(pp, gp, s);     /* from here gp may have ended already */
        return id;
}

int64_t w_spawn_main(void (*fn)(void *), void *arg, struct g **out)
{
        size_t       least = (size_t)1 << 20;
        size_t       size = w_sched.config.stack_size;
        struct spawn s = { .fn = { fn }, .arg = arg, .main = out,
                           .stack_size = size > least ? size : least,
                           .created_at = __builtin_return_address(0) };

        return spawn(&s);
}

struct g *w_spawn_hidden(void (*fn)(void *), void *arg, void *created_at)
{
        struct spawn s = { .fn = { fn }, .arg = arg, .created_at = created_at,
                           .stack_size = round_size(w_sched.config.stack_size) };
        struct g    *gp = NULL;
        struct p    *pp = w_p();

        if (obtain(pp, &s, &gp) < 0)
                return NULL;
        prepare(gp, &s);
        w_p_count(&pp->stats.spawned, 1);
        w_g_move(gp, G_DEAD, G_RUNNABLE);
        return gp;
}

/* ---- Public ---------------------------------------------------------------------------------- */

/* Spawns for a foreign thread. By value: the caller's struct stays in registers. */
static W_NOINLINE int64_t spawn_from_afar(struct spawn s)
{
        if (!w_foreign_enter())
                return -ESHUTDOWN;
        int64_t id = spawn(&s);

        w_foreign_exit();
        return id;
}

/* Checks what the caller asked for, then spawns. */
W_INLINE int64_t spawn_checked(struct spawn *s)
{
        struct m *mp = w_m();

        if (!s->fn.plain)
                return -EINVAL;
        if (s->stack_size != 0 && (s->stack_size < W_STACK_MIN || s->stack_size > W_STACK_MAX))
                return -EINVAL;
        if (W_UNLIKELY(!mp))
                return spawn_from_afar(*s);
        if (!w_run_is_on())
                return -ESHUTDOWN;
        uint32_t before = w_enter_on(mp);
        int64_t  id = spawn(s);

        w_leave(before);
        return id;
}

int64_t w_spawn_in_scope(struct scope *scope, int (*fn)(void *), void *arg, void *created_at)
{
        struct spawn s = { .fn = { .in_scope = fn }, .arg = arg, .scope = scope,
                           .created_at = created_at };

        return spawn_checked(&s);
}

W_EXPORT int64_t weft_go(void (*fn)(void *), void *arg)
{
        struct spawn s = { .fn = { fn }, .arg = arg, .created_at = __builtin_return_address(0) };

        return spawn_checked(&s);
}

W_EXPORT int64_t weft_go_copy(void (*fn)(void *), const void *arg, size_t size)
{
        struct spawn s = { .fn = { fn }, .copy = arg, .copy_size = size,
                           .created_at = __builtin_return_address(0) };

        if (!arg)
                return size ? -EINVAL : spawn_checked(&s);
        if (size > ARG_COPY_MAX)
                return -E2BIG;
        return spawn_checked(&s);
}

/* A caller compiled against an older header has a shorter struct; 0 means the first release's. */
W_EXPORT int64_t weft_go_with(const weft_attr *attr, void (*fn)(void *), void *arg)
{
        struct spawn s = { .fn = { fn }, .arg = arg, .created_at = __builtin_return_address(0) };

        if (attr) {
                if (attr->flags & ~(unsigned)WEFT_CHILD_FIRST)
                        return -EINVAL;
                s.name = attr->name;
                s.stack_size = attr->stack_size;
                s.child_first = attr->flags & WEFT_CHILD_FIRST;
        }
        return spawn_checked(&s);
}
