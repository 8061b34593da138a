/* os/preempt.h - CONTRACT: signals that interrupt a thread which computes.
 *
 * The rules for every call are in os/os.h.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_OS_PREEMPT_H
#define W_OS_PREEMPT_H

#include "base/compiler.h"

#include <stdbool.h>

/* A timer that runs down with the CPU time of a thread and then sends the thread a signal. A thread
 * that blocks gets no signal, so none of its system calls ends early. */

/* The registers of a thread when a signal hit it. */
struct w_os_regs {
        const void      *pc, *sp, *fp;  /* fp: the frame pointer register, whatever it holds */
        const uintptr_t *all;           /* every register, valid while the handler runs; or NULL */
        size_t           n_all;
        bool             in_handler;    /* on the signal stack: another handler was running */
};

enum w_os_preempt_cause {
        W_PREEMPT_BY_TIMER,                 /* the timer has run down */
        W_PREEMPT_BY_SEND,                  /* w_os_preempt_send */
};

/* From now on calls on_preempt when such a timer expires or w_os_preempt_send is called: on that
 * thread, in a signal handler on its signal stack. Every other signal with that number is passed on
 * to the earlier handler. One user at a time. -EINVAL: that signal cannot be used; others as
 * sigaction. */
W_MUST_CHECK int w_os_preempt_watch(int signo, void (*on_preempt)(const struct w_os_regs *regs,
                                                                 enum w_os_preempt_cause why));
/* Sends that signal to a thread of this process, which must exist. The signal may be lost if the
 * same signal is pending from another sender: the caller must send it again. A wait of the thread
 * in the kernel may end early, see w_os_thread_state. -EAGAIN and others: not sent. */
W_MUST_CHECK int w_os_preempt_send(int tid);
/* False: the program has installed another handler since. */
bool w_os_preempt_is_watched(void);
/* Restores the earlier handler, where the handler is still ours. */
void w_os_preempt_unwatch(void);

struct w_os_cpu_timer {
        int  id;                /* private to the implementation */
        bool made;
};

/* Makes a timer for a thread of this process. -EAGAIN, -EINVAL and others: none is available. */
W_MUST_CHECK int w_os_cpu_timer_make(struct w_os_cpu_timer *timer, int tid);
/* Lets the timer expire once, after `ns` of CPU time from now on. Does nothing if the timer was
 * never made. Async-signal-safe. */
void w_os_cpu_timer_arm(const struct w_os_cpu_timer *timer, int64_t ns);
void w_os_cpu_timer_delete(struct w_os_cpu_timer *timer);

#endif
