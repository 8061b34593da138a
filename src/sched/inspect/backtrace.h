/* sched/inspect/backtrace.h - the calls that led a thread to where it is, as copied from its stack.
 *
 * Called by   look (threads that stand while the world does), blocked (one that blocks).
 *
 * Taking and telling are two steps: to take is to copy words and takes no lock; names are looked up
 * when nobody is kept waiting.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_INSPECT_BACKTRACE_H
#define W_SCHED_INSPECT_BACKTRACE_H

#include <stdbool.h>
#include <stdint.h>

enum { W_BACKTRACE_FRAMES = 64, W_BACKTRACE_MAYBES = 32 };

struct backtrace {
        bool        searched;           /* the frame pointer led nowhere */
        uint32_t    n_frames, n_maybes; /* no frames: nothing is known */
        const void *frames[W_BACKTRACE_FRAMES];
        const void *maybes[W_BACKTRACE_MAYBES];     /* between the first two of them */
};

struct g;
struct m;
struct w_os_regs;

/* Where mp, which runs gp, is by `regs`. gp's stack stays where it is meanwhile, but need not be
 * still. Code is what w_os_code_learn has found. */
void w_backtrace_take(struct backtrace *c, const struct m *mp, const struct g *gp,
                  const struct w_os_regs *regs);

/* Innermost first. `maybe`: it may also be a leftover of an earlier call. Takes no lock. */
typedef void backtrace_fn(void *arg, const void *pc, bool maybe);
void w_backtrace_each(const struct backtrace *c, backtrace_fn *fn, void *arg);

#endif
