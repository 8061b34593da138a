/* sched/run/freeze.h - the second strength of stopping the world: the threads that run goroutines
 * without a P stop, too. PROTOCOL freeze: sched/run/freeze.c.
 *
 *   w_world_stop();
 *   w_freeze_begin(&f);
 *   look at f.looks: registers and stacks do not change. Nothing may be called that takes a lock of
 *   libc's, of the linker's or of the allocator's: one of those threads may hold it
 *   w_freeze_end(&f);
 *   ...
 *   w_freeze_free(&f);
 *   w_world_start();
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_SCHED_RUN_FREEZE_H
#define W_SCHED_RUN_FREEZE_H

#include "sched/inspect/backtrace.h"
#include "sched/sched.h"

struct dump_log;

enum m_seen {
        W_SEEN_NOT_YET,            /* not settled yet; after w_freeze_begin there are none */
        W_SEEN_FROZEN,          /* it does not go on before w_freeze_end */
        W_SEEN_IN_SYSCALL,         /* in the kernel, in a call that a signal would cut short: it was
                                 * left alone, and may go on at any time */
        W_SEEN_RUNNING,          /* it runs: nothing could be done about it */
        W_SEEN_EXITED,            /* it runs no goroutine any more */
};

/* One M that ran a goroutine without a P when the freeze began. */
struct frozen_m {
        struct m        *m;
        struct g        *g;             /* STANDS, WAITS: what it runs */
        struct w_os_regs regs;          /* STANDS: all. WAITS: pc and sp. UNSEEN: none */
        enum m_seen    how;
        int64_t          asked_at;      /* first; 0: not yet */
        int64_t          blocked_at;    /* likewise: the signal was */
        struct backtrace     calls;         /* by w_frozen_m_take */
};

struct freeze {
        struct frozen_m *ms;             /* NULL: no memory for them, and nobody is stopped */
        uint32_t     n;
        size_t       bytes;
};

/* Context: the stopper, the world stopped, on a stack with room for much: g0, or not an M. Takes a
 * second at worst: where threads get no CPU. */
void w_freeze_begin(struct freeze *f);
/* Async-signal-safe, and takes no lock. */
void w_freeze_end(struct freeze *f);
void w_freeze_free(struct freeze *f);

/* look.c. Copies what leads to where that M is; between begin and end, w_os_code_learn before. */
void w_frozen_m_take(struct frozen_m *look);
/* Tells it; after the end. False: nothing is known. */
bool w_frozen_m_write(struct dump_log *r, const struct frozen_m *look);

/* preempt_handler.c, in the handler. The calling M stands if it was asked to, until it may go
 * on. */
void w_freeze_answer(struct m *mp, const struct w_os_regs *regs);
/* It is held from here on, and counts as one that stands; and not any more. */
void w_freeze_pause(struct m *mp, const struct w_os_regs *regs);
void w_freeze_resume(struct m *mp);

#endif
