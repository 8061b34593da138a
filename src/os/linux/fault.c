/* os/linux/fault.c - first sight of memory faults. Contract: os/os.h.
 *
 * Called by   stack/ (to report an overflow), once for the runtime.
 *
 * The handler stands on the signal stack, so it works when the goroutine's own stack is exhausted.
 * What weft does not claim goes on to whoever was there before, as if weft were not: with the
 * earlier handler's own mask, and to the kernel's default by making the instruction fault again,
 * so that a core file shows the program where it really broke.
 *
 * PROTOCOL fault-watch
 *
 * Goal      the handler, on any thread at any time, finds the callback and what to pass on to.
 * Parties   watcher (one at a time), handler.
 * Words     state: free, taken.   callback.   earlier[], one per signal.
 * Watcher   1 state free -> taken [FW1]   2 earlier[]   3 callback [FW2]   4 install the handlers
 *           end: 5 reinstall earlier[] where the handler is still ours   6 callback = NULL
 *           7 state -> free [FW1]
 * Handler   1 callback [FW2]; call it if there is one   2 pass on to earlier[]
 * Edges     [FW1] one after the other       end: state store-release -> next: state CAS-acquire
 *           [FW2] earlier[] is filled       watch: callback store-release -> handler: load-acquire
 * Buried    somebody who installed a handler on top of ours and passes on to it keeps calling ours
 *           after the end; it finds no callback and passes on. Watching again does not touch such
 *           a signal: ours is called already, and installing it a second time would make the two
 *           call each other for ever. earlier[] of that signal stays as it is.
 * Tests     unit/test_os_fault.c, unit/test_os_fault_watch.c
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/os.h"

#include "os/linux/call.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

enum { N_SIGNALS = 2 };
static const int signals[N_SIGNALS] = { SIGSEGV, SIGBUS };

struct earlier {
        struct sigaction action;        /* what was there before us */
        struct sigaction above;         /* what was found on top of us at the end */
        bool             buried;
        w_atomic_u32     spent;         /* a  1: a one-shot handler has had its shot */
};

static w_atomic_u32   state;            /* a  [FW1] 1: somebody watches */
static w_atomic_uptr  callback;         /* a  [FW2] */
static struct earlier earlier[N_SIGNALS];

/* ---- The handler ----------------------------------------------------------------------------- */

/* Raised by an instruction that will fault again if it runs again, not sent by anyone and not a
 * late notice about broken memory. */
static bool is_synchronous(int sig, const siginfo_t *info)
{
        return info->si_code > 0 && !(sig == SIGBUS && info->si_code == BUS_MCEERR_AO);
}

/* The kernel's default is death. Coming back to the instruction does it with the true context;
 * a signal that somebody sent must be sent again, and arrives when this handler returns. */
static void die_by_default(int sig, const siginfo_t *info)
{
        struct sigaction dfl = { .sa_handler = SIG_DFL };

        (void)W_SYS(sigaction(sig, &dfl, NULL));        /* cannot fail for these two */
        if (!is_synchronous(sig, info))
                (void)W_SYS(syscall(SYS_tgkill, getpid(), w_os_tid(), sig));
}

/* The mask that the kernel would have given to the earlier handler. */
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

static void pass_on(struct earlier *e, int sig, siginfo_t *info, void *context)
{
        struct sigaction action = e->action;     /* one state of it, whatever comes next */

        /* Nobody may ignore his own fault: the kernel kills then. */
        if (action.sa_handler == SIG_IGN && !is_synchronous(sig, info))
                return;
        if (action.sa_handler == SIG_IGN || action.sa_handler == SIG_DFL) {
                die_by_default(sig, info);
                return;
        }
        /* counter: whoever comes first has the one shot. */
        if ((action.sa_flags & (int)SA_RESETHAND) && w_xchg_rlx(&e->spent, 1)) {
                die_by_default(sig, info);
                return;
        }
        take_mask_of(&action, sig, context);
        if (action.sa_flags & SA_SIGINFO)
                action.sa_sigaction(sig, info, context);
        else
                action.sa_handler(sig);
}

static void on_signal(int sig, siginfo_t *info, void *context)
{
        int     saved = errno;
        void (*on_fault)(void *) = (void (*)(void *))w_load_acq(&callback);     /* [FW2] */

        /* Only the kernel's own signals carry an address. */
        if (on_fault && info->si_code > 0)
                on_fault(info->si_addr);
        pass_on(&earlier[sig == signals[0] ? 0 : 1], sig, info, context);
        errno = saved;
}

/* ---- Watching -------------------------------------------------------------------------------- */

static bool is_ours(const struct sigaction *action)
{
        return (action->sa_flags & SA_SIGINFO) && action->sa_sigaction == on_signal;
}

static bool same_handler(const struct sigaction *a, const struct sigaction *b)
{
        if ((a->sa_flags & SA_SIGINFO) != (b->sa_flags & SA_SIGINFO))
                return false;
        return a->sa_flags & SA_SIGINFO ? a->sa_sigaction == b->sa_sigaction
                                        : a->sa_handler == b->sa_handler;
}

/* Of libc's large mask only the kernel's 64 signals are ever filled in. */
static bool same_action(const struct sigaction *a, const struct sigaction *b)
{
        return same_handler(a, b) && a->sa_flags == b->sa_flags &&
               memcmp(&a->sa_mask, &b->sa_mask, sizeof(uint64_t)) == 0;
}

/* Remembers what is installed now, before ours takes its place: from then on the handler may run
 * on any thread and must find it. */
static int look(int i)
{
        struct earlier  *e = &earlier[i];
        struct sigaction now;
        int rc = (int)W_SYS_AT(W_CALL_SIGACTION, sigaction(signals[i], NULL, &now));

        if (rc < 0)
                return rc;
        if (e->buried && same_handler(&now, &e->above))
                return 0;
        e->buried = false;
        if (!is_ours(&now)) {
                /* A handler of an earlier watch may still be passing on: what has not changed is
                 * not written again. */
                if (!same_action(&now, &e->action))
                        e->action = now;
                w_store_rlx(&e->spent, 0);      /* guarded by [FW2] */
        }
        return 0;
}

static int install(int i)
{
        struct sigaction ours = { .sa_sigaction = on_signal,
                                  .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART };

        if (earlier[i].buried)
                return 0;
        sigemptyset(&ours.sa_mask);
        return (int)W_SYS_AT(W_CALL_SIGACTION, sigaction(signals[i], &ours, NULL));
}

static void uninstall(int i)
{
        struct earlier  *e = &earlier[i];
        struct sigaction now;

        (void)W_SYS(sigaction(signals[i], NULL, &now));         /* cannot fail for these two */
        e->buried = !is_ours(&now);
        if (e->buried)
                e->above = now;
        else
                (void)W_SYS(sigaction(signals[i], &e->action, NULL));
}

static int install_all(void (*on_fault)(void *addr))
{
        int rc = 0;

        for (int i = 0; i < N_SIGNALS && rc == 0; i++)
                rc = look(i);
        if (rc < 0)
                return rc;
        w_store_rel(&callback, (uintptr_t)on_fault);              /* [FW2] */
        for (int i = 0; i < N_SIGNALS; i++) {
                rc = install(i);
                if (rc == 0)
                        continue;
                while (i-- > 0)
                        uninstall(i);
                w_store_rel(&callback, (uintptr_t)0);             /* [FW2] */
                return rc;
        }
        return 0;
}

int w_os_faults_watch(void (*on_fault)(void *addr))
{
        uint32_t expected = 0;

        if (!w_cas_acq(&state, &expected, 1))                     /* [FW1] */
                return -EBUSY;
        int rc = install_all(on_fault);
        if (rc < 0)
                w_store_rel(&state, 0);                           /* [FW1] */
        return rc;
}

void w_os_faults_unwatch(void)
{
        for (int i = 0; i < N_SIGNALS; i++)
                uninstall(i);
        w_store_rel(&callback, (uintptr_t)0);                     /* [FW2] */
        w_store_rel(&state, 0);                                   /* [FW1] */
}
