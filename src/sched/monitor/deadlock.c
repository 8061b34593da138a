/* sched/monitor/deadlock.c - finds out that all goroutines wait and no thread can wake any.
 *
 * Protocols   owns deadlock; cites sysmon (sched/monitor/sysmon.c), threads
 *             (sched/thread/thread.c), timekeeper (sched/timer/timekeeper.c).
 *
 * PROTOCOL deadlock
 *
 * Goal      Under weft_run: once no goroutine can ever run again, the program reports that and
 *           ends. It never does this as long as a goroutine could run.
 * Parties   monitor; Ms; foreign threads, which come and go without notice; wake sources, by which
 *           the kernel may wake a goroutine.
 * Words     Under sched.lock: sched.sysmon.sleeps, true from when the monitor found every P idle
 *           until a P is used, or until all Ms are found asleep anew; n_m, idle_m, timekeeper,
 *           poller, wake_sources. The heaps of timers. The kernel's count of threads.
 * Monitor   1. Every P is idle: sleeps := true (PROTOCOL sysmon).
 *           2. Under the lock: every M sleeps, in a list or as an event waiter; the global queue is
 *              empty; no wake source may wake a goroutine. No timer is set.
 *           3. Asks the kernel for the number of threads.
 *           4. No timer is set. Then under the lock: as in 2, and sleeps is still true.
 *           5. No more threads than weft's own: fatal. More threads: checks again after pauses that
 *              grow, and reports the state after a while, once a minute at most.
 * M         When an M goes to sleep or ends, and all other Ms sleep: sleeps := false, wakes the
 *           monitor, which begins at 1.
 * Why no false alarm   From 2 to 4 no P was used, because that would have set sleeps to false. Nor
 *           was any M awake, and none ended: the last M to sleep or end would have set sleeps to
 *           false too. So no user code ran on Ms, and at 3 all threads of weft existed. Without
 *           foreign threads at 3, no thread could create new threads. What foreign threads did
 *           before they ended was complete by 3: a goroutine that they woke was in the global
 *           queue, with a P taken for it, or a timer was in a heap. Step 4 would have seen that.
 *           From 4 on no thread is left to do anything.
 * Why the count, not the list of threads   A listing ends early if the thread that it has come to
 *           ends meanwhile. The count is one number. It may be too high, because a thread is not
 *           quite gone; that costs only a pause.
 * Why the alarm comes   An M that sleeps or ends may make the last condition of 2 true: that M
 *           wakes the monitor. A foreign thread or a wake source may make it true: while there are
 *           any, the monitor checks again by itself. If a foreign thread stops the last timer, the
 *           monitor notices when the timer would have been due.
 * Unknown   Without /proc, or if no descriptor is available, nothing is reported. Threads that
 *           tools have put into the process (a sanitizer, an emulator) count as foreign threads. A
 *           program that leaves all wakeups to a signal handler must use a thread for that.
 * Background   After weft_start the program has threads of its own by definition: no check.
 * Rejected  A check in the M that goes to sleep last: it would read /proc each time. The list of
 *           threads.
 * Tests     crash/test_deadlock.c, sim scenarios deadlock_*, mutants deadlock-*.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/monitor/deadlock.h"

#include "base/assert.h"
#include "sched/monitor/sysmon.h"
#include "sched/sched.h"
#include "sched/thread/thread.h"

enum { PAUSE_MIN_NS = 1000000, SAY_AFTER_NS = 100000000 };

#define PAUSE_MAX_NS INT64_C(10000000000)
#define SAY_EVERY_NS INT64_C(60000000000)

void w_deadlock_except(struct wake_source *o)
{
        w_lock(&w_sched.lock);
        o->next = w_sched.deadlock.wake_sources;
        w_sched.deadlock.wake_sources = o;
        w_unlock(&w_sched.lock);
}

/* ---- Ms -------------------------------------------------------------------------------------- */

static bool all_ms_sleep_locked(void)
{
        return w_sched.n_idle_m + w_sched.n_dedicated_asleep + w_n_event_waiters_locked() ==
               w_sched.n_m;
}

void w_deadlock_asleep_locked(void)
{
        if (W_UNLIKELY(all_ms_sleep_locked()) && !w_sched.in_background && w_sched.sysmon.sleeps)
                w_sysmon_hurry_locked();
}

/* ---- The monitor ----------------------------------------------------------------------------- */

static bool source_may_wake_locked(void)
{
        for (struct wake_source *o = w_sched.deadlock.wake_sources; o; o = o->next)
                if (o->may_wake())
                        return true;
        return false;
}

/* No thread of weft will make a goroutine run. */
static bool all_quiet_locked(void)
{
        return w_sched.sysmon.sleeps && !w_load_rlx(&w_sched.world.stopping) &&       /* guarded */
               all_ms_sleep_locked() && w_sched.globq.n == 0;
}

static uint32_t n_own_threads_locked(void)
{
        return w_sched.n_m + w_sched.n_helpers;
}

/* Counts foreign threads. -1: the number is not known now. */
static int count_foreign(uint32_t n_ours)
{
        int n = w_os_thread_count();

        return n < (int)n_ours ? -1 : n - (int)n_ours;
}

static void report_quiet(int64_t now, int64_t n_live, int n_others)
{
        if (n_others <= 0 || now - w_sched.deadlock.quiet_since < SAY_AFTER_NS ||
            (w_sched.deadlock.said_at && now - w_sched.deadlock.said_at < SAY_EVERY_NS))
                return;
        w_sched.deadlock.said_at = now;
        w_say("all %ld goroutines are asleep, %d threads of the program are not", (long)n_live,
              n_others);
}

static int64_t next_check(int64_t now)
{
        int64_t pause = 2 * w_sched.deadlock.pause;

        if (pause < PAUSE_MIN_NS)
                pause = PAUSE_MIN_NS;
        if (pause > PAUSE_MAX_NS)
                pause = PAUSE_MAX_NS;
        w_sched.deadlock.pause = pause;
        return now + pause;
}

void w_deadlock_begin_anew(void)
{
        w_sched.deadlock.quiet_since = 0;
        w_sched.deadlock.pause = 0;
}

int64_t w_deadlock_check(int64_t now)
{
        if (w_sched.in_background)
                return W_FOREVER;
        w_lock(&w_sched.lock);
        uint32_t n_ours = n_own_threads_locked();
        bool     quiet = all_quiet_locked();
        bool     by_source = quiet && source_may_wake_locked();

        w_unlock(&w_sched.lock);
        if (!quiet || w_timers_pending() || w_g_count_alive() == 0)
                return W_FOREVER;
        if (w_sched.deadlock.quiet_since == 0)
                w_sched.deadlock.quiet_since = now;
        if (by_source)
                return next_check(now);
        int  n_others = count_foreign(n_ours);
        bool timers = w_timers_pending();

        w_lock(&w_sched.lock);
        quiet = !timers && all_quiet_locked() && !source_may_wake_locked();
        W_ASSERT(!quiet || n_own_threads_locked() == n_ours);
        w_unlock(&w_sched.lock);
        if (quiet && n_others == 0)
                w_fatal("all goroutines are asleep - deadlock!");
        if (quiet)
                report_quiet(now, w_g_count_alive(), n_others);
        return next_check(now);
}
