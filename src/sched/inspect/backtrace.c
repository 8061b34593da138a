/* sched/inspect/backtrace.c - the calls that led a thread to where it is. Contract:
 * sched/inspect/backtrace.h.
 *
 * Called by   look, blocked.
 *
 * Code that keeps frame pointers is followed exactly. libc keeps none: a thread that is in one of
 * its functions has the frame pointer of some caller, or any number, in that register, and between
 * there and the stack pointer lie the return addresses of calls that left no frame. So where the
 * register leads nowhere, or is not known, the stack is searched for the first frame from which the
 * chain leads to its end; and what lies below that frame and may be a return address is told, with
 * a question mark: it may also be a leftover of an earlier call.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/inspect/backtrace.h"

#include "sched/inspect/frames.h"
#include "sched/sched.h"

enum {
        SEARCH_BYTES = 16 * 1024,       /* more than libc's functions have on it, resolvers too */
        G0_BYTES_MAX = 1024 * 1024,     /* what weft_blocking promises; farther: another stack */
        ENTRY_BYTES = 32,
};

/* The stack that a thread is on, and the last frame of it that counts. */
struct place {
        struct frames f;
        const char   *last;             /* NULL: where the chain ends */
};

/* Its goroutine's stack; or its own, up to the frame that called the goroutine; false: another one,
 * a signal stack or the program's. */
static W_NO_SANITIZE bool find_place(struct place *p, const struct m *mp, const struct g *gp,
                                     const struct w_os_regs *regs)
{
        const struct stack *stack = gp->stack;
        const char         *sp = regs->sp, *g0 = mp->g0.context.fp;
        bool                own = !mp->on_g0;

        if (!sp || (uintptr_t)sp % sizeof(uintptr_t) || !stack)
                return false;
        p->f = (struct frames){ .at = regs->fp, .low = sp, .end = own ? stack->end : g0 + 16 };
        p->last = own ? NULL : g0;
        return sp + 16 <= p->f.end && (own ? sp >= stack->low : p->f.end - sp < G0_BYTES_MAX);
}

/* Where every goroutine begins: a few instructions, of which one is a call. */
static bool is_entry(const void *pc)
{
        return (uintptr_t)pc - (uintptr_t)&w_context_entry < ENTRY_BYTES;
}

/* A pair of words of which the first is 0 looks like the last frame, too: what the second says
 * tells them apart. */
static W_NO_SANITIZE bool leads_to_last(const struct place *p)
{
        struct frames f = p->f;

        for (int i = 0; i < W_BACKTRACE_FRAMES; i++) {
                const void *pc = (uintptr_t)f.at % sizeof(uintptr_t) ? NULL : w_frames_next(&f);

                if (!pc)
                        return false;
                if (f.at == p->last)
                        return p->last || is_entry(pc);
        }
        return true;
}

/* Uninstrumented: it is not the caller's stack. A pair of words in it may be a leftover, too. */
static W_NO_SANITIZE void search(struct place *p)
{
        struct frames *f = &p->f;
        const char *last = f->end - 16;

        if (last > f->low + SEARCH_BYTES)
                last = f->low + SEARCH_BYTES;
        for (f->at = f->low; f->at <= last; f->at += sizeof(uintptr_t)) {
                const void *back = ((const void *const *)(const void *)f->at)[1];

                if (w_os_is_code(w_return_address(back)) && leads_to_last(p))
                        return;
        }
        f->at = NULL;
}

/* Locks may be held: not farther than was searched. */
static W_NO_SANITIZE void copy_maybes(struct backtrace *c, const struct frames *f)
{
        const char        *end = f->at ? f->at : f->end;
        const char        *last = f->low + SEARCH_BYTES < end ? f->low + SEARCH_BYTES : end;
        const void *const *at = (const void *const *)(const void *)f->low;
        const void *const *to = (const void *const *)(const void *)last;

        for (; at < to && c->n_maybes < W_BACKTRACE_MAYBES; at++)
                if (w_os_is_code(w_return_address(*at)))
                        c->maybes[c->n_maybes++] = w_return_address(*at);
}

W_NO_SANITIZE void w_backtrace_take(struct backtrace *c, const struct m *mp, const struct g *gp,
                                const struct w_os_regs *regs)
{
        struct place p;

        c->n_frames = c->n_maybes = 0;
        c->searched = false;
        if (!regs->pc)
                return;
        c->frames[c->n_frames++] = regs->pc;
        if (!gp || !find_place(&p, mp, gp, regs))
                return;
        c->searched = !leads_to_last(&p);
        if (c->searched)
                search(&p);
        copy_maybes(c, &p.f);
        for (const void *pc; c->n_frames < W_BACKTRACE_FRAMES && (pc = w_frames_next(&p.f));)
                c->frames[c->n_frames++] = pc;
}

/* Code of the program's own has a frame, if it has any. */
static void each_maybe(const struct backtrace *c, backtrace_fn *fn, void *arg)
{
        if (!c->searched && w_os_is_safepoint(c->frames[0]))
                return;
        for (uint32_t i = 0; i < c->n_maybes; i++)
                if (w_os_is_return_address(c->maybes[i]))
                        fn(arg, c->maybes[i], true);
}

void w_backtrace_each(const struct backtrace *c, backtrace_fn *fn, void *arg)
{
        if (c->n_frames == 0)
                return;
        fn(arg, c->frames[0], false);
        each_maybe(c, fn, arg);
        for (uint32_t i = 1; i < c->n_frames; i++)
                fn(arg, c->frames[i], false);
}
