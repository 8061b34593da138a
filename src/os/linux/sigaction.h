/* os/linux/sigaction.h - what the handlers of this layer do with the one that was there before
 * them.
 *
 * Called by   signal_chain.c, signal_catch.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_OS_LINUX_SIGACTION_H
#define W_OS_LINUX_SIGACTION_H

#include <signal.h>
#include <stdbool.h>

bool w_action_same_handler(const struct sigaction *a, const struct sigaction *b);
/* And the same mask and flags. */
bool w_action_same(const struct sigaction *a, const struct sigaction *b);

/* Neither the kernel's default nor to be ignored. */
bool w_action_is_handler(const struct sigaction *action);

/* Runs that handler as the kernel would have, with its own mask. Context: another handler of the
 * same signal, whose arguments these are. */
void w_action_call(const struct sigaction *action, int sig, siginfo_t *info, void *context);

/* The kernel's default happens when the handler that calls this returns. `again`: by itself, for
 * the instruction will raise the signal again; else it is sent to the thread. */
void w_action_do_default(int sig, bool again);

#endif
