/* os/linux/fault.c - memory faults, before the program's handlers. Contract: os/signal.h.
 *
 * The handler runs on the signal stack, so it works when the goroutine's own stack is exhausted. A
 * fault that is not weft's is passed on to the earlier handler (os/linux/signal_chain.h).
 *
 * PROTOCOL fault-watch
 *
 * Goal      the handler, on any thread at any time, finds the callback and the earlier handler.
 * Parties   watcher (one at a time), handler.
 * Words     state: free or taken.   callback.   earlier[], one per signal.
 * Watch (the watcher)
 *   1. state free -> taken [FW1].
 *   2. Fill earlier[].
 *   3. Store callback [FW2].
 *   4. Install the handlers.
 * Unwatch (the watcher)
 *   5. Reinstall earlier[] where the handler is still ours.
 *   6. callback = NULL.
 *   7. state -> free [FW1].
 * Handler
 *   1. Load callback [FW2]. If it is not NULL and the kernel raised the signal, call it.
 *   2. Pass the signal on to earlier[].
 * Edges     [FW1] one watch after another   unwatch: state store-release -> next: state CAS-acquire
 *           [FW2] earlier[] is filled       watch: callback store-release -> handler: load-acquire
 * Buried    a handler that the program installed on top of ours may pass on to ours after the
 *           unwatch. Ours finds no callback and passes on. earlier[] of that signal stays.
 * Tests     unit/test_os_fault.c, unit/test_os_fault_watch.c
 *
 * SPDX-License-Identifier: MIT
 */
#include "os/os.h"

#include "os/linux/errno_call.h"
#include "os/linux/signal_chain.h"

enum { N_SIGNALS = 2 };

static w_signal_fn    on_signal;
static w_atomic_u32   state;            /* a  [FW1] 1: taken */
static w_atomic_uptr  callback;         /* a  [FW2] */
static struct w_chain earlier[N_SIGNALS] = {
        { .sig = SIGSEGV, .ours = on_signal },
        { .sig = SIGBUS, .ours = on_signal },
};

static void on_signal(int sig, siginfo_t *info, void *context)
{
        int     saved = errno;
        void (*on_fault)(void *) = (void (*)(void *))w_load_acq(&callback);     /* [FW2] */

        /* Only the kernel's own signals carry an address. */
        if (on_fault && info->si_code > 0)
                on_fault(info->si_addr);
        w_chain_pass_on(&earlier[sig == SIGSEGV ? 0 : 1], info, context);
        errno = saved;
}

static int install_all(void (*on_fault)(void *addr))
{
        int rc = 0;

        for (int i = 0; i < N_SIGNALS && rc == 0; i++)
                rc = w_chain_look(&earlier[i]);
        if (rc < 0)
                return rc;
        w_store_rel(&callback, (uintptr_t)on_fault);              /* [FW2] */
        for (int i = 0; i < N_SIGNALS; i++) {
                rc = w_chain_install(&earlier[i]);
                if (rc == 0)
                        continue;
                while (i-- > 0)
                        w_chain_uninstall(&earlier[i]);
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
                w_chain_uninstall(&earlier[i]);
        w_store_rel(&callback, (uintptr_t)0);                     /* [FW2] */
        w_store_rel(&state, 0);                                   /* [FW1] */
}
