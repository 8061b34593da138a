/* sched/inspect/backtrace.c - the calls that led a thread to where it is. Contracts:
 * sched/inspect/backtrace.h, and sched/run/freeze.h for frozen Ms.
 *
 * Protocols   cites freeze (sched/run/freeze.c).
 *
 * Code that keeps frame pointers is followed exactly. libc keeps none. In a thread that is in a
 * function of libc, the register has the frame pointer of some caller, or any number. Between that
 * frame and the stack pointer lie the return addresses of calls that left no frame. If the register
 * leads nowhere, or is not known, the stack is searched for the first frame from which the chain
 * leads to its end. Every word below that frame that may be a return address is reported with a
 * question mark: it may also be a leftover of an earlier call.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/inspect/backtrace.h"

#include "sched/inspect/dump_log.h"
#include "sched/inspect/frames.h"
#include "sched/run/freeze.h"
#include "sched/sched.h"

enum {
        SEARCH_BYTES = 16 * 1024,       /* more stack than libc uses, resolvers included */
        G0_BYTES_MAX = 1024 * 1024,     /* weft_blocking promises this; beyond: another stack */
        ENTRY_BYTES = 32,
};

/* The stack that a thread is on, and the last frame of it that counts. */
struct area {
        struct frames f;
        const char   *last;             /* NULL: the end of the chain */
};

/* Finds the goroutine's stack, or the stack of g0 up to the frame that called the goroutine. False:
 * the thread is on another stack, a signal stack or a stack that the program made. */
static W_NO_SANITIZE bool find_area(struct area *p, const struct m *mp, const struct g *gp,
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

/* True: pc is in the entry of goroutines, which is a few instructions, one of them a call. */
static bool is_entry(const void *pc)
{
        return (uintptr_t)pc - (uintptr_t)&w_context_entry < ENTRY_BYTES;
}

/* A pair of words of which the first is 0 looks like the last frame, too. The second word tells the
 * two apart. */
static W_NO_SANITIZE bool leads_to_last(const struct area *p)
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

/* Uninstrumented: this is not the caller's stack. A pair of words in it may be a leftover, too. */
static W_NO_SANITIZE void search_frame(struct area *p)
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

/* Reads no farther than the search, because the caller may hold locks. */
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
        struct area p;

        c->n_frames = c->n_maybes = 0;
        c->searched = false;
        if (!regs->pc)
                return;
        c->frames[c->n_frames++] = regs->pc;
        if (!gp || !find_area(&p, mp, gp, regs))
                return;
        c->searched = !leads_to_last(&p);
        if (c->searched)
                search_frame(&p);
        copy_maybes(c, &p.f);
        for (const void *pc; c->n_frames < W_BACKTRACE_FRAMES && (pc = w_frames_next(&p.f));)
                c->frames[c->n_frames++] = pc;
}

/* If the chain was complete and the thread was stopped in code of the program, no call is missing:
 * code of the program has a frame, if any code has. Then no maybe is reported. */
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

/* ---- Frozen Ms ------------------------------------------------------------------------------- */

/* An M in a system call may continue, and its thread may end with its stack. It does not end while
 * lost_p is set, and it clears lost_p under the lock. */
static W_NO_SANITIZE void take_in_syscall(struct frozen_m *fm)
{
        w_lock(&w_sched.lock);
        if (fm->m->lost_p && fm->m->curg == fm->g)
                w_backtrace_take(&fm->calls, fm->m, fm->g, &fm->regs);
        w_unlock(&w_sched.lock);
}

void w_frozen_m_take(struct frozen_m *fm)
{
        fm->calls.n_frames = 0;
        if (fm->how == W_SEEN_FROZEN)
                w_backtrace_take(&fm->calls, fm->m, fm->g, &fm->regs);
        else if (fm->how == W_SEEN_IN_SYSCALL)
                take_in_syscall(fm);
}

static void log_call(void *arg, const void *pc, bool maybe)
{
        w_dump_log_add(arg, maybe ? W_DUMP_MAYBE : W_DUMP_CALL, (uintptr_t)pc);
}

bool w_frozen_m_write(struct dump_log *log, const struct frozen_m *fm)
{
        w_backtrace_each(&fm->calls, log_call, log);
        return fm->calls.n_frames != 0;
}
