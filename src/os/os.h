/* os/os.h - CONTRACT: everything weft asks of an operating system.
 *
 * Two implementations: os/linux (the real one) and os/sim (the simulated machine). os/explore
 * implements the few calls that the explored parts need. No code above this layer talks to the
 * kernel or to libc's threads in any other way.
 *
 * Rules for every call:
 *   - the result is 0 or positive on success, -Exxx on failure; errno is left as it was found;
 *   - EINTR never leaves this layer; absolute times are on the clock of w_os_now();
 *   - no call allocates with malloc, except w_os_thread_start and the *_watch calls (libc does);
 *   - context: any thread; async-signal-safe where the comment says so.
 *
 * The headers below declare the calls, one header for each area. None knows a type of the layers
 * above.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef W_OS_OS_H
#define W_OS_OS_H

#include "os/child.h"
#include "os/clock.h"
#include "os/code.h"
#include "os/cpu.h"
#include "os/fd.h"
#include "os/foreign.h"
#include "os/futex.h"
#include "os/membarrier.h"
#include "os/names.h"
#include "os/poller.h"
#include "os/preempt.h"
#include "os/report.h"
#include "os/signal.h"
#include "os/socket.h"
#include "os/thread.h"
#include "os/thread_state.h"
#include "os/vm.h"

#endif
