/* os/sigset.h - sets of signals as bits: the same wherever there is libc. Contract: os/os.h.
 *
 * Defines functions: one file of each system includes it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_OS_SIGSET_H
#define W_OS_SIGSET_H

#include "os/os.h"

#include <signal.h>

enum { N_SIGNALS = 64 };

uint64_t w_os_signals_of(const void *set)
{
        uint64_t bits = 0;

        for (int sig = 1; sig <= N_SIGNALS; sig++)
                if (sigismember(set, sig) == 1)
                        bits |= W_SIG_BIT(sig);
        return bits;
}

uint64_t w_os_signals_reserved(void)
{
        return W_SIG_BIT(SIGKILL) | W_SIG_BIT(SIGSTOP) | W_SIG_BIT(SIGSEGV) | W_SIG_BIT(SIGBUS);
}

#endif
