/* sched/monitor/deadlock.c - all goroutines wait, and nobody is left who could wake one.
 *
 * Called by   sysmon (it has nothing to do), asleep and thread (an M sleeps, or is gone).
 * Protocols   owns deadlock; cites sysmon (sched/monitor/sysmon.c), threads
 *             (sched/thread/thread.c), timekeeper (sched/timer/timekeeper.c).
 *
 * PROTOCOL deadlock
 *
 * Goal      under weft_run: once no goroutine can ever run again the program says so and ends; it
 *           never does as long as one could.
 * Parties   monitor; Ms; threads of the program, which come and go without saying so.
 * Words     sysmon_sleeps: true from when the monitor found every P idle until one is used, or all
 *           Ms are found asleep anew; n_m, idle_m, timekeeper, outside: all under sched.lock. The
 *           heaps of timers. The kernel's count of threads.
 * Monitor   1 every P is idle: sysmon_sleeps := true (PROTOCOL sysmon)   2 under the lock: all Ms
 *           but the timekeeper are in the lists of those that sleep; nothing in the global queue;
 *           nothing outside may wake anyone. No timer is set   3 asks the kernel how many threads
 *           there are   4 no timer is set; then under the lock as in 2, sysmon_sleeps still   5 as
 *           many threads as are weft's: fatal. More: looks again after pauses that grow, and says
 *           after a while, once a minute at most, that it is so
 * M         goes to sleep, or has ended, and all others sleep: sysmon_sleeps := false and wakes the
 *           monitor, which begins at 1
 * Why no false alarm   from 2 to 4 no P was used, since that would have ended sysmon_sleeps; nor
 *           has any M been awake or ended, since all of them to be found asleep afterwards would
 *           have done so too. So no user code ran on Ms, and at 3 all of weft's threads were there.
 *           If there were no others, there was nobody to make new ones. What such others did before
 *           they ended they had done by 3, in full: whom they woke stood in the global queue, with
 *           a P taken for it, or a timer in a heap, and 4 would have seen it. From 4 on nobody is
 *           left to do anything.
 * Why the count, not the list of threads   a listing ends early when the thread that it has come to
 *           ends meanwhile; the count is one number. One that is too high, because a thread is not
 *           quite gone, costs a pause.
 * Why the alarm comes   whoever makes the last condition of 2 true is an M that sleeps or ends, and
 *           wakes the monitor; or a thread of the program, or what is outside: while there are such
 *           the monitor comes back by itself. Where such a thread stops the last timer it is found
 *           when that would have been due.
 * Not known without /proc, or with no descriptor to be had: then nothing is said. Threads that
 *           others have put into the process (a sanitizer's, an emulator's) count as the program's.
 *           A program that leaves all waking to a signal handler has to use a thread for it.
 * In the background (weft_start) the program is there by definition: nobody looks.
 * Rejected  in the M that goes to sleep last (it would read /proc each time); the list of threads.
 * Tests     crash/test_deadlock.c, sim scenarios deadlock_*, mutants deadlock-*.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/monitor/deadlock.h"

#include "base/assert.h"
#include "sched/sched.h"
#include "sched/monitor/sysmon.h"

enum { PAUSE_MIN_NS = 1000000, SAY_AFTER_NS = 100000000 };

#define PAUSE_MAX_NS INT64_C(10000000000)
#define SAY_EVERY_NS INT64_C(60000000000)

void w_deadlock_except(struct wake_source *o)
{
        w_lock(&w_sched.lock);
        o->next = w_sched.wake_sources;
        w_sched.wake_sources = o;
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
        if (W_UNLIKELY(all_ms_sleep_locked()) && !w_sched.in_background && w_sched.sysmon_sleeps)
                w_sysmon_hurry_locked();
}

/* ---- The monitor ----------------------------------------------------------------------------- */

static bool source_may_wake_locked(void)
{
        for (struct wake_source *o = w_sched.wake_sources; o; o = o->next)
                if (o->may_wake())
                        return true;
        return false;
}

/* Nothing of weft's own will make a goroutine run. */
static bool nobody_stirs_locked(void)
{
        return w_sched.sysmon_sleeps && !w_load_rlx(&w_sched.stopping) &&       /* guarded */
               all_ms_sleep_locked() && w_sched.globq.n == 0;
}

static uint32_t n_ours_locked(void)
{
        return w_sched.n_m + w_sched.n_helpers;
}

/* Threads that are not weft's, or -1: not to be known now. */
static int count_others(uint32_t n_ours)
{
        int n = w_os_thread_count();

        return n < (int)n_ours ? -1 : n - (int)n_ours;
}

static void say_so(int64_t now, int64_t n_live, int n_others)
{
        if (n_others <= 0 || now - w_sched.quiet_since < SAY_AFTER_NS ||
            (w_sched.said_quiet_at && now - w_sched.said_quiet_at < SAY_EVERY_NS))
                return;
        w_sched.said_quiet_at = now;
        w_say("all %ld goroutines are asleep, %d threads of the program are not", (long)n_live,
              n_others);
}

static int64_t next_look(int64_t now)
{
        int64_t pause = 2 * w_sched.look_pause;

        if (pause < PAUSE_MIN_NS)
                pause = PAUSE_MIN_NS;
        if (pause > PAUSE_MAX_NS)
                pause = PAUSE_MAX_NS;
        w_sched.look_pause = pause;
        return now + pause;
}

void w_deadlock_begin_anew(void)
{
        w_sched.quiet_since = 0;
        w_sched.look_pause = 0;
}

int64_t w_deadlock_check(int64_t now)
{
        if (w_sched.in_background)
                return W_FOREVER;
        w_lock(&w_sched.lock);
        uint32_t n_ours = n_ours_locked();
        bool     quiet = nobody_stirs_locked();
        bool     outside = quiet && source_may_wake_locked();

        w_unlock(&w_sched.lock);
        if (!quiet || w_timers_pending() || w_live_count() == 0)
                return W_FOREVER;
        if (w_sched.quiet_since == 0)
                w_sched.quiet_since = now;
        if (outside)
                return next_look(now);
        int  n_others = count_others(n_ours);
        bool timers = w_timers_pending();

        w_lock(&w_sched.lock);
        quiet = !timers && nobody_stirs_locked() && !source_may_wake_locked();
        W_ASSERT(!quiet || n_ours_locked() == n_ours);
        w_unlock(&w_sched.lock);
        if (quiet && n_others == 0)
                w_fatal("all goroutines are asleep - deadlock!");
        if (quiet)
                say_so(now, w_live_count(), n_others);
        return next_look(now);
}
