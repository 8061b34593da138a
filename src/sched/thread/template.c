/* sched/thread/template.c - a thread must not have any parent: some ask the monitor to create it.
 *
 * Called by   thread.c, when a P is to have a thread and none sleeps.
 * Protocols   owns thread-request; cites threads (sched/thread/thread.c), sysmon
 *             (sched/monitor/sysmon.c).
 *
 * PROTOCOL thread-request
 *
 * Goal      every thread of ours begins with what the caller of weft_run had: a thread inherits
 *           affinity, priority, namespaces and more from the one that creates it, and these may
 *           have been changed on a thread to which a goroutine is locked, or which is not ours.
 * Parties   asker (a tainted thread with a P in its hands), the monitor, any M on its way to sleep.
 * Words     thread_pending, the idle Ps, under sched.lock; the monitor's note.
 * Asker     under sched.lock: 1 what is queued on the P goes to the global queue, the P to the idle
 *           list   2 thread_pending := ASKED   3 wakes an M that has gone to sleep meanwhile, if
 *           there is one, and the monitor in any case
 * Monitor   at its next round, without a pause: takes an idle P and creates a thread for it, which
 *           looks for work. None to be had: as anywhere, PROTOCOL threads
 * M         on its way to sleep: takes the P itself, as if a thread could not have been created
 * Why it is not missed   the request stands until somebody has taken a P under the lock; the
 *           monitor is awake, or its note is set. With no idle P left the request is dropped, and
 *           who next gives up a P looks: PROTOCOL idle (sched/idle.c).
 * Why the monitor   it exists from the start, is created by the caller of weft_run, runs no code of
 *           the user's and blocks every signal. A thread for this alone would sleep all the time.
 * Tests     flow/sched/thread/test_template_thread.c, sim scenarios pin_ask, pin_dropped,
 *           sched_foreign, mutants template-*.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/sched.h"
#include "sched/monitor/sysmon.h"

void w_thread_request(struct p *pp, bool spinning)
{
        w_lock(&w_sched.lock);
        w_thread_defer_locked(pp, spinning, W_PENDING_ASKED);
        w_sysmon_hurry_locked();
        w_unlock(&w_sched.lock);
}
