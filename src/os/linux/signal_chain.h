/* os/linux/signal_chain.h - weft's signal handler in front of the earlier handler.
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
        struct sigaction action;        /* the earlier disposition */
        struct sigaction above;         /* the handler found on top of ours at the end */
        bool             buried;
        w_atomic_u32     spent;         /* a  1: a one-shot handler has run */
};

/* Stores the disposition that is installed now, before our handler replaces it: from then on our
 * handler may run on any thread and must find it. */
W_MUST_CHECK int w_chain_look(struct w_chain *c);
/* Installs our handler, on the signal stack and with SA_RESTART. */
W_MUST_CHECK int w_chain_install(struct w_chain *c);
/* Restores the earlier disposition, if the handler is still ours. Otherwise the program has put a
 * handler on top of ours, which may pass on to ours and keep calling it: ours is buried. Installing
 * again leaves a buried handler alone: it is called already, and a second installation would make
 * the two call each other for ever. */
void w_chain_uninstall(struct w_chain *c);
/* False: the program has installed another handler since. */
bool w_chain_is_ours(const struct w_chain *c);

/* Passes the signal on as if weft were not there: to the earlier handler with its own mask, or to
 * the kernel's default action. A faulting instruction faults again, so that a core file shows where
 * the program really broke. Context: the handler, as its last act. */
void w_chain_pass_on(struct w_chain *c, siginfo_t *info, void *context);

#endif
