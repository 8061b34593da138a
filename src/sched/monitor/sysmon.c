/* sched/monitor/sysmon.c - the monitor: a list of duties, called again and again by a thread of its
 * own.
 *
 * Called by   run (start, stop), idle (a P is used again).
 * Calls       its duties: hogs, retake, threads that could not be created, follow, timekeeper,
 *             blocked, netpoll, schedtrace; when it sleeps, deadlock; signals, whenever it is
 *             poked.
 *
 * The thread runs no goroutine, has no P and blocks every signal. It rests for 20 us; after a while
 * without anything to do twice as long each time, up to 10 ms. With every P idle it sleeps until
 * one is used. Where goroutines wait for descriptors that may be soon, and so it may if it was soon
 * the last time. To wake the monitor each time would cost more than what is done then, and those
 * that are to run would wait for it: it goes on resting for a while, 10 ms each time.
 *
 * As it comes round anyway it sets the clock of each P, which those who wait are stamped with, for
 * reports: to read the time costs as much as to wait. Who wakes it from its sleep sets them too, so
 * that they are hardly ever more than 10 ms behind while a P is in use.
 *
 * PROTOCOL sysmon
 *
 * Goal      while a P is in use the monitor comes round at least every 10 ms; while none is it
 *           costs nothing; it ends when it is told to.
 * Parties   monitor; whoever takes a P out of the idle list; the end of the run; signal handlers,
 *           which only poke (PROTOCOL signal, signal/signal.c), or call it first (PROTOCOL preempt,
 *           sched/preempt/preempt.c).
 * Words     sysmon_sleeps, sysmon_woken, roused, must_end, n_idle_p, thread_pending, under
 *           sched.lock; called; the note, which several may poke.
 * Monitor   1 under the lock: every P is idle and no thread is owed: sysmon_sleeps := true, looks
 *           whether anybody can end that (PROTOCOL deadlock, sched/monitor/deadlock.c), sleeps on
 *           the note without end, or until it is to tell something; else for as long as it chose,
 *           which is
 *           10 ms if every P was idle but somebody waits for a descriptor, or a P was used within
 *           10 ms of the last sleep without end, ten times in a row; not beyond the time when it is
 *           to judge somebody   2 woken: takes the note; under the lock sysmon_woken -> false;
 *           called -> false; signals are delivered; neither was set: sleeps on   3 must_end?
 * Others    under the lock: 1 take a P (roused := true), or must_end := 1   2 sysmon_sleeps, or
 *           must_end: not sysmon_woken yet: := true, poke
 * Callers   called := true, poke: no lock, in a handler. The monitor takes the note before it looks
 *           at the word, PROTOCOL note (base/note.c): it sees it, or is poked once more
 * Why it is not missed   the monitor decides to sleep under the lock under which Ps are taken. Who
 *           finds sysmon_woken set wakes nobody, but then the monitor has its step 2 before it, and
 *           looks at everything afterwards. A thread is owed for a P that was in somebody's hands,
 *           and comes to be owed at the moment when that P becomes idle.
 * Tests     flow/sched/preempt/test_take_p.c, flow/sched/preempt/test_blocking_region.c; mutants
 *           sysmon-*.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/monitor/sysmon.h"

#include "base/assert.h"
#include "sched/monitor/blocked_report.h"
#include "sched/preempt/preempt.h"
#include "sched/timer/timekeeper.h"
#include "sched/thread/netpoll.h"

enum {
        REST_MIN_NS = 20000,
        REST_MAX_NS = 10000000,
        REST_ASKED_NS = 500000,         /* while somebody should be held any moment */
        LATE_NS = 10000000,             /* the machine stood still, or is overloaded */
        CLOCK_STEP_NS = 1000000,        /* whose P it is has the line that the clock is in */
#if defined(W_HOOKED)
        ROUNDS_AT_MIN = 3,              /* an engine's time is better spent otherwise */
        ROUNDS_IDLE = 2,
#else
        ROUNDS_AT_MIN = 50,             /* a millisecond, as in Go */
        ROUNDS_IDLE = 10,               /* while a P may be set going any moment */
#endif
};

static struct {
        struct w_os_thread thread;
        struct m           self;        /* in no list, without a P or a goroutine: w_m() finds it */
        struct note        note;        /* wakes it from deep sleep, and to end */
        w_atomic_u32       must_end;    /* S  sched.lock */
        w_atomic_u32       kicked;      /* a  guarded by NT2: for a round, by who takes no lock */
        bool               roused;      /* s  from deep sleep, because a P is used */
        bool               may_be_soon; /* it was so at once when it last slept deeply */
        int64_t            rest;
        uint32_t           n_quiet;     /* rounds without anything to do */
        uint32_t           n_idle;      /* rounds in a row in which no P was in use */
        uint32_t           n_late;      /* rests in a row that were much too long */
} sysmon;

static void set_clocks(int64_t now)
{
        for (uint32_t i = 0; i < w_n_p(); i++) {
                struct p *pp = w_sched.all_p[i];

                if (now - (int64_t)w_load_rlx(&pp->clock) >= CLOCK_STEP_NS)       /* hint */
                        w_store_rlx(&pp->clock, (uint64_t)now);   /* hint */
        }
}

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

static bool all_ps_idle(void)
{
        return w_load_rlx(&w_sched.n_idle_p) == w_n_procs();      /* hint: looks again next time */
}

/* True: a P may be used any moment, so that a long rest will do. */
static bool rests_idly(void)
{
        sysmon.n_idle = all_ps_idle() ? sysmon.n_idle + 1 : 0;
        return sysmon.n_idle && sysmon.n_idle <= ROUNDS_IDLE &&
               (sysmon.may_be_soon || w_netpoll_is_waited_for()) &&
               !w_load_rlx(&w_sched.thread_pending);               /* hint: looks again next time */
}

/* Nor is there anything to be tried again. */
static bool nothing_runs(void)
{
        if (!all_ps_idle())
                return false;
        w_lock(&w_sched.lock);
        bool none = w_load_rlx(&w_sched.n_idle_p) == w_n_procs() &&              /* guarded */
                    !w_load_rlx(&w_sched.thread_pending);            /* guarded by the lock */

        w_sched.sysmon_sleeps = none;
        sysmon.roused = false;
        w_unlock(&w_sched.lock);
        return none;
}

/* Once is enough: whoever comes second leaves it. */
static void wake_locked(void)
{
        if (w_sched.sysmon_woken)
                return;
        w_sched.sysmon_woken = true;
        w_note_poke(&sysmon.note);
}

void w_sysmon_poke(void)
{
        w_note_poke(&sysmon.note);
}

void w_sysmon_request(void)
{
        w_store_rlx(&sysmon.kicked, 1);                           /* guarded by NT2 */
        w_note_poke(&sysmon.note);
}

void w_sysmon_awaken_locked(void)
{
        W_ASSERT(w_lock_held(W_LOCK_sched));
        if (W_LIKELY(!w_sched.sysmon_sleeps))
                return;
        w_sched.sysmon_sleeps = false;
        sysmon.roused = true;
        set_clocks(w_os_now());
        wake_locked();
}

void w_sysmon_hurry_locked(void)
{
        W_ASSERT(w_lock_held(W_LOCK_sched));
        set_clocks(w_os_now());
        wake_locked();
        w_sched.sysmon_sleeps = false;
}

/* False: it was poked for signals only. */
static bool was_woken(void)
{
        w_lock(&w_sched.lock);
        bool woken = w_sched.sysmon_woken;

        w_sched.sysmon_woken = false;
        w_unlock(&w_sched.lock);
        return w_xchg_rlx(&sysmon.kicked, 0) || woken;            /* guarded by NT2 */
}

/* Until it is time, or somebody wakes it: true. Signals do not end the rest. */
static bool sleep_until(int64_t at)
{
        bool woken = false;

        while (!woken && w_note_sleep_until(&sysmon.note, at)) {
                w_note_take(&sysmon.note);
                woken = was_woken();
                w_signals_deliver();
        }
        return woken;
}

static int64_t earlier(int64_t a, int64_t b)
{
        return a < b ? a : b;
}

static void sleep_deeply(void)
{
        int64_t now = w_os_now();

        (void)w_timekeeper_check(now);
        int64_t until = earlier(w_deadlock_check(w_os_now()),
                                earlier(w_schedtrace_next(), w_blocked_report_next()));

        if (sleep_until(until))
                w_deadlock_begin_anew();
        w_lock(&w_sched.lock);
        w_sched.sysmon_sleeps = false;
        sysmon.may_be_soon = sysmon.roused && w_os_now() - now < REST_MAX_NS;
        w_unlock(&w_sched.lock);
        sysmon.n_quiet = 0;
        sysmon.rest = REST_MIN_NS;
}

/* True: it was about as long as asked for. After a long one everybody gets a second look; but if
 * all are long that is how this machine is, and the others wait. */
static bool take_rest(void)
{
        bool idly = rests_idly();

        if (!idly && nothing_runs()) {
                sleep_deeply();
                return false;
        }
        int64_t rest = idly ? REST_MAX_NS : sysmon.rest;
        bool    soon = w_sched.n_asked && rest > REST_ASKED_NS;
        int64_t until = w_os_now() + (soon ? REST_ASKED_NS : rest);

        if (w_sched.judge_at < until)
                until = w_sched.judge_at;
        (void)sleep_until(until);
        sysmon.n_late = w_os_now() < until + LATE_NS ? 0 : sysmon.n_late + 1;
        return sysmon.n_late != 1;
}

/* ---- Rounds ---------------------------------------------------------------------------------- */

/* How many things it has done: after any the monitor is back soon. rested: see take_rest. */
typedef uint32_t duty(int64_t now, bool rested);

static uint32_t keep_clocks(int64_t now, bool rested)
{
        (void)rested;
        set_clocks(now);
        return 0;
}

static uint32_t watch_preempted(int64_t now, bool rested)
{
        (void)rested;
        w_preempt_arm_lost(now);
        w_preempt_report_once();
        return 0;
}

static uint32_t serve_preempted_idle(int64_t now, bool rested)
{
        (void)now, (void)rested;
        return w_preempt_serve_idle();
}

static uint32_t create_pending_threads(int64_t now, bool rested)
{
        (void)rested;
        return w_thread_retry_pending(now);
}

static uint32_t follow_machine(int64_t now, bool rested)
{
        (void)rested;
        return w_follow(now);
}

static uint32_t check_timekeeper(int64_t now, bool rested)
{
        (void)rested;
        return w_timekeeper_check(now);
}

static uint32_t check_blocked(int64_t now, bool rested)
{
        (void)rested;
        return w_blocked_report_check(now);
}

/* The next time in 10 ms, whatever came. */
static uint32_t check_netpoll(int64_t now, bool rested)
{
        (void)rested;
        w_netpoll_check(now);
        return 0;
}

static uint32_t trace(int64_t now, bool rested)
{
        (void)rested;
        w_schedtrace(now);
        return 0;
}

/* In this order, in every round. */
static duty *const duties[] = {
        keep_clocks, watch_preempted, w_retake, serve_preempted_idle, create_pending_threads,
        follow_machine,
        check_timekeeper, check_blocked, check_netpoll, trace,
};

static uint32_t do_duties(bool rested)
{
        int64_t  now = w_os_now();
        uint32_t n_done = 0;

        for (size_t i = 0; i < W_ARRAY_LEN(duties); i++)
                n_done += duties[i](now, rested);
        return n_done;
}

static void sysmon_main(void *arg)
{
        bool rested = false;

        (void)arg;
        w_self_set(&sysmon.self.thread);
        w_store_rlx(&sysmon.self.tid, (uint32_t)w_os_tid());      /* own word */
        w_schedtrace_begin(w_os_now());
        w_follow_begin(w_os_now());
        while (!w_load_rlx(&sysmon.must_end)) {                   /* guarded: see PROTOCOL */
                choose_rest(do_duties(rested) > 0);
                rested = take_rest();
        }
        w_store_rlx(&sysmon.self.tid, 0);                         /* own word */
        w_self_set(NULL);
}

int w_sysmon_tid(void)
{
        return (int)w_load_rlx(&sysmon.self.tid);                 /* hint: or the caller's */
}

int w_sysmon_start(void)
{
        sysmon.self = (struct m){ .where = W_ATOMIC_INIT(W_IN_RUNTIME) };
        w_note_clear(&sysmon.note);
        w_store_rlx(&sysmon.must_end, 0);                         /* own word: no thread yet */
        sysmon.rest = REST_MIN_NS;
        sysmon.n_quiet = sysmon.n_idle = 0;
        sysmon.may_be_soon = false;
        w_store_rlx(&sysmon.kicked, 0);                           /* own word likewise */
        sysmon.n_late = 0;
        int rc = w_os_thread_start(&sysmon.thread, "weft-sysmon", W_THREAD_STACK, sysmon_main,
                                   NULL);

        w_lock(&w_sched.lock);
        w_sched.n_helpers += rc == 0;
        w_unlock(&w_sched.lock);
        return rc;
}

void w_sysmon_stop(void)
{
        w_lock(&w_sched.lock);
        w_store_rlx(&sysmon.must_end, 1);                         /* guarded by the lock */
        wake_locked();
        w_unlock(&w_sched.lock);
        w_os_thread_join(&sysmon.thread);
}
