/* os/linux/tls.c - the thread-local word that marks weft's own threads. Contract: base/thread.h.
 *
 * Initial-exec, so that reading it never calls into the loader (a signal handler may read it), and
 * `used`, because only inline assembly refers to it. The accessor is out of line: in this file the
 * compiler may cache the address, since no context switch happens here.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/thread.h"

W_USED W_HIDDEN __attribute__((tls_model("initial-exec")))
_Thread_local struct thread *w_thread_self;

W_NOIPA void w_self_set(struct thread *self)
{
        w_thread_self = self;
}
