/* sched/inspect/backtrace.h - the calls that led a thread to where it is, copied from its stack.
 *
 * Taking and reporting are two steps. Taking copies words and takes no lock. Names are looked up
 * later, when no thread waits for the caller.
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
        const void *maybes[W_BACKTRACE_MAYBES];     /* between the first two frames */
};

struct g;
struct m;
struct w_os_regs;

/* Copies the backtrace of mp, which runs gp and has these registers. gp's stack must stay mapped
 * meanwhile, but its contents may change. Which addresses are code is what w_os_code_learn has
 * found. */
void w_backtrace_take(struct backtrace *c, const struct m *mp, const struct g *gp,
                  const struct w_os_regs *regs);

/* Calls fn for each call, innermost first. `maybe`: the address may also be a leftover of an
 * earlier call. Takes no lock. */
typedef void backtrace_fn(void *arg, const void *pc, bool maybe);
void w_backtrace_each(const struct backtrace *c, backtrace_fn *fn, void *arg);

#endif
