/* os/linux/signal_chain.c - weft's signal handler in front of the earlier handler.
 *
 * For fault.c and preempt.c. Their protocols say in which order these functions are called.
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/linux/signal_chain.h"

#include "os/linux/sigaction.h"
#include "os/linux/errno_call.h"
#include "os/os.h"

/* ---- Passing on ------------------------------------------------------------------------------ */

/* True: an instruction raised the signal and will fault again if it runs again. Not sent by a
 * process, and not a late notice about broken memory. */
static bool is_synchronous(int sig, const siginfo_t *info)
{
        return (sig == SIGSEGV || sig == SIGBUS) && info->si_code > 0 &&
               !(sig == SIGBUS && info->si_code == BUS_MCEERR_AO);
}

static bool is_ignored_by_default(int sig)
{
        return sig == SIGURG || sig == SIGCHLD || sig == SIGWINCH || sig == SIGCONT;
}

/* Mostly the end of the process. A fault comes again when the handler returns to the instruction,
 * with the true context. A signal that was sent must be sent again; it arrives when this handler
 * returns. */
static void do_default(int sig, const siginfo_t *info)
{
        if (!is_ignored_by_default(sig))
                w_action_do_default(sig, is_synchronous(sig, info));
}

void w_chain_pass_on(struct w_chain *c, siginfo_t *info, void *context)
{
        struct sigaction action = c->action;     /* a copy: it may change meanwhile */

        /* A thread cannot ignore its own fault: the kernel kills the process. */
        if (action.sa_handler == SIG_IGN && !is_synchronous(c->sig, info))
                return;
        if (!w_action_is_handler(&action)) {
                do_default(c->sig, info);
                return;
        }
        /* counter: the first thread runs the one-shot handler. */
        if ((action.sa_flags & (int)SA_RESETHAND) && w_xchg_rlx(&c->spent, 1)) {
                do_default(c->sig, info);
                return;
        }
        w_action_call(&action, c->sig, info, context);
}

/* ---- Installing ------------------------------------------------------------------------------ */

static bool is_ours(const struct w_chain *c, const struct sigaction *action)
{
        return (action->sa_flags & SA_SIGINFO) && action->sa_sigaction == c->ours;
}

int w_chain_look(struct w_chain *c)
{
        struct sigaction now;
        int rc = (int)W_SYS_AT(W_CALL_SIGACTION, sigaction(c->sig, NULL, &now));

        if (rc < 0)
                return rc;
        if (c->buried && w_action_same_handler(&now, &c->above))
                return 0;
        c->buried = false;
        if (!is_ours(c, &now)) {
                /* A handler of an earlier watch may still be passing on: an unchanged action is
                 * not written again. */
                if (!w_action_same(&now, &c->action))
                        c->action = now;
                w_store_rlx(&c->spent, 0);      /* guarded: see the protocol of the caller */
        }
        return 0;
}

int w_chain_install(struct w_chain *c)
{
        struct sigaction ours = { .sa_sigaction = c->ours,
                                  .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART };

        if (c->buried)
                return 0;
        sigemptyset(&ours.sa_mask);
        return (int)W_SYS_AT(W_CALL_SIGACTION, sigaction(c->sig, &ours, NULL));
}

bool w_chain_is_ours(const struct w_chain *c)
{
        struct sigaction now;

        return W_SYS(sigaction(c->sig, NULL, &now)) == 0 && is_ours(c, &now);
}

void w_chain_uninstall(struct w_chain *c)
{
        struct sigaction now;

        (void)W_SYS(sigaction(c->sig, NULL, &now));             /* cannot fail: one is installed */
        c->buried = !is_ours(c, &now);
        if (c->buried)
                c->above = now;
        else
                (void)W_SYS(sigaction(c->sig, &c->action, NULL));
}
