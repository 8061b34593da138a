/* os/linux/signal_catch.c - signals that the program asked weft to catch. Contract: os/signal.h.
 *
 * Faults of the program's own instructions (a division by zero) are passed on even where the signal
 * is caught: the instruction would fault again when the handler returns.
 *
 * PROTOCOL signal-catch
 *
 * Goal      the handler, on any thread at any time, finds the callback and the handler to pass on
 *           to. In the end the program has its disposition back, unless it has installed another.
 * Parties   catcher (one at a time, by its caller's lock), handler.
 * Words     callback.   caught[], one per signal: `before`, the disposition that release restores;
 *           `next`, the disposition that the handler passes on to.
 * Catch (the catcher)
 *   1. before = next = the installed disposition.
 *   2. Store callback [CT1].
 *   3. Install the handler.
 * Release (the catcher)
 *   1. If the handler is still ours, restore `before`. Else leave the program's handler installed.
 * Handler
 *   1. Load callback [CT1] and call it.
 *   2. If it returned true, pass the signal on to `next`.
 * Edges     [CT1] next is filled   catch: callback store-release -> handler: load-acquire
 * Buried    a handler that the program installed on top of ours may pass on to ours after the
 *           release. The callback returns true for a released signal, and ours passes it on.
 *           Catching again on top of such a handler must not pass on to it, or the two would call
 *           each other for ever: `next` stays, and `before` is that handler.
 * Late      a handler of an earlier catch may still be passing on: an unchanged `next` is not
 *           written again.
 * Tests     unit/test_os_signal_catch.c, flow/signal/test_signal.c
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/os.h"

#include "os/linux/sigaction.h"
#include "os/linux/errno_call.h"
#include "os/sigset.h"

#include <signal.h>

_Static_assert(W_SIG_QUIT == SIGQUIT && W_SIG_URG == SIGURG, "the numbers in os/signal.h");

struct caught {
        struct sigaction before;        /* for the release to restore */
        struct sigaction next;          /* for the handler to pass on to */
        struct sigaction above;         /* found on top of ours at the release */
        bool             buried;
};

static w_atomic_uptr callback;          /* a  [CT1] */
static struct caught caught[N_SIGNALS];

static struct caught *of(int sig)
{
        return &caught[sig - 1];
}

/* ---- The handler ----------------------------------------------------------------------------- */

/* True: an instruction of this thread raised the signal; no process sent it. */
static bool is_own_fault(int sig, const siginfo_t *info)
{
        return info->si_code > 0 &&
               (sig == SIGFPE || sig == SIGILL || sig == SIGTRAP || sig == SIGSYS);
}

static void pass_on(int sig, siginfo_t *info, void *context)
{
        struct sigaction next = of(sig)->next;  /* a copy: it may change meanwhile */

        if (w_action_is_handler(&next))
                w_action_call(&next, sig, info, context);
        else if (is_own_fault(sig, info))       /* a fault cannot be ignored */
                w_action_do_default(sig, sig == SIGFPE || sig == SIGILL);
}

static void on_signal(int sig, siginfo_t *info, void *context)
{
        int   saved = errno;
        bool (*tell)(int) = (bool (*)(int))w_load_acq(&callback);         /* [CT1] */

        if (is_own_fault(sig, info) || tell(sig))
                pass_on(sig, info, context);
        errno = saved;
}

/* ---- Catching -------------------------------------------------------------------------------- */

static bool is_ours(const struct sigaction *action)
{
        return (action->sa_flags & SA_SIGINFO) && action->sa_sigaction == on_signal;
}

static void remember(struct caught *c, const struct sigaction *now)
{
        c->before = *now;
        if (c->buried && w_action_same_handler(now, &c->above))
                return;
        c->buried = false;
        if (!w_action_same(now, &c->next))
                c->next = *now;
}

int w_os_signal_catch(int sig, bool (*on_arrival)(int sig))
{
        struct sigaction now, ours = { .sa_sigaction = on_signal,
                                       .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART };
        int              rc = (int)W_SYS_AT(W_CALL_SIGACTION, sigaction(sig, NULL, &now));

        if (rc < 0)
                return rc;
        sigemptyset(&ours.sa_mask);
        if (!is_ours(&now))     /* else the program has reinstalled our handler */
                remember(of(sig), &now);
        w_store_rel(&callback, (uintptr_t)on_arrival);            /* [CT1] */
        return (int)W_SYS_AT(W_CALL_SIGACTION, sigaction(sig, &ours, NULL));
}

void w_os_signal_release(int sig)
{
        struct caught   *c = of(sig);
        struct sigaction now;

        (void)W_SYS(sigaction(sig, NULL, &now));        /* cannot fail for what was caught */
        if (is_ours(&now)) {
                (void)W_SYS(sigaction(sig, &c->before, NULL));
                return;
        }
        c->buried = true;
        c->above = now;
}

/* ---- Sets ------------------------------------------------------------------------------------ */

bool w_os_signal_is_ignored(int sig)
{
        struct sigaction now;

        return W_SYS(sigaction(sig, NULL, &now)) == 0 && now.sa_handler == SIG_IGN;
}
