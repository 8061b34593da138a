/* os/linux/sigaction.h - what the handlers of this layer do with the earlier handler.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_OS_LINUX_SIGACTION_H
#define W_OS_LINUX_SIGACTION_H

#include <signal.h>
#include <stdbool.h>

bool w_action_same_handler(const struct sigaction *a, const struct sigaction *b);
/* The same handler, mask and flags. */
bool w_action_same(const struct sigaction *a, const struct sigaction *b);

/* True: neither SIG_DFL nor SIG_IGN. */
bool w_action_is_handler(const struct sigaction *action);

/* Runs that handler as the kernel would have run it, with its own mask. Context: another handler of
 * the same signal, which hands over its arguments. */
void w_action_call(const struct sigaction *action, int sig, siginfo_t *info, void *context);

/* Lets the kernel's default action happen when the calling handler returns. `again`: the
 * instruction will raise the signal again; else the signal is sent to the thread. */
void w_action_do_default(int sig, bool again);

#endif
