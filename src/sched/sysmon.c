/* sched/sysmon.c - the monitor: a list of duties, called again and again by a thread of its own.
 *
 * Called by   run (start, stop), idle (a P is used again).
 * Calls       its duties: retake, threads that could not be created, schedtrace.
 *
 * The thread runs no goroutine, has no P and blocks every signal. It rests for 20 us; after a while
 * without anything to do twice as long each time, up to 10 ms. With every P idle it sleeps until
 * one is used.
 *
 * PROTOCOL sysmon
 *
 * Goal      while a P is in use the monitor comes round at least every 10 ms; while none is it
 *           costs nothing; it ends when it is told to.
 * Parties   monitor; whoever takes a P out of the idle list; the end of the run.
 * Words     sysmon_sleeps, sysmon_woken, must_end, n_idle_p, thread_owed, under sched.lock; the
 *           note.
 * Monitor   1 under the lock: every P is idle and no thread is owed: sysmon_sleeps := true, sleeps
 *           on the note without end; else for as long as it chose   2 woken: under the lock clears
 *           the note, sysmon_woken := false   3 must_end?
 * Others    under the lock: 1 take a P, or must_end := 1   2 sysmon_sleeps, or must_end: not
 *           sysmon_woken yet: := true, wake
 * Why it is not missed   the monitor decides to sleep under the lock under which Ps are taken. Who
 *           finds sysmon_woken set wakes nobody, but then the monitor has its step 2 before it, and
 *           looks at everything afterwards. A thread is owed for a P that was in somebody's hands,
 *           and comes to be owed at the moment when that P becomes idle.
 * Tests     flow/test_take.c, flow/test_region.c; mutants sysmon-*.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/sysmon.h"

#include "base/assert.h"
#include "sched/sched.h"

enum {
        REST_MIN_NS = 20000,
        REST_MAX_NS = 10000000,
        LATE_NS = 10000000,             /* the machine stood still, or is overloaded */
#if defined(W_HOOKED)
        ROUNDS_AT_MIN = 3,              /* an engine's time is better spent otherwise */
#else
        ROUNDS_AT_MIN = 50,             /* a millisecond, as in Go */
#endif
};

static struct {
        struct w_os_thread thread;
        struct m           self;        /* in no list, without a P or a goroutine: w_m() finds it */
        struct note        note;        /* wakes it from deep sleep, and to end */
        w_atomic_u32       must_end;    /* S  sched.lock */
        int64_t            rest;
        uint32_t           n_quiet;     /* rounds without anything to do */
        uint32_t           n_late;      /* rests in a row that were much too long */
} sysmon;

/* ---- Resting --------------------------------------------------------------------------------- */

static void choose_rest(bool did_something)
{
        if (did_something) {
                sysmon.n_quiet = 0;
                sysmon.rest = REST_MIN_NS;
                return;
        }
        if (++sysmon.n_quiet > ROUNDS_AT_MIN && sysmon.rest < REST_MAX_NS)
                sysmon.rest *= 2;
        if (sysmon.rest > REST_MAX_NS)
                sysmon.rest = REST_MAX_NS;
}

/* Nor is there anything to be tried again. */
static bool nothing_runs(void)
{
        if (w_load_rlx(&w_sched.n_idle_p) != w_sched.n_procs)     /* hint: looks again next time */
                return false;
        w_lock(&w_sched.lock);
        bool none = w_load_rlx(&w_sched.n_idle_p) == w_sched.n_procs &&         /* guarded */
                    !w_load_rlx(&w_sched.thread_owed);            /* guarded by the lock */

        w_sched.sysmon_sleeps = none;
        w_unlock(&w_sched.lock);
        return none;
}

/* A note is woken once: whoever comes second leaves it. */
static void wake_locked(void)
{
        if (w_sched.sysmon_woken)
                return;
        w_sched.sysmon_woken = true;
        w_note_wake(&sysmon.note);
}

void w_sysmon_awaken_locked(void)
{
        W_ASSERT(w_lock_held(W_LOCK_sched));
        if (W_LIKELY(!w_sched.sysmon_sleeps))
                return;
        w_sched.sysmon_sleeps = false;
        wake_locked();
}

/* Until it is time, or somebody wakes it. */
static void sleep_until(int64_t at)
{
        if (!w_note_sleep_until(&sysmon.note, at))
                return;
        w_lock(&w_sched.lock);
        w_note_clear(&sysmon.note);
        w_sched.sysmon_woken = false;
        w_unlock(&w_sched.lock);
}

static void sleep_deeply(void)
{
        sleep_until(w_schedtrace_next());
        w_lock(&w_sched.lock);
        w_sched.sysmon_sleeps = false;
        w_unlock(&w_sched.lock);
        sysmon.n_quiet = 0;
        sysmon.rest = REST_MIN_NS;
}

/* True: it was about as long as asked for. After a long one everybody gets a second look; but if
 * all are long that is how this machine is, and the others wait. */
static bool take_rest(void)
{
        if (nothing_runs()) {
                sleep_deeply();
                return false;
        }
        int64_t until = w_os_now() + sysmon.rest;

        sleep_until(until);
        sysmon.n_late = w_os_now() < until + LATE_NS ? 0 : sysmon.n_late + 1;
        return sysmon.n_late != 1;
}

/* ---- Rounds ---------------------------------------------------------------------------------- */

static void sysmon_main(void *arg)
{
        bool rested = false;

        (void)arg;
        w_self_set(&sysmon.self.thread);
        w_schedtrace_begin(w_os_now());
        while (!w_load_rlx(&sysmon.must_end)) {                   /* guarded: see PROTOCOL */
                int64_t  now = w_os_now();
                uint32_t n_done = w_retake(now, rested) + w_thread_retry_owed(now);

                w_schedtrace(now);
                choose_rest(n_done > 0);
                rested = take_rest();
        }
        w_self_set(NULL);
}

int w_sysmon_start(void)
{
        sysmon.self = (struct m){ .mark = W_ATOMIC_INIT(W_MARK_INSIDE) };
        w_note_clear(&sysmon.note);
        w_store_rlx(&sysmon.must_end, 0);                         /* own word: no thread yet */
        sysmon.rest = REST_MIN_NS;
        sysmon.n_quiet = 0;
        sysmon.n_late = 0;
        return w_os_thread_start(&sysmon.thread, "weft-sysmon", W_THREAD_STACK, sysmon_main,
                                 NULL);
}

void w_sysmon_stop(void)
{
        w_lock(&w_sched.lock);
        w_store_rlx(&sysmon.must_end, 1);                         /* guarded by the lock */
        wake_locked();
        w_unlock(&w_sched.lock);
        w_os_thread_join(&sysmon.thread);
}
