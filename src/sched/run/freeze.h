/* sched/run/freeze.h - freezes the threads that run goroutines without a P, while the world is
 * stopped. PROTOCOL freeze: sched/run/freeze.c.
 *
 *   w_world_stop();
 *   w_freeze_begin(&f);
 *   read f.ms: registers and stacks do not change. Call nothing that takes a lock of libc, the
 *   dynamic linker or the allocator: a frozen thread may hold that lock
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
        W_SEEN_NOT_YET,         /* not settled yet; w_freeze_begin settles every M */
        W_SEEN_FROZEN,          /* does not continue before w_freeze_end */
        W_SEEN_IN_SYSCALL,      /* in a system call that a signal would cut short: not frozen, and
                                 * may continue at any time */
        W_SEEN_RUNNING,         /* runs: it could not be frozen */
        W_SEEN_EXITED,          /* runs no goroutine any more */
};

/* One M that ran a goroutine without a P when the freeze began. */
struct frozen_m {
        struct m        *m;
        struct g        *g;             /* FROZEN, IN_SYSCALL: the goroutine that it runs */
        struct w_os_regs regs;          /* FROZEN: all. IN_SYSCALL: pc and sp. RUNNING: none */
        enum m_seen      how;
        int64_t          asked_at;      /* time of the first request; 0: none yet */
        int64_t          blocked_at;    /* time when the signal was first seen blocked; 0: never */
        struct backtrace calls;         /* set by w_frozen_m_take */
};

struct freeze {
        struct frozen_m *ms;            /* NULL: no such M, or no memory; no thread is frozen */
        uint32_t         n;
        size_t           bytes;
};

/* Context: the stopper, the world stopped, on a large stack: g0, or a thread that is no M. Takes at
 * most a second, if threads get no CPU. */
void w_freeze_begin(struct freeze *f);
/* Async-signal-safe, and takes no lock. */
void w_freeze_end(struct freeze *f);
void w_freeze_free(struct freeze *f);

/* Defined in inspect/backtrace.c. Copies the backtrace of fm->m. Context: between begin and end,
 * after w_os_code_learn. */
void w_frozen_m_take(struct frozen_m *fm);
/* Adds the backtrace to the log. Context: after the end. False: nothing is known. */
bool w_frozen_m_write(struct dump_log *log, const struct frozen_m *fm);

/* For preempt_handler.c, in the handler. Freezes the calling M if the stopper has asked for it, and
 * returns when the M may continue. */
void w_freeze_answer(struct m *mp, const struct w_os_regs *regs);
/* Between pause and resume the preempted M is stopped, and can be frozen without a signal. */
void w_freeze_pause(struct m *mp, const struct w_os_regs *regs);
void w_freeze_resume(struct m *mp);

#endif
