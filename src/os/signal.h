/* os/signal.h - CONTRACT: signal masks, signal stacks, memory faults, caught signals.
 *
 * The rules for every call are in os/os.h.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_OS_SIGNAL_H
#define W_OS_SIGNAL_H

#include "base/compiler.h"

#include <stdbool.h>

/* ---- Masks and signal stacks ----------------------------------------------------------------- */

struct w_os_sigmask {
        uint64_t bits[2];       /* room for twice the kernel's 64 signals */
};

/* Blocks every signal on this thread and stores the mask before in *old (may be NULL). */
void w_os_signals_block(struct w_os_sigmask *old);
void w_os_signals_restore(const struct w_os_sigmask *old);
void w_os_signals_get(struct w_os_sigmask *out);

/* A signal stack for the calling thread, large enough for this CPU's register file, guarded below.
 * A signal stack that the application installed before stays (*out is empty then). */
struct w_os_altstack {
        void  *base;            /* mapping, guard included; NULL: none of ours */
        size_t size;
};
W_MUST_CHECK int w_os_altstack_install(struct w_os_altstack *out);
void w_os_altstack_remove(struct w_os_altstack *stack);

/* ---- Faults ---------------------------------------------------------------------------------- */

/* Installs a handler for memory faults (SIGSEGV, SIGBUS) on the signal stack. `on_fault` gets the
 * address and returns if the fault is not weft's; then the earlier handler runs, or the default
 * action. One user at a time: -EBUSY. */
W_MUST_CHECK int w_os_faults_watch(void (*on_fault)(void *addr));
/* Restores the earlier handlers, where the handler is still ours. */
void w_os_faults_unwatch(void);

/* ---- Caught signals -------------------------------------------------------------------------- */

/* Sets of signals are words: bit n - 1 is signal n. */
#define W_SIG_BIT(sig) (UINT64_C(1) << ((sig) - 1))
enum { W_SIG_QUIT = 3, W_SIG_URG = 23 };

/* The signals in libc's sigset_t at `set`. */
uint64_t w_os_signals_of(const void *set);
/* The signals that cannot be caught, and the signals that w_os_faults_watch uses. */
uint64_t w_os_signals_reserved(void);
bool w_os_signal_is_ignored(int sig);

/* From now on calls `on_arrival` whenever the signal arrives, in a handler on the signal stack of
 * the thread that it hits. If on_arrival returns true, the signal is passed on to the earlier
 * handler. on_arrival must be the same function for all signals. It may still be called a moment
 * after the release, and for ever by a handler on top of ours that passes its signals on. System
 * calls that the signal interrupts are restarted. -EINVAL: the signal cannot be caught.
 * A signal must be released before it is caught again; one call at a time. */
W_MUST_CHECK int w_os_signal_catch(int sig, bool (*on_arrival)(int sig));
/* Restores the earlier handler, unless the handler is not ours any more. */
void w_os_signal_release(int sig);

#endif
