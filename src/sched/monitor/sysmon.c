/* sched/monitor/sysmon.c - the monitor: a thread that does a list of duties again and again.
 *
 * Protocols   owns sysmon; cites deadlock (sched/monitor/deadlock.c), preempt
 *             (sched/preempt/preempt.c), signal (signal/signal.c), note (base/note.c).
 *
 * The thread runs no goroutine, has no P and blocks every signal. It rests for 20 us. After some
 * rounds with nothing to do it rests twice as long each time, up to 10 ms. With every P idle it
 * sleeps deeply: until a P is used.
 *
 * A P may be used soon if goroutines wait for descriptors, or if a P was used soon the last time.
 * To wake the monitor from a deep sleep each time would cost more than the work that is done then,
 * and ready goroutines would wait for that wakeup. In these cases the monitor first goes on with
 * some rests of 10 ms.
 *
 * Each round sets the clock of each P. Waiting goroutines are stamped with this clock for reports,
 * because reading the time costs as much as the wait itself. The M that wakes the monitor from its
 * deep sleep sets the clocks as well. Thus the clocks are hardly ever more than 10 ms behind while
 * a P is in use.
 *
 * PROTOCOL sysmon
 *
 * Goal      While a P is in use the monitor makes a round at least every 10 ms. While no P is in
 *           use it costs nothing. It ends when it must.
 * Parties   monitor; waker, which takes a P out of the idle list, or ends the run; requester, a
 *           signal handler that needs a round (PROTOCOL preempt). Handlers that only poke: PROTOCOL
 *           signal.
 * Words     Under sched.lock: sched.sysmon.sleeps, sched.sysmon.woken, roused, must_end, n_idle_p,
 *           sched.threads.pending.  requested.  The note, which several threads may poke.
 * Monitor   1. Under the lock: if every P is idle and no thread is pending, sleeps := true. Checks
 *              for a deadlock (PROTOCOL deadlock). Sleeps on the note until it is woken or the next
 *              report is due.
 *           2. Otherwise rests on the note for the time that it chose. The rest is 10 ms if every P
 *              is idle, and a goroutine waits for a descriptor or a P was used within 10 ms of the
 *              last deep sleep: ten times in a row at most. A rest ends early when an M can be
 *              judged.
 *           3. When poked: takes the note; under the lock woken -> false; requested -> false;
 *              delivers signals. If neither word was set, sleeps on.
 *           4. must_end: ends. Otherwise does its duties, then 1 again.
 * Waker     Under the lock:
 *           1. Takes a P (roused := true), or must_end := 1.
 *           2. If sleeps or must_end, and not woken yet: woken := true, pokes.
 * Requester requested := true, pokes; takes no lock. The monitor takes the note before it reads the
 *           word (PROTOCOL note): it sees the word, or is poked once more.
 * Why no wakeup is missed   The monitor decides to sleep under the lock under which Ps are taken. A
 *           waker that finds woken set does not poke. Then the monitor has not done step 3 yet, and
 *           looks at everything after that step. A thread becomes pending for a P that an M had, at
 *           the moment when that P becomes idle.
 * Tests     flow/sched/preempt/test_take_p.c, flow/sched/preempt/test_blocking_region.c; mutants
 *           sysmon-*.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sched/monitor/sysmon.h"

#include "base/assert.h"
#include "base/tuning.h"
#include "sched/monitor/blocked_report.h"
#include "sched/preempt/preempt.h"
#include "sched/run/hooks.h"
#include "sched/run/procs.h"
#include "sched/sched.h"
#include "sched/thread/netpoll.h"
#include "sched/thread/sleep.h"
#include "sched/timer/timekeeper.h"

enum {
        REST_MIN_NS = 20000,
        REST_MAX_NS = 10000000,
        REST_ASKED_NS = 500000,         /* while an M should stop any moment */
        LATE_NS = 10000000,             /* the machine stood still, or is overloaded */
        CLOCK_STEP_NS = 1000000,        /* the P's owner has the cache line of the clock */
};

static struct {
        struct w_os_thread thread;
        struct m           self;        /* in no list, without a P or a goroutine: w_m() finds it */
        struct note        note;        /* wakes the monitor from its sleep, and to end */
        w_atomic_u32       must_end;    /* S  sched.lock */
        w_atomic_u32       requested;   /* a  guarded by NT2: a round is requested */
        bool               roused;      /* s  from its deep sleep, because a P is used */
        bool               may_be_soon; /* a P was used soon after the last deep sleep began */
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
        if (++sysmon.n_quiet > W_TUNE_MONITOR_ROUNDS && sysmon.rest < REST_MAX_NS)
                sysmon.rest *= 2;
        if (sysmon.rest > REST_MAX_NS)
                sysmon.rest = REST_MAX_NS;
}

static bool all_ps_idle(void)
{
        return w_load_rlx(&w_sched.n_idle_p) == w_n_procs();      /* hint: read again next time */
}

/* True: no P is in use, but a P may be used soon: the monitor takes a long rest, not a deep
 * sleep. */
static bool must_rest_idly(void)
{
        sysmon.n_idle = all_ps_idle() ? sysmon.n_idle + 1 : 0;
        return sysmon.n_idle && sysmon.n_idle <= W_TUNE_MONITOR_IDLE_ROUNDS &&
               (sysmon.may_be_soon || w_netpoll_is_waited_for()) &&
               !w_load_rlx(&w_sched.threads.pending);             /* hint: read again next time */
}

/* True: every P is idle, and no creation of a thread must be tried again. */
static bool may_sleep_deeply(void)
{
        if (!all_ps_idle())
                return false;
        w_lock(&w_sched.lock);
        bool none = w_load_rlx(&w_sched.n_idle_p) == w_n_procs() &&              /* guarded */
                    !w_load_rlx(&w_sched.threads.pending);            /* guarded by the lock */

        w_sched.sysmon.sleeps = none;
        sysmon.roused = false;
        w_unlock(&w_sched.lock);
        return none;
}

/* One poke is enough until the monitor has read `woken`. */
static void wake_locked(void)
{
        if (w_sched.sysmon.woken)
                return;
        w_sched.sysmon.woken = true;
        w_note_poke(&sysmon.note);
}

void w_sysmon_poke(void)
{
        w_note_poke(&sysmon.note);
}

void w_sysmon_request(void)
{
        w_store_rlx(&sysmon.requested, 1);                           /* guarded by NT2 */
        w_note_poke(&sysmon.note);
}

void w_sysmon_awaken_locked(void)
{
        W_ASSERT(w_lock_held(W_LOCK_sched));
        if (W_LIKELY(!w_sched.sysmon.sleeps))
                return;
        w_sched.sysmon.sleeps = false;
        sysmon.roused = true;
        set_clocks(w_os_now());
        wake_locked();
}

void w_sysmon_hurry_locked(void)
{
        W_ASSERT(w_lock_held(W_LOCK_sched));
        set_clocks(w_os_now());
        wake_locked();
        w_sched.sysmon.sleeps = false;
}

/* False: the monitor was poked for signals only. */
static bool was_woken(void)
{
        w_lock(&w_sched.lock);
        bool woken = w_sched.sysmon.woken;

        w_sched.sysmon.woken = false;
        w_unlock(&w_sched.lock);
        return w_xchg_rlx(&sysmon.requested, 0) || woken;            /* guarded by NT2 */
}

/* True: woken before `at`. Signals do not end the rest. */
static bool sleep_until(int64_t at)
{
        bool woken = false;

        while (!woken && w_note_sleep_until(&sysmon.note, at)) {
                w_note_take(&sysmon.note);
                woken = was_woken();
                w_run_hooks.signals_deliver();
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
        w_sched.sysmon.sleeps = false;
        sysmon.may_be_soon = sysmon.roused && w_os_now() - now < REST_MAX_NS;
        w_unlock(&w_sched.lock);
        sysmon.n_quiet = 0;
        sysmon.rest = REST_MIN_NS;
}

/* True: the rest was about as long as chosen. After a rest that was much too long, the suspects are
 * sampled once more before they lose their Ps. If rest after rest is too long, the machine is
 * always slow, and goroutines wait for the monitor. So only the first of several long rests
 * counts. */
static bool take_rest(void)
{
        bool idly = must_rest_idly();

        if (!idly && may_sleep_deeply()) {
                sleep_deeply();
                return false;
        }
        int64_t rest = idly ? REST_MAX_NS : sysmon.rest;
        bool    soon = w_sched.sysmon.n_asked && rest > REST_ASKED_NS;
        int64_t until = w_os_now() + (soon ? REST_ASKED_NS : rest);

        if (w_sched.sysmon.judge_at < until)
                until = w_sched.sysmon.judge_at;
        (void)sleep_until(until);
        sysmon.n_late = w_os_now() < until + LATE_NS ? 0 : sysmon.n_late + 1;
        return sysmon.n_late != 1;
}

/* ---- Rounds ---------------------------------------------------------------------------------- */

/* Does every duty once, in this order. Returns how many things were done. If it is not 0, the
 * monitor comes back soon. `rested`: see take_rest. The poller and the trace do not count, because
 * they have periods of their own. */
static uint32_t do_duties(bool rested)
{
        int64_t  now = w_os_now();
        uint32_t n_done = 0;

        set_clocks(now);
        w_preempt_arm_lost(now);
        w_preempt_report_once();
        n_done += w_retake(now, rested);
        n_done += w_preempt_serve_idle();
        n_done += w_thread_retry_pending(now);
        n_done += w_procs_follow(now);
        n_done += w_timekeeper_check(now);
        n_done += w_blocked_report_check(now);
        w_netpoll_check(now);
        w_schedtrace(now);
        return n_done;
}

static void sysmon_main(void *arg)
{
        bool rested = false;

        (void)arg;
        w_self_set(&sysmon.self.thread);
        w_store_rlx(&sysmon.self.tid, (uint32_t)w_os_tid());      /* own word */
        w_schedtrace_begin(w_os_now());
        w_procs_follow_begin(w_os_now());
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
        w_store_rlx(&sysmon.requested, 0);                           /* own word: no thread yet */
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
