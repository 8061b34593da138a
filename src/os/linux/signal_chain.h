/* os/linux/signal_chain.h - a signal handler of weft's in front of whatever was there before.
 *
 * Called by   fault.c, preempt.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_OS_LINUX_SIGNAL_CHAIN_H
#define W_OS_LINUX_SIGNAL_CHAIN_H

#include "base/atomic.h"

#include <signal.h>

typedef void w_signal_fn(int sig, siginfo_t *info, void *context);

struct w_chain {
        int              sig;
        w_signal_fn     *ours;
        struct sigaction action;        /* what was there before us */
        struct sigaction above;         /* what was found on top of us at the end */
        bool             buried;
        w_atomic_u32     spent;         /* a  1: a one-shot handler has had its shot */
};

/* Remembers what is installed now, before ours takes its place: from then on the handler may run
 * on any thread and must find it. */
W_MUST_CHECK int w_chain_look(struct w_chain *c);
/* On the signal stack, with restarting calls. */
W_MUST_CHECK int w_chain_install(struct w_chain *c);
/* Puts back what was there, as far as the handler is still ours. Who has installed one on top of
 * ours and passes on to it keeps calling ours. Installing again does not touch such a signal: ours
 * is called already, and a second time would make the two call each other for ever. */
void w_chain_uninstall(struct w_chain *c);
/* False: somebody has installed another one since. */
bool w_chain_is_ours(const struct w_chain *c);

/* As if weft were not there: with the earlier handler's own mask, and to the kernel's default by
 * making an instruction fault again, so that a core file shows where the program really broke.
 * Context: the handler, as its last act. */
void w_chain_pass_on(struct w_chain *c, siginfo_t *info, void *context);

#endif
