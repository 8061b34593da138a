/* os/linux/preempt.c - a signal to a thread that computes, and only then. Contract: os/preempt.h.
 *
 * The signal comes from a timer on the thread's own CPU clock. A thread that blocks uses no CPU, so
 * it gets no signal, and none of the program's system calls ends early. A thread that must stop
 * whatever it does is sent the signal.
 *
 * PROTOCOL preempt-watch
 *
 * Goal      the handler, on any thread at any time, finds the callback. A signal that is neither
 *           from our timers nor sent by us is passed on to the earlier handler.
 * Parties   watcher (one run at a time), handler.
 * Words     callback; chains.
 * Watch (the watcher)
 *   1. Read the installed handler into the chain.
 *   2. Store callback [PW1].
 *   3. Install our handler.
 * Unwatch (the watcher)
 *   4. Restore the earlier handler.
 *   5. callback = NULL.
 * Handler
 *   1. Load callback [PW1].
 *   2. If the signal is ours, call the callback, if there is one. Else pass the signal on.
 * Edges     [PW1] the chain's action is filled   watch: callback store-release -> handler:
 *                                                load-acquire
 * Tests     unit/test_os_preempt.c
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/os.h"

#include "os/linux/errno_call.h"
#include "os/linux/signal_chain.h"
#include "os/linux/safepoint.h"

#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum { N_SIGNALS = 65 };

static w_signal_fn    on_signal;
static w_atomic_uptr  callback;         /* a  [PW1] */
/* One for each signal that a run may use: a handler on top of ours goes on calling ours when a
 * later run uses another signal. */
static struct w_chain chains[N_SIGNALS];
static int            watched;          /* which of them */

/* ---- The handler ----------------------------------------------------------------------------- */

typedef void preempt_fn(const struct w_os_regs *regs, enum w_os_preempt_cause why);

/* The kernel tells which signal stack the thread has, not whether the thread was on it. */
static bool is_on(const stack_t *stack, const void *sp)
{
        return (uintptr_t)sp - (uintptr_t)stack->ss_sp < stack->ss_size;
}

static struct w_os_regs regs_of(const ucontext_t *context)
{
#if defined(__x86_64__)
        const greg_t *all = context->uc_mcontext.gregs;
        struct w_os_regs regs = { .pc = (const void *)(uintptr_t)all[REG_RIP],
                                  .sp = (const void *)(uintptr_t)all[REG_RSP],
                                  .fp = (const void *)(uintptr_t)all[REG_RBP],
                                  .n_all = NGREG };
#else
        const unsigned long long *all = context->uc_mcontext.regs;
        struct w_os_regs regs = { .pc = (const void *)(uintptr_t)context->uc_mcontext.pc,
                                  .sp = (const void *)(uintptr_t)context->uc_mcontext.sp,
                                  .fp = (const void *)(uintptr_t)all[29],
                                  .n_all = 31 };
#endif
        regs.all = (const uintptr_t *)(const void *)all;
        regs.in_handler = is_on(&context->uc_stack, regs.sp);
        return regs;
}

/* Our signals carry the address of one of our variables; the program's timers and signals do
 * not. */
static bool is_ours(const siginfo_t *info)
{
        return (info->si_code == SI_TIMER || info->si_code == SI_QUEUE) &&
               info->si_value.sival_ptr == &callback;
}

static void on_signal(int sig, siginfo_t *info, void *context)
{
        int        saved = errno;
        preempt_fn *fn = (preempt_fn *)w_load_acq(&callback);       /* [PW1] */

        if (!is_ours(info)) {
                w_chain_pass_on(&chains[sig], info, context);
        } else if (fn) {
                struct w_os_regs regs = regs_of(context);

                fn(&regs, info->si_code == SI_TIMER ? W_PREEMPT_BY_TIMER : W_PREEMPT_BY_SEND);
        }
        errno = saved;
}

/* ---- Watching -------------------------------------------------------------------------------- */

/* False for signals that cannot be caught, report memory faults, or belong to libc. */
static bool may_be_used(int signo)
{
        return signo > 0 && signo <= SIGRTMAX && (signo < 32 || signo >= SIGRTMIN) &&
               signo != SIGKILL && signo != SIGSTOP && signo != SIGSEGV && signo != SIGBUS;
}

int w_os_preempt_watch(int signo, preempt_fn *on_preempt)
{
        if (!may_be_used(signo))
                return -EINVAL;
        struct w_chain *chain = &chains[signo];

        chain->sig = signo;
        chain->ours = on_signal;
        w_safepoint_init();
        int rc = w_chain_look(chain);

        if (rc < 0)
                return rc;
        watched = signo;
        w_store_rel(&callback, (uintptr_t)on_preempt);             /* [PW1] */
        rc = w_chain_install(chain);
        if (rc < 0)
                w_store_rel(&callback, (uintptr_t)0);             /* [PW1] */
        return rc;
}

bool w_os_preempt_is_watched(void)
{
        return chains[watched].buried || w_chain_is_ours(&chains[watched]);
}

void w_os_preempt_unwatch(void)
{
        w_chain_uninstall(&chains[watched]);
        w_store_rel(&callback, (uintptr_t)0);                     /* [PW1] */
}

/* With the same value as a timer's signal, for is_ours(). sigqueue(3) cannot send to one thread. */
int w_os_preempt_send(int tid)
{
        siginfo_t info;

        memset(&info, 0, sizeof(info));
        info.si_signo = watched;
        info.si_code = SI_QUEUE;
        info.si_pid = getpid();
        info.si_uid = getuid();
        info.si_value.sival_ptr = &callback;
        return (int)W_SYS(syscall(SYS_rt_tgsigqueueinfo, getpid(), tid, watched, &info));
}

/* ---- Timers ---------------------------------------------------------------------------------- */

/* The kernel's number of a thread's CPU clock. */
static clockid_t cpu_clock_of(int tid)
{
        return (clockid_t)(~(unsigned)tid << 3 | 6);
}

int w_os_cpu_timer_make(struct w_os_cpu_timer *timer, int tid)
{
        struct sigevent to = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = watched };
        int             id = 0;

        to.sigev_value.sival_ptr = &callback;
        to._sigev_un._tid = tid;
        int rc = (int)W_SYS_AT(W_CALL_TIMER, syscall(SYS_timer_create, cpu_clock_of(tid), &to,
                                                     &id));

        *timer = (struct w_os_cpu_timer){ .made = rc == 0, .id = id };
        return rc;
}

void w_os_cpu_timer_arm(const struct w_os_cpu_timer *timer, int64_t ns)
{
        struct itimerspec at = { .it_value = { .tv_sec = ns / 1000000000,
                                               .tv_nsec = ns % 1000000000 } };

        if (timer->made)        /* cannot fail then */
                (void)W_SYS(syscall(SYS_timer_settime, timer->id, 0, &at, NULL));
}

void w_os_cpu_timer_delete(struct w_os_cpu_timer *timer)
{
        if (timer->made)
                (void)W_SYS(syscall(SYS_timer_delete, timer->id));
        *timer = (struct w_os_cpu_timer){ 0 };
}
