/* os/thread_state.h - CONTRACT: what another thread of this process does: its CPU time, its state.
 *
 * The rules for every call are in os/os.h.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_OS_THREAD_STATE_H
#define W_OS_THREAD_STATE_H

#include "base/compiler.h"

#include <stdbool.h>

/* The CPU time of a thread of this process, in ns, since it began. Both figures lag behind. `run`
 * lags while the thread runs, by one tick of the kernel at most (10 ms at worst). `wait` grows only
 * when a wait for a CPU is over: a thread that waits for a CPU now seems to do nothing, and
 * w_os_thread_is_ready tells the difference. */
struct w_os_cpu_usage {
        int64_t run;            /* on a CPU */
        int64_t wait;           /* ready, but no CPU was available */
};

/* Opens a descriptor for w_os_cpu_usage_read. -EMFILE, -ENOENT and others: unknown. */
W_MUST_CHECK int w_os_cpu_usage_open(int tid);
/* -ESRCH: the thread has ended; others as above. */
W_MUST_CHECK int w_os_cpu_usage_read(int fd, struct w_os_cpu_usage *out);
void w_os_cpu_usage_close(int fd);

/* 1: the thread runs, or would run if it had a CPU. 0: it waits for something else. -ESRCH: the
 * thread has ended; others as above. */
W_MUST_CHECK int w_os_thread_is_ready(int tid);

/* What a thread that is in user code does at this moment. */
struct w_os_thread_state {
        bool        computes;   /* runs, or would with a CPU; else it waits, and the rest is set */
        bool        goes_on;    /* a signal handler does not end its wait early */
        const void *pc, *sp;
};

/* -EMFILE, -ENOENT and others: unknown. */
W_MUST_CHECK int w_os_thread_state(int tid, struct w_os_thread_state *out);
/* 1: the thread blocks the signal. 0: it does not. Others as above. */
W_MUST_CHECK int w_os_signal_is_blocked(int tid, int signo);

#endif
