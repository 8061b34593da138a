/* os/linux/sigaction.c - dispositions of signals: compared, called, set to the default.
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/linux/sigaction.h"

#include "os/linux/errno_call.h"
#include "os/os.h"

#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

bool w_action_same_handler(const struct sigaction *a, const struct sigaction *b)
{
        if ((a->sa_flags & SA_SIGINFO) != (b->sa_flags & SA_SIGINFO))
                return false;
        return a->sa_flags & SA_SIGINFO ? a->sa_sigaction == b->sa_sigaction
                                        : a->sa_handler == b->sa_handler;
}

/* libc's mask is larger, but only the kernel's 64 signals are ever set. */
bool w_action_same(const struct sigaction *a, const struct sigaction *b)
{
        return w_action_same_handler(a, b) && a->sa_flags == b->sa_flags &&
               memcmp(&a->sa_mask, &b->sa_mask, sizeof(uint64_t)) == 0;
}

bool w_action_is_handler(const struct sigaction *action)
{
        return action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN;
}

/* Sets the mask that the kernel would have set for the handler. */
static void take_mask_of(const struct sigaction *action, int sig, const ucontext_t *context)
{
        sigset_t mask;

        sigemptyset(&mask);
        memcpy(&mask, &context->uc_sigmask, sizeof(uint64_t));
        sigorset(&mask, &mask, &action->sa_mask);
        if (!(action->sa_flags & SA_NODEFER))
                sigaddset(&mask, sig);
        (void)pthread_sigmask(SIG_SETMASK, &mask, NULL);        /* cannot fail */
}

void w_action_call(const struct sigaction *action, int sig, siginfo_t *info, void *context)
{
        take_mask_of(action, sig, context);
        if (action->sa_flags & SA_SIGINFO)
                action->sa_sigaction(sig, info, context);
        else
                action->sa_handler(sig);
}

void w_action_do_default(int sig, bool again)
{
        struct sigaction dfl = { .sa_handler = SIG_DFL };

        (void)W_SYS(sigaction(sig, &dfl, NULL));        /* cannot fail: it was caught */
        if (!again)
                (void)W_SYS(syscall(SYS_tgkill, getpid(), w_os_tid(), sig));
}
